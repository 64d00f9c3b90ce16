#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""compare_runs.py A B [--loss BOUND] [--weights BOUND]: two runs of one recipe.

Same steps in metrics.jsonl, losses within --loss of each other at each step,
and weights within --weights: the norm of the difference over that of A's, over
all tensors of floats together. Prints the worst figures; the exit code is 1,
and a step or a tensor is named, where a bound is broken.
"""

import argparse
import json
import math
import os
import struct
import sys

import numpy as np

FLOATS = {"F64": np.float64, "F32": np.float32, "F16": np.float16}
INTEGERS = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}
TYPES = {**FLOATS, **INTEGERS}


def read_losses(run):
    path = os.path.join(run, "metrics.jsonl")
    losses = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["step"] in losses:
                sys.exit(f"{path}: step {entry['step']} is there twice")
            losses[entry["step"]] = entry["loss"]
    return losses


def read_tensors(run):
    """{name: array}, from the file's layout: length, JSON header, data."""
    path = os.path.join(run, "backbone.safetensors")
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in TYPES:
            sys.exit(f"{path}: {name} is of type {entry['dtype']}")
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], TYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


def ratio(difference, size):
    """A share that is not 0 / 0 where both runs have zeros."""
    if difference == 0:
        return 0.0
    return difference / size if size > 0 else math.inf


def compare_losses(a, b, bound):
    if a.keys() != b.keys() or not a:
        only = sorted(a.keys() ^ b.keys())
        return [f"{len(a)} and {len(b)} steps; in one run only: {only[:10]}"]
    shares = {s: ratio(abs(a[s] - b[s]), abs(a[s])) for s in sorted(a)}
    worst = max(shares, key=shares.get)
    print(
        f"losses of {len(a)} steps: worst {shares[worst]:.2e} at step {worst}"
    )
    # Not "share > bound": a NaN is no agreement.
    broken = [s for s in shares if not shares[s] <= bound]
    if not broken:
        return []
    first = broken[0]
    return [
        f"step {first}: losses {a[first]!r} and {b[first]!r}, relative "
        f"difference {shares[first]:.2e}, expected at most {bound:.0e}; "
        f"{len(broken)} steps in all"
    ]


def compare_weights(a, b, bound):
    if a.keys() != b.keys() or not a:
        return [f"tensors in one run only: {sorted(a.keys() ^ b.keys())[:10]}"]
    complaints, shares = [], {}
    difference = size = 0.0
    for name in a:
        if a[name].shape != b[name].shape or a[name].dtype != b[name].dtype:
            complaints.append(f"{name}: shapes or types differ")
            continue
        if a[name].dtype not in FLOATS.values():
            if not np.array_equal(a[name], b[name]):
                complaints.append(f"{name}: {a[name]} and {b[name]}")
            continue
        x, y = (run[name].astype(np.float64).ravel() for run in (a, b))
        shares[name] = ratio(np.linalg.norm(x - y), np.linalg.norm(x))
        difference += float(np.sum((x - y) ** 2))
        size += float(np.sum(x**2))
    share = ratio(math.sqrt(difference), math.sqrt(size))
    worst = max(shares, key=shares.get)
    print(
        f"weights, {len(shares)} tensors: {share:.2e} together, "
        f"worst alone {shares[worst]:.2e}, {worst}"
    )
    if not share <= bound:
        complaints.append(
            f"weights: relative difference {share:.2e}, expected at most "
            f"{bound:.0e}; each tensor that is beyond it:"
        )
        complaints += [
            f"  {name}: {shares[name]:.2e}"
            for name in sorted(shares, key=shares.get, reverse=True)
            if not shares[name] <= bound
        ]
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument("--loss", type=float, default=1e-5, metavar="BOUND")
    parser.add_argument("--weights", type=float, default=1e-4, metavar="BOUND")
    bounds = parser.parse_args()
    complaints = compare_losses(
        read_losses(bounds.a), read_losses(bounds.b), bounds.loss
    )
    complaints += compare_weights(
        read_tensors(bounds.a), read_tensors(bounds.b), bounds.weights
    )
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
