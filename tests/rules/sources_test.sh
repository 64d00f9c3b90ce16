#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What docs/style.md asks of source files and a tool can see.
source "$(dirname "$0")/files.sh"

mapfile -t cpp < <(sources '*.h' '*.cpp')
mapfile -t scripts < <(
  sources '*.py' '*.sh'
  sources 'scripts/*' test demo .ci/run
)
mapfile -t build < <(sources '*.cmake' '*CMakeLists.txt' '*.in' '*.toml')
((${#cpp[@]} > 100 && ${#scripts[@]} > 5)) || {
  echo "found ${#cpp[@]} C++ files and ${#scripts[@]} scripts: too few"
  exit 1
}

# Comments too, which clang-format does not wrap. Links may be longer.
awk 'length($0) > 80 && !/https?:\/\// {
  print FILENAME ":" FNR ": " length($0) " columns, expected at most 80" }' \
  "${cpp[@]}" | report line

awk 'FNR == 401 { print FILENAME ": more than 400 lines" }' \
  "${cpp[@]}" "${scripts[@]}" | report file

LC_ALL=C grep -nP '[^\x00-\x7F]' "${cpp[@]}" "${scripts[@]}" "${build[@]}" |
  report 'not ASCII' || true

LC_ALL=C grep -nP '\t| $' "${cpp[@]}" "${scripts[@]}" "${build[@]}" |
  report 'tab or trailing space' || true

for file in "${cpp[@]}"; do
  [[ $(head -n 1 "$file") == '// SPDX-License-Identifier: MIT' ]] ||
    echo "$file: expected // SPDX-License-Identifier: MIT"
done | report 'first line'
for file in "${scripts[@]}"; do
  head -n 2 "$file" | grep -qxF '# SPDX-License-Identifier: MIT' ||
    echo "$file: expected # SPDX-License-Identifier: MIT"
done | report 'first lines'

for file in "${cpp[@]}"; do
  [[ $file != *.h ]] || grep -qxF '#pragma once' "$file" ||
    echo "$file: expected #pragma once"
done | report header

# c10d's headers changed between LibTorch 1.13 and 2.x.
for file in "${cpp[@]}"; do
  [[ $file == src/dist/* ]] ||
    grep -nHE '#include <(c10d|torch/csrc/distributed)/' "$file" || true
done | report 'c10d outside of src/dist'

# They take 18 s a file, 9 s precompiled.
grep -nE '#include <torch/(all|torch|nn)\.h>' "${cpp[@]}" |
  report 'umbrella header' || true

grep -nE 'using namespace (std|torch|at|c10)' "${cpp[@]}" |
  report 'using-directive' || true

# Unseeded or shared generators, and distributions that differ between
# standard libraries: see core/random.h.
grep -nE 'std::(rand|random_device|mt19937|[a-z_]+_distribution)\b' \
  "${cpp[@]}" | report 'randomness' || true
grep -nE '(torch|at)::(rand|randn|randint|randperm|manual_seed)(_like)?\(' \
  "${cpp[@]}" | grep -E '^(src|include|apps)/' |
  report "LibTorch's generator" || true

for file in "${scripts[@]}"; do
  head -n 1 "$file" | grep -q python || [[ $file == *.py ]] ||
    bash -n "$file" 2>&1
done | report 'shell syntax'
finish
