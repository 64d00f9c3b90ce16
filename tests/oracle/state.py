# SPDX-License-Identifier: MIT
"""Safetensors files between Python and C++.

    state.py FOLDER      writes FOLDER/python.safetensors for the C++ tests
    state.py check FILE  exits with 0 if FILE, written by C++, holds the same

The reader here follows the published format and shares no code with the
library's. Like readers that map the file, it needs each tensor aligned.
"""

import json
import os
import struct
import sys
import zlib

import torch

import oracle

METADATA = {"note": "gr\u00fc\u00dfe \u6771\u4eac \U0001f600", "empty": ""}


def values():
    """Each type with its extremes; 0-d, empty and ordinary shapes."""
    tensors = {}
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        info = torch.finfo(dtype)
        tensors[str(dtype)] = torch.tensor(
            [[0.0, -0.0, 1.5], [info.max, -info.tiny, float("inf")]], dtype=dtype
        )
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        info = torch.iinfo(dtype)
        tensors[str(dtype)] = torch.tensor([info.min, 0, info.max], dtype=dtype)
    tensors[str(torch.bool)] = torch.tensor([True, False, True])
    tensors["scalar"] = torch.tensor(-2.25)
    tensors["empty"] = torch.zeros(0, 3)
    tensors["transposed"] = torch.arange(6.0).reshape(2, 3).t()
    return tensors


def read(path):
    types = {name: dtype for dtype, name in oracle.NAMES.items()}
    with open(path, "rb") as f:
        raw = f.read()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length].decode("utf-8"))
    metadata = header.pop("__metadata__", {})
    checksum = metadata.pop("crc32", None)
    if checksum is not None:
        # Of the header without it, compact and sorted, then of the data.
        rest = dict(header, __metadata__=metadata) if metadata else header
        text = json.dumps(
            rest, sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )
        found = zlib.crc32(raw[8 + length :], zlib.crc32(text.encode("utf-8")))
        assert checksum == f"{found:08x}", (checksum, found)
    data = torch.frombuffer(bytearray(raw[8 + length :]), dtype=torch.uint8)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        part = data[begin:end].view(types[entry["dtype"]])
        tensors[name] = part.reshape(entry["shape"])
    return tensors, metadata, checksum


def check(path):
    tensors, metadata, checksum = read(path)
    assert checksum is not None
    expected = values()
    assert metadata == METADATA, metadata
    assert sorted(tensors) == sorted(expected), sorted(tensors)
    for name, value in expected.items():
        assert tensors[name].dtype == value.dtype, name
        assert torch.equal(tensors[name], value), name


if sys.argv[1] == "check":
    check(sys.argv[2])
else:
    folder = oracle.output_folder()
    oracle.save(os.path.join(folder, "python.safetensors"), values(), METADATA)
