# SPDX-License-Identifier: MIT
# Ranks that Slurm's srun starts train as one process does: a cluster of this
# machine alone, which exists for the length of the test. Needs root.
source "$(dirname "$0")/common.sh"

((EUID == 0)) || skip "Slurm's daemons need root"
for command in slurmctld slurmd srun sinfo; do
  need_command "$command" slurm-wlm
done
need_command munged munge
[[ -n $(hostname -I) ]] || skip "Slurm needs an address besides loopback's"

cluster=$WORK/cluster
node=$(uname -n)
node=${node%%.*}
daemons=()
clean_up() {
  local daemon
  for daemon in "${daemons[@]}"; do
    kill -TERM "$daemon" 2> /dev/null || true
  done
  # slurmctld saves its state before it ends.
  for _ in $(seq 50); do
    any_alive || break
    sleep 0.1
  done
  for daemon in "${daemons[@]}"; do
    kill -KILL "$daemon" 2> /dev/null || true
  done
  rm -rf "$WORK"
}
trap clean_up EXIT

any_alive() {
  local daemon
  for daemon in "${daemons[@]}"; do
    ! kill -0 "$daemon" 2> /dev/null || return 0
  done
  return 1
}

all_alive() {
  local daemon
  for daemon in "${daemons[@]}"; do
    kill -0 "$daemon" 2> /dev/null || return 1
  done
}

daemon() { # NAME COMMAND...
  local name=$1
  shift
  "$@" > "$cluster/$name.out" 2>&1 &
  daemons+=($!)
}

broken() {
  tail -n 20 "$cluster"/munged.out "$cluster"/slurm*.log >&2 || true
  fail "$*"
}

# munged wants a socket that all may reach.
chmod 711 "$WORK"
mkdir -p "$cluster/state" "$cluster/spool"
chmod 711 "$cluster"
head -c 128 /dev/urandom > "$cluster/munge.key"
chmod 600 "$cluster/munge.key"

cat > "$cluster/slurm.conf" << END
ClusterName=barlow
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/linear
SchedulerType=sched/builtin
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.log
PlugStackConfig=$cluster/plugstack.conf
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
END
: > "$cluster/plugstack.conf"
# Nothing here uses control groups, but slurmd asks for their version, and
# refuses what it finds in some containers. It does not look for version 1.
echo CgroupPlugin=cgroup/v1 > "$cluster/cgroup.conf"
export SLURM_CONF=$cluster/slurm.conf

daemon munged munged --foreground --key-file="$cluster/munge.key" \
  --socket="$cluster/munge.socket" --pid-file="$cluster/munged.pid" \
  --seed-file="$cluster/munged.seed" --log-file="$cluster/munged.log"
for _ in $(seq 100); do
  [[ ! -S $cluster/munge.socket ]] || break
  sleep 0.1
done
[[ -S $cluster/munge.socket ]] || broken "munged does not answer"
daemon slurmctld slurmctld -D -i
daemon slurmd slurmd -D
state=unknown
deadline=$((SECONDS + 60))
while [[ $state != idle ]] && all_alive && ((SECONDS < deadline)); do
  sleep 0.1
  state=$(timeout 10 sinfo --noheader --format %T 2> /dev/null) || state=unknown
done
[[ $state == idle ]] || broken "Slurm's node is $state, expected idle"

train single "${TWENTY_STEPS[@]}"
launched srun srun --ntasks 2 --overcommit
same_run single srun
echo "all as expected"
