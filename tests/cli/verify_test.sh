# SPDX-License-Identifier: MIT
# barlow verify: proves its bounds here, and its answer can be read.
source "$(dirname "$0")/common.sh"

export OMP_WAIT_POLICY=passive
"$BARLOW" verify --ranks 2 --json > "$WORK/answer.json" ||
  fail "verify found a broken bound: $(cat "$WORK/answer.json")"
/usr/bin/python3 - "$WORK/answer.json" << 'PYTHON' || fail "the answer, see above"
import json
import sys

answer = json.load(open(sys.argv[1]))
assert answer["ok"] is True
# 3 sizes, 2 paths, 1 split of one rank and 3 of two.
assert len(answer["losses"]) == 24, len(answer["losses"])
assert all(row["gradient_error"] < 1e-6 for row in answer["losses"])
assert {row["type"] for row in answer["trainings"]} == {"float32", "float64"}
# The usual mistakes are far from rounding.
equal = answer["mistakes"][0]
assert abs(equal["raw_all_reduce_gradient"] - 0.5) < 1e-9, equal
assert equal["averaged_losses_loss"] > 0.1, equal
assert answer["mistakes"][2]["averaged_losses_loss"] is None  # an empty rank
PYTHON
expect 0 "verified: every number is within its bound" "$BARLOW" verify --ranks 1
expect 2 "--ranks" "$BARLOW" verify --ranks 0
echo "verified"
