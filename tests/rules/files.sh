# SPDX-License-Identifier: MIT
# Sourced by the rules: `sources PATTERN...` lists the project's files, those
# that git knows where this is a checkout, one a line.
set -euo pipefail
shopt -s lastpipe # so that `... | report` counts in this shell

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$ROOT"
EXIT_SKIPPED=77

sources() {
  local found
  if found=$(git ls-files --cached --others --exclude-standard -- "$@" \
    2> /dev/null); then
    # A file may be deleted and not yet committed so.
    while IFS= read -r file; do
      [[ ! -f $file ]] || echo "$file"
    done <<< "$found"
  else
    local pattern
    for pattern in "$@"; do
      find . \( -path ./build -o -path ./runs -o -path ./.git \) -prune -o \
        -type f -path "./$pattern" -print
    done | sed 's|^\./||'
  fi
}

# report TITLE < findings: prints them and counts; `finish` fails if any.
findings=0
report() {
  local line
  while IFS= read -r line; do
    echo "$1: $line"
    findings=$((findings + 1))
  done
}

finish() {
  if ((findings > 0)); then
    echo "$findings findings"
    exit 1
  fi
}
