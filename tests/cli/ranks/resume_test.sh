# SPDX-License-Identifier: MIT
# A run that two ranks began is continued by one, two and three.

# Twice the steps of the other tests, so that there is time to stop it: a tenth
# of their rate keeps what rounding grows to within the same bounds.
RATE=1e-6
source "$(dirname "$0")/common.sh"

length=(--epochs 10)
train whole "${length[@]}"
train whole2 "${length[@]}" --ranks 2

pretrain_command begun "${length[@]}" --ranks 2
"${COMMAND[@]}" > "$WORK/begun.log" 2>&1 &
launcher=$!
wait_for_step begun 5 "$launcher"
kill -TERM "$launcher"
code=0
wait "$launcher" || code=$?
[[ $code == 75 ]] ||
  fail "exit code $code after SIGTERM, expected 75: $(
    tail -n 5 "$WORK/begun.log")"
step=$(last_step begun)
((step < 40)) || fail "the run was at its end when it was stopped"
checkpoint=$(printf 'begun/checkpoints/step-%09d.safetensors' "$step")
[[ -f $WORK/$checkpoint ]] ||
  fail "no checkpoint of the last step $step: $(ls "$WORK/begun/checkpoints")"
echo "stopped after step $step"

for ranks in 1 2 3; do
  cp -r "$WORK/begun" "$WORK/resumed$ranks"
  train "resumed$ranks" "${length[@]}" --ranks "$ranks"
  grep -q "^resuming after step $step" "$WORK/resumed$ranks.log" ||
    fail "$ranks ranks did not resume after step $step: $(
      grep -n resuming "$WORK/resumed$ranks.log")"
  same_run whole "resumed$ranks"
done
cmp "$WORK/whole2/backbone.safetensors" "$WORK/resumed2/backbone.safetensors" ||
  fail "as many ranks as before came to other weights"
echo "all as expected"
