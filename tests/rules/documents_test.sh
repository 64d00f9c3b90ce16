#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# documents_test.sh BARLOW: the commands, flags and files that the documents
# name exist.
source "$(dirname "$0")/files.sh"

barlow=$1
commands=$("$barlow" --help | sed '1,/^Subcommands:/d')
mapfile -t documents < <(sources '*.md')

# Code: fenced or indented blocks and `spans`, one command a line.
code() {
  awk '/^```/ { fenced = !fenced; next } fenced || /^    / { print }' "$1"
  grep -o '`[^`]*`' "$1" | tr -d '`' || true
}

check_barlow() { # DOCUMENT LINE
  local subcommand flag help
  subcommand=$(sed -nE \
    's/^ *(\$ )?(build\/release\/bin\/)?barlow ([a-z]+)\b.*/\3/p' <<< "$2")
  [[ -n $subcommand ]] || return 0
  grep -qE "^ +$subcommand( |$)" <<< "$commands" || {
    echo "$1: no command \"barlow $subcommand\""
    return 0
  }
  help=$("$barlow" "$subcommand" --help)
  for flag in $(grep -oE -- ' --[a-z][a-z_.-]*' <<< "${2%%#*}"); do
    grep -qE -- "(^|[ ,])$flag\b" <<< "${help//_/-}" ||
      [[ " $help" == *"$flag"* ]] ||
      echo "$1: \"barlow $subcommand\" has no flag $flag"
  done
}

for document in "${documents[@]}"; do
  while IFS= read -r line; do
    check_barlow "$document" "$line"
    for file in $(grep -oE '(^|[ (])(\./|scripts/|bench/|tests/|docs/|recipes/|include/barlow/|src/)[A-Za-z0-9_./-]*[A-Za-z0-9_]' \
      <<< "$line" | tr -d ' ('); do
      [[ -e $file || $file == */MODULE* ]] || echo "$document: no file $file"
    done
  done < <(code "$document")
  # Links to files of the project, relative to the document.
  for link in $(grep -oE '\]\([^)# ]+' "$document" | cut -c3- || true); do
    [[ $link == *://* || -e $(dirname "$document")/$link ]] ||
      echo "$document: no file $link"
  done
done | report document
finish
