# SPDX-License-Identifier: MIT
"""The loss and its gradients by the usual Python code for it.

Written from section 2 of the paper: embeddings batch-normed without learned
scale or shift, their cross-correlation matrix divided by the batch size, the
diagonal drawn to 1 and the rest to 0; PyTorch's autograd does the rest.
"""

import os

import torch

from oracle import output_folder, save

SIZES = [(2, 3), (3, 5), (16, 4), (20, 48), (64, 128), (256, 300)]


def loss_and_gradients(z_a, z_b, weight):
    z_a = z_a.clone().requires_grad_()
    z_b = z_b.clone().requires_grad_()
    features = z_a.shape[1]
    norm = torch.nn.BatchNorm1d(features, affine=False).to(z_a.dtype)
    correlation = norm(z_a).T @ norm(z_b) / len(z_a)
    diagonal = torch.eye(features, dtype=torch.bool)
    on = (correlation[diagonal] - 1).square().sum()
    off = correlation[~diagonal].square().sum()
    total = on + weight * off
    total.backward()
    return {
        "total": total,
        "invariance": on,
        "redundancy": off,
        "gradient_a": z_a.grad,
        "gradient_b": z_b.grad,
    }


def main():
    folder = output_folder()
    generator = torch.Generator().manual_seed(1)
    for samples, features in SIZES:
        shared = torch.randn(samples, features, generator=generator)
        scale = torch.rand(features, generator=generator) + 0.2
        views = [
            (shared + 0.6 * noise) * scale + 1
            for noise in torch.randn(2, samples, features, generator=generator)
        ]
        tensors = {"z_a": views[0], "z_b": views[1]}
        for name in ["float64", "float32"]:
            inputs = [z.to(getattr(torch, name)) for z in views]
            result = loss_and_gradients(*inputs, weight=0.0051)
            for key, value in result.items():
                tensors[f"{name}.{key}"] = value
        name = f"loss_{samples}x{features}.safetensors"
        save(os.path.join(folder, name), tensors)


if __name__ == "__main__":
    main()
