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
cp -r "$ROOT/examples/consumer" "$work/source" # away from barlow's own headers
"$cmake" -S "$work/source" -B "$work/build" -G "$generator" \
  -D CMAKE_BUILD_TYPE=Release -D "CMAKE_PREFIX_PATH=$work/installed" \
  -D "Torch_DIR=$torch_dir" \
  > "$work/log" 2>&1 &&
  "$cmake" --build "$work/build" >> "$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
"$work/build/consumer" | tee "$work/output"
grep -qE '^loss [0-9]+\.[0-9]+ = invariance [0-9.]+ \+ 0\.0051 x redundancy' \
  "$work/output"

# What else a package consists of.
"$work/installed/bin/barlow" --version
ls "$work"/installed/share/barlow/recipes/*.toml > /dev/null
if grep -rIlF -e "$ROOT" -e "$work" "$work/installed/lib" \
  "$work/installed/include" "$work/installed/share"; then
  echo "these installed files name the source or the prefix by its path"
  exit 1
fi
