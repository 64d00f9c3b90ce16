#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A public header includes what it uses. That each compiles is checked in the
# build (barlow_headers), but there the precompiled header lends it a few
# standard headers; here the includes of those are looked for.
source "$(dirname "$0")/files.sh"

# needs HEADER USE: files that match USE must include one that matches HEADER.
needs() {
  local file
  for file in "${headers[@]}"; do
    if sed 's|//.*||' "$file" | grep -qE "$2" &&
      ! grep -qE "^#include <($1)>" "$file"; then
      echo "$file uses $2, expected #include <$1>"
    fi
  done | report header
}

mapfile -t headers < <(sources 'include/barlow/*.h')
((${#headers[@]} > 20)) || {
  echo "found ${#headers[@]} public headers: too few"
  exit 1
}
needs array 'std::array\b'
needs atomic 'std::atomic\b'
needs chrono 'std::chrono\b'
needs cstddef 'std::(size_t|ptrdiff_t)\b'
needs cstdint 'std::u?int[0-9]+_t\b'
needs exception 'std::exception(_ptr)?\b'
needs filesystem 'std::filesystem\b'
needs functional 'std::function\b'
needs map 'std::map\b'
needs memory 'std::(shared|unique)_ptr\b'
needs mutex 'std::(mutex|lock_guard|unique_lock)\b'
needs optional 'std::optional\b'
needs span 'std::span\b'
needs string 'std::string\b'
needs string_view 'std::string_view\b'
needs thread 'std::thread\b'
needs utility 'std::(pair|move)\b'
needs variant 'std::variant\b'
needs vector 'std::vector\b'
needs '(torch|ATen|c10)/.*' '\b(torch|at|c10)::'

# Private headers are not installed.
grep -nE '^#include "' "${headers[@]}" | grep -v '"barlow/' |
  report 'private header in a public one' || true
finish
