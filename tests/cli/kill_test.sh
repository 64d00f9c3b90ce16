# SPDX-License-Identifier: MIT
# Kills a training process without warning ten times, each at another moment,
# and compares the final weights with those of a run that was never stopped.
source "$(dirname "$0")/common.sh"

subset "$WORK/data" 512 64
recipe=("${TINY[@]}" --epochs "${2:-60}" --checkpoint-every-steps 3)
train() {
  "$BARLOW" pretrain "$WORK/data" --out "$WORK/$1" "${recipe[@]}"
}

train whole > "$WORK/whole.log" || fail "the uninterrupted run: $(tail "$WORK/whole.log")"

seed=${BARLOW_KILL_SEED:-$$}
echo "random times from seed $seed (set BARLOW_KILL_SEED to repeat them)"
RANDOM=$seed
kills=0
resumes=0
while ((kills < 10)); do
  # exec: the process to kill is the program, not a shell that waits for it.
  (exec "$BARLOW" pretrain "$WORK/data" --out "$WORK/killed" "${recipe[@]}") \
    > "$WORK/killed.log" 2>&1 &
  process=$!
  # Wait until it trains, then up to half a second more.
  for _ in $(seq 600); do
    grep -q '^epoch' "$WORK/killed.log" && break
    kill -0 "$process" 2> /dev/null || break
    sleep 0.02
  done
  sleep "0.$(printf %03d $((RANDOM % 500)))"
  kill -9 "$process" 2> /dev/null ||
    fail "the run ended before kill $((kills + 1)): $(tail -n 3 "$WORK/killed.log")"
  wait "$process" 2> /dev/null && fail "a killed process reported success"
  grep -q '^resuming' "$WORK/killed.log" && resumes=$((resumes + 1))
  kills=$((kills + 1))
done
((resumes > 0)) || fail "no start resumed from a checkpoint"
train killed > "$WORK/killed.log" || fail "the last start: $(tail "$WORK/killed.log")"

cmp "$WORK/whole/backbone.safetensors" "$WORK/killed/backbone.safetensors" ||
  fail "the weights differ after $kills kills"
lines=$(wc -l < "$WORK/killed/metrics.jsonl")
[[ $lines == $(wc -l < "$WORK/whole/metrics.jsonl") ]] ||
  fail "metrics.jsonl has $lines lines after the kills"
ls "$WORK"/killed/checkpoints | grep -q tmp && fail "temporary files are left"
echo "$kills kills, $resumes resumes, the same weights"
