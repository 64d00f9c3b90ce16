# SPDX-License-Identifier: MIT
# Sourced by the scripts beside it: one recipe, run by one process and by many.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

RANKS_FOLDER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Where the daemons and the tools of root are.
PATH=$PATH:/usr/sbin:/sbin
# Ranks share cores here: a thread that waits must not spin.
export OMP_WAIT_POLICY=passive
# Nor may a launcher that runs these tests be taken for the one under test.
for variable in $(compgen -e); do
  case $variable in
    RANK | WORLD_SIZE | LOCAL_* | MASTER_* | TORCHELASTIC_* | OMPI_* | \
      PMIX_* | SLURM_*) unset "$variable" ;;
  esac
done

# 53 is prime: no number of ranks divides it.
BATCH=53
IMAGES=$((4 * BATCH))
subset "$WORK/data" "$IMAGES" 64

# Sums over ranks round differently, which alone changes a loss by 1.5e-6. More
# comes from a ReLU whose input is a rounding error away from 0: its gradient
# jumps. A short encoder has few of them, and at this rate of SGD a jump stays
# below 1e-5 in twenty steps (24 seeds, other vector instructions as the
# disturbance: 7e-6), while gradients that are wrong by 1 % change a loss by
# 4e-5. LARS and AdamW would hide a wrong scale of the gradient.
RATE=${RATE:-1e-5}
GENTLE=(--channels 1 --architecture resnet18 --stem small-stride2 --blocks 1-1
  --width-factor 0.0625 --projector 16-16 --batch-size "$BATCH"
  --optimizer sgd --learning-rate-weights "$RATE"
  --learning-rate-biases "$RATE" --warmup-epochs 0 --eval-resize 28
  --eval-crop 28 --view-a.size 16 --view-b.size 16 --threads 1 --workers 1)
# 4 steps an epoch.
TWENTY_STEPS=(--epochs 5)

# A launcher that hangs must not keep what the scripts clean up at their end.
LIMIT=(timeout -k 5 150)

skip() {
  echo "SKIPPED: $*"
  exit 77
}

need_command() { # COMMAND PACKAGE
  command -v "$1" > /dev/null || skip "no $1 (Debian's package $2)"
}

# pretrain_command RUN FLAG...: sets COMMAND, which a launcher may precede.
pretrain_command() {
  local run=$1
  shift
  COMMAND=("$BARLOW" pretrain "$WORK/data" --out "$WORK/$run" "${GENTLE[@]}"
    "$@")
}

# train RUN FLAG...
train() {
  pretrain_command "$@"
  "${LIMIT[@]}" "${COMMAND[@]}" > "$WORK/$1.log" 2>&1 ||
    fail "run $1, exit code $?: $(tail -n 5 "$WORK/$1.log")"
}

# launched RUN LAUNCHER...: the run of twenty steps under a launcher.
launched() {
  local run=$1
  pretrain_command "$run" "${TWENTY_STEPS[@]}" --timeout-s 60
  shift
  "${LIMIT[@]}" "$@" "${COMMAND[@]}" > "$WORK/$run.log" 2>&1 ||
    fail "run $run, exit code $?: $(tail -n 20 "$WORK/$run.log")"
  together "$run"
}

# together RUN: its ranks trained together, not each for itself.
together() {
  [[ $(grep -c 'done:' "$WORK/$1.log") == 1 ]] ||
    fail "run $1: expected one rank to say that it is done: $(
      tail -n 20 "$WORK/$1.log")"
}

# same_run A B
same_run() {
  echo "$1 and $2:"
  /usr/bin/python3 "$RANKS_FOLDER/compare_runs.py" "$WORK/$1" "$WORK/$2" ||
    fail "the runs $1 and $2 differ"
}

# last_step RUN: 0 before the first.
last_step() {
  local step
  step=$(tail -n 1 "$WORK/$1/metrics.jsonl" 2> /dev/null |
    sed -n 's/^{"step":\([0-9]*\),.*/\1/p') || true
  echo "${step:-0}"
}

# wait_for_step RUN STEP PROCESS: until a process has trained that far.
wait_for_step() {
  for _ in $(seq 3000); do
    (($(last_step "$1") < $2)) || return 0
    kill -0 "$3" 2> /dev/null || break
    sleep 0.02
  done
  fail "run $1 did not come to step $2: $(tail -n 5 "$WORK/$1.log")"
}

free_port() {
  /usr/bin/python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
