# SPDX-License-Identifier: MIT
"""Twenty steps of Barlow Twins training in Python torch, from the paper.

A ResNet of one basic block a stage and projector, of torchvision and torch
layers, each view in its own pass, embeddings normalised over the batch by a BatchNorm1d without parameters,
loss of equation 1, LARS as published with the method. Writes the initial state,
the batches (real images, shifted and mirrored) and every step's loss, twice: in
float32 with rates that rise from 0 as in the recipe's warm-up, and in float64
with full rates, where a difference of method cannot hide in rounding.
"""

import gzip
import os

import numpy as np
import torch
import torchvision

from oracle import output_folder, save

STEPS, BATCH, SIZE, LAMBDA = 20, 64, 32, 0.0051
STEPS_FLOAT64, BATCH_FLOAT64, WARMUP_STEPS = 4, 16, 500
RATE_WEIGHTS, RATE_BIASES, DECAY, MOMENTUM, ETA = 0.2, 0.0048, 1e-6, 0.9, 0.001
IMAGES = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"


class BarlowTwins(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.backbone = torchvision.models.ResNet(
            torchvision.models.resnet.BasicBlock, [1, 1, 1, 1]
        )
        width = self.backbone.fc.in_features
        self.backbone.fc = torch.nn.Identity()
        layers = []
        for size in sizes[:-1]:
            layers += [
                torch.nn.Linear(width, size, bias=False),
                torch.nn.BatchNorm1d(size),
                torch.nn.ReLU(inplace=True),
            ]
            width = size
        layers.append(torch.nn.Linear(width, sizes[-1], bias=False))
        self.projector = torch.nn.Sequential(*layers)
        self.norm = torch.nn.BatchNorm1d(
            sizes[-1], affine=False, track_running_stats=False
        )

    def forward(self, view_a, view_b):
        z_a = self.projector(self.backbone(view_a))
        z_b = self.projector(self.backbone(view_b))
        c = self.norm(z_a).T @ self.norm(z_b) / len(z_a)
        diagonal = torch.diagonal(c)
        on = (diagonal - 1).pow(2).sum()
        off = c.pow(2).sum() - diagonal.pow(2).sum()
        return on + LAMBDA * off


@torch.no_grad()
def lars_step(parameters, momenta, factor):
    for name, p in parameters:
        update = p.grad
        if p.ndim != 1:
            update = update + DECAY * p
            norm_p, norm_u = p.norm(), update.norm()
            if norm_p > 0 and norm_u > 0:
                update = update * (ETA * norm_p / norm_u)
        momenta[name] = MOMENTUM * momenta[name] + update
        rate = RATE_BIASES if p.ndim == 1 else RATE_WEIGHTS
        p -= factor * rate * momenta[name]


def batches():
    with gzip.open(IMAGES) as f:
        raw = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    generator = np.random.default_rng(3)
    for step in range(STEPS):
        images = raw[step * BATCH : (step + 1) * BATCH] / np.float32(255)
        views = []
        for _ in range(2):
            view = np.zeros((BATCH, SIZE, SIZE), np.float32)
            for k, image in enumerate(images):
                y, x = generator.integers(0, SIZE - 28 + 1, 2)
                mirrored = image[:, ::-1] if generator.random() < 0.5 else image
                view[k, y : y + 28, x : x + 28] = mirrored
            view = (torch.from_numpy(view) - 0.286) / 0.353
            views.append(view[:, None].expand(-1, 3, -1, -1).contiguous())
        yield views


def train(initial, data, steps, batch, dtype, factor):
    model = BarlowTwins([128, 96])
    model.load_state_dict(initial)
    model.to(dtype)
    parameters = list(model.named_parameters())
    momenta = {name: torch.zeros_like(p) for name, p in parameters}
    losses = []
    for step in range(steps):
        views = (data[f"{step:02d}.{v}"][:batch].to(dtype) for v in "ab")
        loss = model(*views)
        model.zero_grad()
        loss.backward()
        lars_step(parameters, momenta, factor(step))
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def main():
    folder = output_folder()
    torch.manual_seed(11)
    torch.set_num_threads(2)
    initial = BarlowTwins([128, 96]).state_dict()
    save(os.path.join(folder, "initial.safetensors"), initial)
    data = {}
    for step, (view_a, view_b) in enumerate(batches()):
        data[f"{step:02d}.a"], data[f"{step:02d}.b"] = view_a, view_b
    losses = train(
        initial, data, STEPS, BATCH, torch.float32, lambda s: s / WARMUP_STEPS
    )
    losses_float64 = train(
        initial, data, STEPS_FLOAT64, BATCH_FLOAT64, torch.float64, lambda s: 1.0
    )
    data["losses"], data["losses_float64"] = losses, losses_float64
    save(os.path.join(folder, "steps.safetensors"), data)


main()
