# SPDX-License-Identifier: MIT
# Ranks that Open MPI's mpirun starts train as one process does.
source "$(dirname "$0")/common.sh"

need_command mpirun openmpi-bin
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"

# plm isolated: on one machine, no ssh is asked for. Loopback is the only
# network, and no core is reserved for a rank.
launcher=(mpirun -np 2 --allow-run-as-root --oversubscribe --bind-to none
  --mca plm isolated --mca oob_tcp_if_include lo)

train single "${TWENTY_STEPS[@]}"
launched mpirun "${launcher[@]}"
same_run single mpirun
echo "all as expected"
