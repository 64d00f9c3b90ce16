#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# consumer_test.sh BUILD_FOLDER CMAKE GENERATOR TORCH_DIR: installs barlow
# somewhere else, and builds and runs a program against what was installed.
source "$(dirname "$0")/files.sh"

build=$1 cmake=$2 generator=$3 torch_dir=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/installed" > "$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
# example NAME: its output is in $work/output.
example() {
  cp -r "$ROOT/examples/$1" "$work/$1" # away from barlow's own headers
  "$cmake" -S "$work/$1" -B "$work/$1/build" -G "$generator" \
    -D CMAKE_BUILD_TYPE=Release -D "CMAKE_PREFIX_PATH=$work/installed" \
    -D "Torch_DIR=$torch_dir" \
    > "$work/log" 2>&1 &&
    "$cmake" --build "$work/$1/build" >> "$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
  "$work/$1/build/$1" | tee "$work/output"
}

example consumer
grep -qE '^loss [0-9]+\.[0-9]+ = invariance [0-9.]+ \+ 0\.0051 x redundancy' \
  "$work/output"

# Both lines name the same loss and gradient, to five digits.
example distributed
[[ $(wc -l < "$work/output") == 2 ]]
[[ $(awk '{ printf "%.4g %.4g\n", $4, $6 }' "$work/output" | sort -u | wc -l) == 1 ]] || {
  echo "one process and three ranks do not agree"
  exit 1
}

# What else a package consists of.
"$work/installed/bin/barlow" --version
ls "$work"/installed/share/barlow/recipes/*.toml > /dev/null
if grep -rIlF -e "$ROOT" -e "$work" "$work/installed/lib" \
  "$work/installed/include" "$work/installed/share"; then
  echo "these installed files name the source or the prefix by its path"
  exit 1
fi
