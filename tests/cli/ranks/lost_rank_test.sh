# SPDX-License-Identifier: MIT
# A rank that is killed, or that stops answering, ends the run soon, with its
# number in a message; the run goes on from its newest checkpoint.
source "$(dirname "$0")/common.sh"

# The time-out is what a rank that hangs costs this test.
timeout_s=10
grace_s=5
processes=()
clean_up() {
  local process
  for process in "${processes[@]}"; do
    kill -KILL "$process" 2> /dev/null || true
  done
  rm -rf "$WORK"
}
trap clean_up EXIT

# running PID: neither gone nor a zombie.
running() {
  grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
}

children() { # PID
  grep -lsx "PPid:[[:space:]]*$1" /proc/[0-9]*/status | cut -d / -f 3 || true
}

# find_ranks LAUNCHER: sets rank_of[PID].
find_ranks() {
  local pid rank
  rank_of=()
  for pid in $(children "$1"); do
    rank=$(tr '\0' '\n' < "/proc/$pid/environ" | sed -n 's/^RANK=//p')
    [[ -z $rank ]] || rank_of[$pid]=$rank
  done
  ((${#rank_of[@]} == 3)) ||
    fail "found ${#rank_of[@]} ranks among the launcher's children, expected 3"
}

# Sizes as the header of each file says, and nothing half-written beside.
check_checkpoints() { # RUN
  /usr/bin/python3 - "$WORK/$1/checkpoints" << 'END' ||
import json, os, struct, sys

names = sorted(os.listdir(sys.argv[1]))
whole = bool(names)
for name in names:
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        content = file.read()
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        ends = [entry["data_offsets"][1] for entry in header.values()]
        assert len(content) == 8 + length + max(ends), f"{len(content)} bytes"
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr)
        whole = False
sys.exit(not whole)
END
    fail "run $1: its checkpoints are not whole: $(ls "$WORK/$1/checkpoints")"
}

declare -A rank_of
lose_rank() { # SIGNAL
  local run=lost$1 launcher pid code=0 begin taken
  pretrain_command "$run" --epochs 12 --checkpoint-every-steps 5 --ranks 3 \
    --timeout-s "$timeout_s"
  "${COMMAND[@]}" > "$WORK/$run.log" 2>&1 &
  launcher=$!
  processes=("$launcher")
  wait_for_step "$run" 12 "$launcher"
  find_ranks "$launcher"
  processes+=("${!rank_of[@]}")
  for pid in "${!rank_of[@]}"; do
    [[ ${rank_of[$pid]} != 1 ]] || kill -s "$1" "$pid"
  done

  begin=$SECONDS
  while running "$launcher" && ((SECONDS - begin <= timeout_s + grace_s)); do
    sleep 0.1
  done
  taken=$((SECONDS - begin))
  running "$launcher" &&
    fail "SIG$1: the launcher runs after $taken s, expected at most $((
      timeout_s + grace_s)): $(tail -n 10 "$WORK/$run.log")"
  wait "$launcher" 2> /dev/null || code=$?
  for pid in "${!rank_of[@]}"; do
    running "$pid" && fail "SIG$1: rank ${rank_of[$pid]} runs on"
  done
  [[ $code != 0 && $code != 75 ]] ||
    fail "SIG$1: exit code $code: $(tail -n 10 "$WORK/$run.log")"
  grep -qE '\brank 1\b.*(died|hangs|signal)' "$WORK/$run.log" ||
    fail "SIG$1: nothing says that rank 1 is lost: $(
      tail -n 10 "$WORK/$run.log")"
  check_checkpoints "$run"
  echo "SIG$1: exit code $code after $taken s at step $(last_step "$run")"
  grep -E '\brank 1\b' "$WORK/$run.log" | head -n 3

  "${LIMIT[@]}" "${COMMAND[@]}" > "$WORK/$run.log" 2>&1 ||
    fail "SIG$1: the second start, exit code $?: $(tail -n 5 "$WORK/$run.log")"
  grep -q '^resuming after step' "$WORK/$run.log" ||
    fail "SIG$1: the second start did not resume"
  [[ -f $WORK/$run/backbone.safetensors && $(last_step "$run") == 48 ]] ||
    fail "SIG$1: the second start did not complete the run"
}

lose_rank KILL
lose_rank STOP
echo "all as expected"
