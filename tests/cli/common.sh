# SPDX-License-Identifier: MIT
# Sourced by the scripts beside it: the program under test, a small real data
# set, and checks that say what was wrong.
set -euo pipefail

BARLOW=$1
FASHION=/usr/share/datasets/fashion-mnist
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# subset FOLDER TRAIN TEST: the first images of Fashion-MNIST as IDX files.
subset() {
  mkdir -p "$1"
  idx_part train "$1" "$2"
  idx_part t10k "$1" "$3"
}

idx_part() {
  local part=$1 folder=$2 count=$3 size
  size=$(printf '\\x%02x\\x%02x' $((count / 256)) $((count % 256)))
  {
    printf '\x00\x00\x08\x03\x00\x00'"$size"'\x00\x00\x00\x1c\x00\x00\x00\x1c'
    tail -c +17 <(zcat "$FASHION/$part-images-idx3-ubyte.gz") |
      head -c $((count * 784)) || true
  } > "$folder/$part-images-idx3-ubyte"
  {
    printf '\x00\x00\x08\x01\x00\x00'"$size"
    tail -c +9 <(zcat "$FASHION/$part-labels-idx1-ubyte.gz") |
      head -c "$count" || true
  } > "$folder/$part-labels-idx1-ubyte"
}

# expect CODE TEXT COMMAND...: exit code, and a text in what it prints.
expect() {
  local code=$1 text=$2 found=0
  shift 2
  "$@" > "$WORK/output" 2>&1 || found=$?
  [[ $found == "$code" ]] ||
    fail "exit code $found, expected $code: $* : $(tail -n 3 "$WORK/output")"
  grep -qF -- "$text" "$WORK/output" ||
    fail "no \"$text\" in the output of: $* : $(tail -n 3 "$WORK/output")"
}

# A recipe that trains a step in some tens of milliseconds.
TINY=(--channels 1 --architecture resnet18 --stem small-stride2
  --width-factor 0.0625 --projector 16-16 --batch-size 64 --warmup-epochs 0
  --eval-resize 28 --eval-crop 28 --view-a.size 16 --view-b.size 16)
