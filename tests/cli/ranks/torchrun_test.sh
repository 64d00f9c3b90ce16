# SPDX-License-Identifier: MIT
# Ranks that torchrun starts train as one process does.
source "$(dirname "$0")/common.sh"

/usr/bin/python3 -c 'import torch.distributed.run' 2> /dev/null ||
  skip "no torch.distributed.run (Debian's package python3-torch)"
# torch 1.13 under Python 3.11 does not understand its own defaults of
# --redirects and --tee; something for a rank 2, which is not there, is nothing.
torchrun=(/usr/bin/python3 -m torch.distributed.run --nnodes 1
  --nproc_per_node 2 --no_python --redirects 2:1 --tee 2:1
  --log_dir "$WORK/torchrun")

train single "${TWENTY_STEPS[@]}"

# The agent keeps the store where the ranks meet.
launched static "${torchrun[@]}" --rdzv_backend static \
  --master_addr 127.0.0.1 --master_port "$(free_port)"
same_run single static

# Rank 0 does: what --standalone means, on a port of its own. Its address is
# this machine's name.
getent ahosts "$(uname -n)" > /dev/null || {
  echo "not tried with rdzv_backend c10d: $(uname -n) is no known name"
  exit 0
}
launched c10d "${torchrun[@]}" --rdzv_backend c10d \
  --rdzv_endpoint "localhost:$(free_port)" --rdzv_id "barlow$$"
same_run single c10d
echo "all as expected"
