# SPDX-License-Identifier: MIT
"""Ten steps of each optimiser in Python, and the schedule.

SGD and AdamW are torch.optim's. LARS is written here from the paper and the
authors' description, in float64, so that it shares no rounding with the C++.
Each file holds start.NAME, gradient.STEP.NAME, end.NAME and rates [10, 2].
"""

import math
import os

import torch

from oracle import output_folder, save

STEPS = 10
# conv: 4-d; frozen: never has a gradient; zero: starts at 0; flat: its gradient
# is always 0; sometimes: has one at even steps.
SHAPES = {
    "conv": (4, 3, 3, 3),
    "dense": (7, 5),
    "flat": (3, 4),
    "frozen": (2, 2),
    "sometimes": (6, 2),
    "zero": (5, 3),
    "bias": (7,),
    "norm": (4,),
    "zero_bias": (3,),
}


def inputs():
    generator = torch.Generator().manual_seed(1)
    start = {n: torch.randn(s, generator=generator) for n, s in SHAPES.items()}
    start["zero"].zero_()
    start["zero_bias"].zero_()
    gradients = []
    for step in range(STEPS):
        drawn = {
            n: torch.randn(s, generator=generator) * 10.0 ** (step % 3 - 1)
            for n, s in SHAPES.items()
        }
        drawn["flat"].zero_()
        del drawn["frozen"]
        if step % 2:
            del drawn["sometimes"]
        gradients.append(drawn)
    # The first is 0, as in a warm-up.
    weights = torch.linspace(0, 0.9, STEPS, dtype=torch.float64)
    rates = torch.stack([weights, weights.flip(0) * 0.05], 1)
    return start, gradients, rates


def lars(start, gradients, rates, wd, m, eta, clipped, decay_all, adapt_all):
    values = {n: p.double() for n, p in start.items()}
    velocity = {n: torch.zeros_like(p) for n, p in values.items()}
    for drawn, (rate_weights, rate_biases) in zip(gradients, rates.tolist()):
        for name, g in drawn.items():
            p, g = values[name], g.double()
            is_weight = p.ndim > 1
            rate = rate_weights if is_weight else rate_biases
            decay = wd if is_weight or decay_all else 0.0
            p_norm, g_norm = p.norm().item(), g.norm().item()
            dp = g + decay * p
            if is_weight or adapt_all:
                if clipped:
                    if p_norm > 0 and g_norm > 0:
                        trust = eta * p_norm / (g_norm + decay * p_norm + 1e-8)
                        dp = dp * (min(trust / rate, 1.0) if rate > 0 else 1.0)
                    else:
                        dp = g
                elif p_norm > 0 and dp.norm().item() > 0:
                    dp = dp * (eta * p_norm / dp.norm().item())
            velocity[name] = m * velocity[name] + dp
            values[name] = p - rate * velocity[name]
    return values


def torch_optimizer(make, start, gradients, rates, wd, decay_all):
    values = {n: p.double().requires_grad_() for n, p in start.items()}
    groups = [
        {"params": [p for p in values.values() if p.ndim > 1],
         "weight_decay": wd},
        {"params": [p for p in values.values() if p.ndim <= 1],
         "weight_decay": wd if decay_all else 0.0},
    ]
    optimizer = make(groups)
    for drawn, pair in zip(gradients, rates.tolist()):
        for group, rate in zip(optimizer.param_groups, pair):
            group["lr"] = rate
        for name, p in values.items():
            p.grad = drawn[name].double() if name in drawn else None
        optimizer.step()
    return values


def write(folder, name, result, start, gradients, rates):
    tensors = {f"start.{n}": p for n, p in start.items()}
    tensors |= {f"end.{n}": p for n, p in result.items()}
    tensors["rates"] = rates
    for step, drawn in enumerate(gradients):
        tensors |= {f"gradient.{step}.{n}": g for n, g in drawn.items()}
    save(os.path.join(folder, name + ".safetensors"), tensors)


def schedule(total, warmup):
    """Learning-rate factors as the paper's appendix describes them."""
    factors = []
    for step in range(total):
        if step < warmup:
            factors.append(step / warmup)
            continue
        q = 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
        factors.append(q + 0.001 * (1 - q))
    return torch.tensor(factors, dtype=torch.float64)


def main():
    folder = output_folder()
    given = inputs()
    runs = {
        "lars_authors": lars(*given, 0.05, 0.9, 1e-3, False, False, False),
        "lars_all": lars(*given, 0.05, 0.8, 0.1, False, True, True),
        "lars_clipped": lars(*given, 0.05, 0.9, 0.02, True, False, False),
        "lars_clipped_all": lars(*given, 0.05, 0.9, 0.5, True, True, True),
        "sgd": torch_optimizer(
            lambda g: torch.optim.SGD(g, lr=0.0, momentum=0.9),
            *given, 0.05, False),
        "sgd_nesterov": torch_optimizer(
            lambda g: torch.optim.SGD(g, lr=0.0, momentum=0.8, nesterov=True),
            *given, 0.05, True),
        "sgd_plain": torch_optimizer(
            lambda g: torch.optim.SGD(g, lr=0.0), *given, 0.0, True),
        "adamw": torch_optimizer(
            lambda g: torch.optim.AdamW(g, lr=0.0), *given, 0.05, False),
        "adamw_all": torch_optimizer(
            lambda g: torch.optim.AdamW(g, lr=0.0, betas=(0.8, 0.95), eps=1e-3),
            *given, 0.05, True),
    }
    for name, result in runs.items():
        write(folder, name, result, *given)
    save(os.path.join(folder, "schedule.safetensors"), {
        "total_100_warmup_10": schedule(100, 10),
        "total_7_warmup_0": schedule(7, 0),
    })


if __name__ == "__main__":
    main()
