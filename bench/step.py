#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A training step, barlow beside Python torch: step.py BARLOW_BENCH [options].

Both train the same network on views of the same size with LARS, on as many
threads, in turns: Python torch as it comes (float32, contiguous, optimiser
tensor by tensor, as in the authors' code) and at its best (bfloat16 autocast,
channels-last), barlow in float32 and in bfloat16.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import torch
import torchvision


class Twins(torch.nn.Module):
    """Encoder and projector; the loss of the authors' code on one device."""

    def __init__(self, architecture, small_stem, sizes):
        super().__init__()
        self.backbone = getattr(torchvision.models, architecture)(
            zero_init_residual=True)
        width = self.backbone.fc.in_features
        self.backbone.fc = torch.nn.Identity()
        if small_stem:
            self.backbone.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
            self.backbone.maxpool = torch.nn.Identity()
        layers = []
        for size in sizes[:-1]:
            layers += [torch.nn.Linear(width, size, bias=False),
                       torch.nn.BatchNorm1d(size), torch.nn.ReLU(inplace=True)]
            width = size
        layers.append(torch.nn.Linear(width, sizes[-1], bias=False))
        self.projector = torch.nn.Sequential(*layers)
        self.norm = torch.nn.BatchNorm1d(sizes[-1], affine=False)

    def forward(self, view_a, view_b):
        z_a = self.projector(self.backbone(view_a))
        z_b = self.projector(self.backbone(view_b))
        with torch.autocast("cpu", enabled=False):  # the loss is float32
            c = self.norm(z_a.float()).T @ self.norm(z_b.float())
        c.div_(view_a.shape[0])
        on = torch.diagonal(c).add_(-1).pow_(2).sum()
        n = c.shape[0]
        off = c.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()
        return on + 0.0051 * off.pow_(2).sum()


class Lars:
    """One-dimensional parameters are left out of decay and adaptation."""

    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.momentum = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self):
        for p, mu in zip(self.parameters, self.momentum):
            d, rate = p.grad, 1e-5
            if p.ndim > 1:
                rate = 1e-3
                d = d.add(p, alpha=1e-6)
                p_norm, d_norm = torch.norm(p), torch.norm(d)
                one = torch.ones_like(p_norm)
                q = torch.where(
                    p_norm > 0.0,
                    torch.where(d_norm > 0, 1e-3 * p_norm / d_norm, one), one)
                d = d.mul(q)
            mu.mul_(0.9).add_(d)
            p.add_(mu, alpha=-rate)


class PythonStep:
    def __init__(self, case, tuned):
        self.tuned = tuned
        self.model = Twins(case["architecture"], case["stem"] == "small",
                           [int(s) for s in case["projector"].split("-")])
        self.optimizer = Lars(self.model.parameters())
        shape = (case["batch_size"], 3, case["side"], case["side"])
        numbers = torch.arange(torch.Size(shape).numel()) * 0.7
        self.views = [torch.sin(numbers + phase).view(shape)
                      for phase in (0.0, 0.3)]
        if tuned:
            self.model.to(memory_format=torch.channels_last)
            self.views = [view.to(memory_format=torch.channels_last)
                          for view in self.views]

    def __call__(self):
        start = time.perf_counter()
        for p in self.model.parameters():
            p.grad = None
        with torch.autocast("cpu", torch.bfloat16, enabled=self.tuned):
            loss = self.model(*self.views)
        loss.backward()
        self.optimizer.step()
        return 1000 * (time.perf_counter() - start)


class BarlowStep:
    def __init__(self, program, threads, case, precision):
        self.process = subprocess.Popen(
            [program, "serve-steps", "--threads", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        keys = dict(case, precision=precision)
        lines = [f"{key} {value}" for key, value in keys.items()]
        self.process.stdin.write("\n".join(lines) + "\nend\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ready\n"

    def __call__(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


CASES = [
    dict(architecture="resnet50", stem="imagenet", side=224, batch_size=32,
         projector="2048-2048-2048"),
    dict(architecture="resnet18", stem="small", side=32, batch_size=256,
         projector="2048-2048-2048"),
]
QUICK = dict(architecture="resnet18", stem="small", side=16, batch_size=16,
             projector="128-128")


def measure(program, threads, case, rounds):
    steps = {"python": PythonStep(case, tuned=False),
             "python_bfloat16": PythonStep(case, tuned=True),
             "float32": BarlowStep(program, threads, case, "float32"),
             "bfloat16": BarlowStep(program, threads, case, "bfloat16")}
    for step in steps.values():
        step()
    times = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            times[name].append(step())
    for name in ("float32", "bfloat16"):
        steps[name].close()
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = []
    for case in [QUICK] if arguments.quick else CASES:
        ms = measure(arguments.program, arguments.threads, case,
                     1 if arguments.quick else arguments.rounds)
        rows.append(dict(
            case, **{name + "_ms": value for name, value in ms.items()},
            float32_ratio=ms["python"] / ms["float32"],
            bfloat16_ratio=ms["python"] / ms["bfloat16"]))
    about = {"threads": arguments.threads, "torch": torch.__version__}
    if arguments.json:
        print(json.dumps({"benchmark": "step", "about": about, "rows": rows}))
        return
    print("A training step; the ratios are to Python torch as it comes\n")
    for row in rows:
        print("{architecture} {side} px, batch {batch_size}, {projector}: "
              "Python {python_ms:.0f} ms (bfloat16, channels-last: "
              "{python_bfloat16_ms:.0f} ms), barlow float32 {float32_ms:.0f} "
              "ms ({float32_ratio:.2f} x), bfloat16 {bfloat16_ms:.0f} ms "
              "({bfloat16_ratio:.2f} x)".format(**row))
    print("\n" + json.dumps(about))


if __name__ == "__main__":
    sys.exit(main())
