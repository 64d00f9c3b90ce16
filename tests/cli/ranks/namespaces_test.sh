# SPDX-License-Identifier: MIT
# Ranks with a network and an address each, as on several machines: network
# namespaces, joined by a bridge. Needs root.
source "$(dirname "$0")/common.sh"

((EUID == 0)) || skip "network namespaces need root"
need_command ip iproute2

# The bridge has a namespace of its own: packet filters of this machine do not
# apply, and its addresses may be in use outside.
prefix=barlow$$
bridge=$prefix-bridge
spaces=()
ranks=()
clean_up() {
  local item
  for item in "${ranks[@]}"; do
    kill -KILL "$item" 2> /dev/null || true
  done
  for item in "${spaces[@]}"; do
    for process in $(ip netns pids "$item" 2> /dev/null); do
      kill -KILL "$process" 2> /dev/null || true
    done
    ip netns delete "$item" 2> /dev/null || true
  done
  rm -rf "$WORK"
}
trap clean_up EXIT

add_space() { # NAME
  ip netns add "$1" 2> "$WORK/ip.log" ||
    skip "no network namespaces here: $(cat "$WORK/ip.log")"
  spaces+=("$1")
  ip -n "$1" link set lo up
}

address() { # NUMBER
  echo "10.83.7.$((11 + $1))"
}

add_space "$bridge"
ip -n "$bridge" link add joint type bridge 2> "$WORK/ip.log" ||
  skip "no bridges here: $(cat "$WORK/ip.log")"
ip -n "$bridge" link set joint up
for number in 0 1 2; do
  space=$prefix-$number
  add_space "$space"
  ip -n "$bridge" link add "port$number" type veth \
    peer name net0 netns "$space" 2> "$WORK/ip.log" ||
    skip "no veth pairs here: $(cat "$WORK/ip.log")"
  ip -n "$bridge" link set "port$number" master joint up
  ip -n "$space" address add "$(address "$number")/24" dev net0
  ip -n "$space" link set net0 up
done

# An --out of its own each: only rank 0 may write.
run_ranks() { # RUN RANKS
  local rank run
  ranks=()
  for ((rank = 0; rank < $2; ++rank)); do
    run=$1
    ((rank == 0)) || run=$1-of-rank-$rank
    pretrain_command "$run" "${TWENTY_STEPS[@]}" --rank "$rank" \
      --world-size "$2" --master-addr "$(address 0)" --master-port 29500 \
      --timeout-s 60
    "${LIMIT[@]}" ip netns exec "$prefix-$rank" "${COMMAND[@]}" \
      > "$WORK/$run.log" 2>&1 &
    ranks+=($!)
  done
  for ((rank = 0; rank < $2; ++rank)); do
    run=$1
    ((rank == 0)) || run=$1-of-rank-$rank
    wait "${ranks[rank]}" ||
      fail "rank $rank of $2, exit code $?: $(tail -n 5 "$WORK/$run.log")"
    ((rank == 0)) || [[ ! -e $WORK/$run ]] ||
      fail "rank $rank of $2 has written: $(ls -A "$WORK/$run")"
  done
}

train single "${TWENTY_STEPS[@]}"
for count in 2 3; do
  run_ranks "networks$count" "$count"
  together "networks$count"
  same_run single "networks$count"
done
echo "all as expected"
