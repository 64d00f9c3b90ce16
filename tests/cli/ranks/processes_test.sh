# SPDX-License-Identifier: MIT
# Two to four processes of one machine train as one process does.
source "$(dirname "$0")/common.sh"

train single "${TWENTY_STEPS[@]}"
for ranks in 2 3 4; do
  train "ranks$ranks" "${TWENTY_STEPS[@]}" --ranks "$ranks"
  together "ranks$ranks"
  same_run single "ranks$ranks"
done
echo "all as expected"
