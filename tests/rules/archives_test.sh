#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# archives_test.sh ARCHIVE...: libraries return and throw; they do not print,
# exit, read the environment, or use a shared generator.
source "$(dirname "$0")/files.sh"

forbidden='(abort|exit|_exit|_Exit|quick_exit|system|getenv|secure_getenv|setenv|rand|srand|random|srandom|drand48|printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|__printf_chk|__fprintf_chk|stdout|stderr|stdin|std::cout|std::cerr|std::clog|std::cin|std::random_device::_M_init.*)'
(($# > 5)) || {
  echo "found $# archives: too few"
  exit 1
}
for archive in "$@"; do
  symbols=$(nm --undefined-only --demangle "$archive" 2> /dev/null)
  # A list without the commonest symbol means that nm did not work.
  [[ $symbols == *__cxa_throw* ]] || echo "$archive: no symbols found"
  grep -E "^ +U $forbidden(@.*)?\$" <<< "$symbols" | sort -u |
    sed "s|^ *U|${archive##*/}: uses|" || true
done | report 'not for a library'
finish
