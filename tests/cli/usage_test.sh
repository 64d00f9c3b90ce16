# SPDX-License-Identifier: MIT
# Help is there, and wrong usage is one clear line with exit code 2.
source "$(dirname "$0")/common.sh"

subset "$WORK/data" 64 16

expect 0 'pretrain' "$BARLOW" --help
expect 0 '0.1' "$BARLOW" --version
for command in pretrain knn linear views; do
  expect 0 'DATA' "$BARLOW" "$command" --help
done
# Every key of a saved recipe is a flag in the help.
"$BARLOW" pretrain --help > "$WORK/help"
grep -q -- '--batch-size' "$WORK/help" || fail "no --batch-size in the help"
grep -q -- '--view-a.min-area' "$WORK/help" || fail "no --view-a.min-area"

expect 2 'ubcommand' "$BARLOW"
expect 2 '--out is required' "$BARLOW" pretrain "$WORK/data"
out=(--out "$WORK/run")
expect 2 'did you mean batch_size?' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --set batchsize=8
expect 2 'did you mean --batch-size?' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --batchsize 8
expect 2 'expected KEY=VALUE' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --set batch_size
expect 2 'epochs: found "many"' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --epochs many
expect 2 '--recipe: found nonsense' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --recipe nonsense
expect 2 'resnet9' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --architecture resnet9
expect 2 'no-such-folder' "$BARLOW" pretrain "$WORK/no-such-folder" "${out[@]}"
expect 2 'batch' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --batch-size 100
expect 2 'cuda' "$BARLOW" pretrain "$WORK/data" "${out[@]}" "${TINY[@]}" --device cuda:77
[[ ! -e $WORK/run/metrics.jsonl ]] || fail "a refused run has written metrics"
printf 'epochs = 3\nseed = = 1\n' > "$WORK/bad.toml"
expect 2 'bad.toml, line 2' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --recipe "$WORK/bad.toml"

# Keys may be written with _ as in a file.
expect 2 'epochs: found 0' "$BARLOW" pretrain "$WORK/data" "${out[@]}" --batch_size 8 --epochs 0

expect 2 'expected an encoder' "$BARLOW" knn "$WORK/data"
expect 2 'prepare the images' "$BARLOW" knn "$WORK/data" --weights raw
expect 2 'no such file' "$BARLOW" linear "$WORK/nothing" "$WORK/data"
expect 2 'neither backbone.safetensors' "$BARLOW" linear "$WORK/data" "$WORK/data"
printf 'not weights' > "$WORK/text.safetensors"
expect 1 'text.safetensors' "$BARLOW" linear "$WORK/text.safetensors" "$WORK/data"

# Flags: what was found, what was expected.
expect 2 'expected a name' "$BARLOW" pretrain "$WORK/data" --out ""
expect 2 'ends with .png' "$BARLOW" views "$WORK/data" -o "$WORK/x.jpg"
expect 2 'a number from 0 to 4096' "$BARLOW" knn "$WORK/data" --weights raw --threads 99999999
expect 2 'found "nan"' "$BARLOW" knn "$WORK/data" --weights raw --temperature nan
expect 2 'found "-1"' "$BARLOW" linear "$WORK/data" --weights raw --seed -1
expect 2 'at most 2^28 pixels' "$BARLOW" views "$WORK/data" -o "$WORK/x.png" --view-a.size 16384
expect 2 'did you mean cifar10?' "$BARLOW" views "$WORK/data" -o "$WORK/x.png" --recipe cifar
expect 2 'the folder' "$BARLOW" views "$WORK/data" -o "$WORK/x.png" --recipe "$WORK/data"
[[ ! -e $WORK/x.png && ! -e $WORK/x.jpg ]] || fail "a refused command has written"
if [[ -w /dev/full ]]; then
  "$BARLOW" --help > /dev/full 2> "$WORK/error" && fail "a full disk is not noticed"
  grep -q 'stdout: cannot be written' "$WORK/error" || fail "$(cat "$WORK/error")"
fi

# One line: no backtrace, no second line.
"$BARLOW" linear "$WORK/text.safetensors" "$WORK/data" 2> "$WORK/error" || true
[[ $(wc -l < "$WORK/error") == 1 ]] || fail "more than one line: $(cat "$WORK/error")"
echo "all as expected"
