# SPDX-License-Identifier: MIT
"""What the oracle scripts share: a folder to write to, and safetensors files.

Each script is run as `script.py FOLDER` and writes values computed by the real
Python stack (torch, torchvision, Pillow), which the C++ tests then read.
"""

import json
import os
import struct
import sys

import torch

NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def output_folder():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    return folder


def save(path, tensors, metadata=None):
    """Writes {name: tensor} as a safetensors file."""
    header, chunks, offset = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        raw = tensor.view(-1).view(torch.uint8) if tensor.numel() else tensor
        chunk = raw.numpy().tobytes()
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(chunk)],
        }
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
