#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every C++ file is as clang-format 14 leaves it.
source "$(dirname "$0")/files.sh"

clang_format=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $clang_format ]]; then
  echo "skipped: clang-format is not installed"
  exit "$EXIT_SKIPPED"
fi
version=$("$clang_format" --version)
if [[ $version != *"version 14."* ]]; then
  echo "skipped: .clang-format is for version 14, found $version"
  exit "$EXIT_SKIPPED"
fi
sources '*.h' '*.cpp' | xargs -d '\n' "$clang_format" --dry-run -Werror
