# SPDX-License-Identifier: MIT
# The program from outside: a run, its files, signals, evaluation, pictures.
source "$(dirname "$0")/common.sh"

subset "$WORK/data" 512 128
run="$WORK/run"
pretrain() {
  "$BARLOW" pretrain "$WORK/data" --out "$run" "${TINY[@]}" --epochs 400 "$@"
}

# start PREFIX...: a run in the background, under PREFIX, past its first step.
start() {
  "$@" "$BARLOW" pretrain "$WORK/data" --out "$run" "${TINY[@]}" \
    --epochs 400 > "$WORK/log" 2>&1 &
  process=$!
  for _ in $(seq 600); do
    grep -q '^epoch' "$WORK/log" && break
    sleep 0.02
  done
  sleep 0.3
}
# stop SIGNAL: the run finishes its step, saves, and exits with 75.
stop() {
  kill -s "$1" "$process"
  local code=0
  wait "$process" || code=$?
  [[ $code == 75 ]] || fail "exit code $code after SIG$1: $(tail -n 3 "$WORK/log")"
  grep -q 'interrupted and saved' "$WORK/log" || fail "no word of the stop"
}

# A script starts its background jobs with SIGINT ignored: it is taken all the
# same. An ignored SIGHUP, as under nohup, stays ignored.
for signal in TERM INT HUP; do
  start env --default-signal=HUP
  stop "$signal"
done
start env --ignore-signal=HUP
kill -s HUP "$process"
sleep 0.3
kill -0 "$process" || fail "SIGHUP stopped a run that was to ignore it"
stop TERM
grep -q '^resuming after step' "$WORK/log" || fail "the second start did not resume"
last=$(tail -n 1 "$run/metrics.jsonl" | sed 's/{"step":\([0-9]*\),.*/\1/')
[[ -f $(printf '%s/checkpoints/step-%09d.safetensors' "$run" "$last") ]] ||
  fail "no checkpoint of the last step $last: $(ls "$run/checkpoints")"

# A run of another recipe is not continued, and the key is named.
expect 2 'seed: 0 in the run, 3 now' pretrain --seed 3
# Without flags the run's own recipe is taken: only the data is missing here.
expect 2 'nowhere' "$BARLOW" pretrain "$WORK/nowhere" --out "$run"

# An unfinished run can be evaluated.
expect 0 '"weights":"trained"' "$BARLOW" knn "$run" "$WORK/data" -k 20 --json
expect 0 '"top1":' "$BARLOW" linear "$run" "$WORK/data" --json
expect 0 '"weights":"random"' "$BARLOW" knn "$run" "$WORK/data" -k 20 --weights random --json
expect 0 '"feature_size":784' "$BARLOW" linear "$run" "$WORK/data" --weights raw --json
expect 0 'k-NN accuracy' "$BARLOW" knn "$run" "$WORK/data" -k 20
expect 0 'linear accuracy' "$BARLOW" linear "$run" "$WORK/data"
expect 2 'k' "$BARLOW" knn "$run" "$WORK/data" -k 5000

# A damaged newest checkpoint is passed over for the one before.
newest=$(ls "$run"/checkpoints/step-*.safetensors | tail -n 1)
head -c 1000 "$newest" > "$WORK/part" && mv "$WORK/part" "$newest"
expect 0 'checkpoints/step-' "$BARLOW" knn "$run" "$WORK/data" -k 20

# A complete run, its weights as a file, and a second start of it.
short=("${TINY[@]}" --epochs 2)
expect 0 'done:' "$BARLOW" pretrain "$WORK/data" --out "$WORK/short" "${short[@]}"
expect 0 'already complete' "$BARLOW" pretrain "$WORK/data" --out "$WORK/short" "${short[@]}"
expect 0 'backbone.safetensors' "$BARLOW" knn "$WORK/short/backbone.safetensors" "$WORK/data" -k 20

# The picture is a PNG.
expect 0 'views.png' "$BARLOW" views "$WORK/data" -o "$WORK/views.png" "${TINY[@]}"
[[ $(head -c 4 "$WORK/views.png" | tail -c 3) == PNG ]] || fail "views.png is no PNG"
echo "all as expected"
