# SPDX-License-Identifier: MIT
"""k-NN votes and logistic regression in Python, float64, on small sets.

k-NN is written from Wu et al. 2018, section 3.4, with whole matrices and torch's
topk; the regression is minimised by torch.optim.LBFGS through autograd.
"""

import os

import torch

from oracle import output_folder, save

CLASSES = 7


def clusters(size, features, seed):
    """Overlapping clusters of unequal scale, some way from the origin."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(
        CLASSES, features, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(CLASSES, (size,), generator=generator)
    noise = torch.randn(size, features, generator=generator)
    scale = torch.linspace(0.5, 20, features)
    return (0.7 * centres[labels] + noise + 0.5) * scale, labels


def knn(bank, bank_labels, queries, k, temperature):
    bank = torch.nn.functional.normalize(bank.double())
    queries = torch.nn.functional.normalize(queries.double())
    similarities, index = (queries @ bank.T).topk(k)
    weights = (similarities / temperature).exp()
    votes = torch.zeros(len(queries), CLASSES, dtype=torch.float64)
    votes.scatter_add_(1, bank_labels[index], weights)
    order = votes.argsort(1, descending=True)
    return order


def regression(x, labels, penalty):
    x = x.double()
    x = (x - x.mean(0)) / x.std(0, unbiased=False)
    weight = torch.zeros(x.shape[1], CLASSES, dtype=torch.float64)
    bias = torch.zeros(CLASSES, dtype=torch.float64)
    parameters = [weight.requires_grad_(), bias.requires_grad_()]
    optimizer = torch.optim.LBFGS(
        parameters, max_iter=5000, tolerance_grad=1e-10, tolerance_change=0,
        line_search_fn="strong_wolfe")

    def objective():
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(x @ weight + bias, labels)
        value = value + penalty / 2 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(objective)
    return objective().detach(), weight.detach()


def main():
    folder = output_folder()
    train_x, train_y = clusters(400, 12, 1)
    test_x, test_y = clusters(150, 12, 2)
    tensors = {"train.features": train_x, "train.labels": train_y,
               "test.features": test_x, "test.labels": test_y}
    for k, temperature in ((1, 0.07), (20, 0.07), (200, 0.5), (400, 0.07)):
        order = knn(train_x, train_y, test_x, k, temperature)
        tensors[f"knn.{k}.predictions"] = order[:, 0].contiguous()
        hits = order == test_y[:, None]
        tensors[f"knn.{k}.top1"] = hits[:, 0].double().mean()
        tensors[f"knn.{k}.top5"] = hits[:, :5].any(1).double().mean()
    for penalty in (1e-1, 1e-3, 1e-5):
        value, weight = regression(train_x, train_y, penalty)
        tensors[f"linear.{penalty:.0e}.objective"] = value
        tensors[f"linear.{penalty:.0e}.weight"] = weight
    save(os.path.join(folder, "eval.safetensors"), tensors)


if __name__ == "__main__":
    main()
