# SPDX-License-Identifier: MIT
"""Names, shapes, features and gradients of torchvision's ResNets, and of a
projector built from torch.nn.

Numbers are computed from float32 weights and images twice: in float64, where a
difference is a difference of meaning, and in float32.
"""

import copy
import os

import torch
import torchvision
from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

import oracle

ARCHITECTURES = ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152"]


def randomise(module):
    """Values under which no parameter or buffer is without effect."""
    for m in module.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.2)
            nn.init.normal_(m.running_mean, 0, 0.2)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
            m.num_batches_tracked.fill_(7)


def prefixed(prefix, tensors):
    return {prefix + name: tensor for name, tensor in tensors.items()}


def measure_in(dtype, module, x, upstream, gradients_of):
    work = copy.deepcopy(module).to(dtype)
    out = {}
    work.eval()
    with torch.no_grad():
        out["eval"] = work(x.to(dtype))
    work.train()
    features = work(x.to(dtype))
    out["train"] = features
    (features * upstream.to(dtype)).sum().backward()
    parameters = dict(work.named_parameters())
    for name in gradients_of:
        out["gradient/" + name] = parameters[name].grad
    out.update(prefixed("after/", dict(work.named_buffers())))
    return out


def measure(module, x, gradients_of):
    """State, input, upstream gradient, and what the module does with them."""
    with torch.no_grad():
        upstream = torch.randn(copy.deepcopy(module)(x).shape)
    out = {"x": x, "upstream": upstream}
    out.update(prefixed("state/", module.state_dict()))
    for name, dtype in [("float64/", torch.float64), ("float32/", torch.float32)]:
        values = measure_in(dtype, module, x, upstream, gradients_of)
        out.update(prefixed(name, values))
    return out


def drop_classifier(net):
    net.fc = nn.Identity()
    return net


class ScaledResNet(ResNet):
    """torchvision's network with all widths multiplied, and another stem."""

    def __init__(self, block, layers, scale, channels, stem):
        self.scale = scale
        super().__init__(block, layers)
        width = int(64 * scale)
        if stem == "imagenet":
            self.conv1 = nn.Conv2d(channels, width, 7, 2, 3, bias=False)
        else:
            stride = 2 if stem == "small_stride2" else 1
            self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
            self.maxpool = nn.Identity()
        self.bn1 = nn.BatchNorm2d(width)
        drop_classifier(self)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        if planes == 64:
            self.inplanes = int(64 * self.scale)
        planes = int(planes * self.scale)
        return super()._make_layer(block, planes, blocks, stride, dilate)


def shape_row(index, tensor):
    return torch.tensor([index, tensor.dim(), *tensor.shape])


def write_shapes(folder):
    rows = {}
    for name in ARCHITECTURES:
        net = drop_classifier(getattr(torchvision.models, name)())
        for i, (n, t) in enumerate(net.named_parameters()):
            rows[f"{name}/parameters/{n}"] = shape_row(i, t)
        for i, (n, t) in enumerate(net.named_buffers()):
            rows[f"{name}/buffers/{n}"] = shape_row(i, t)
    oracle.save(os.path.join(folder, "shapes.safetensors"), rows)


def write_standard(folder, name, gradients_of):
    net = getattr(torchvision.models, name)()
    randomise(net)
    classifier = prefixed("state/fc.", net.fc.state_dict())
    values = measure(drop_classifier(net), torch.randn(2, 3, 64, 64), gradients_of)
    values.update(classifier)
    oracle.save(os.path.join(folder, f"{name}.safetensors"), values)


def write_variant(folder, file, net, x, last="layer4.1.bn2.weight"):
    randomise(net)
    values = measure(net, x, ["conv1.weight", last])
    oracle.save(os.path.join(folder, f"{file}.safetensors"), values)


def write_variants(folder):
    layers = [2, 2, 2, 2]
    write_variant(
        folder, "small_grey",
        ScaledResNet(BasicBlock, layers, 0.25, 1, "small"),
        torch.randn(4, 1, 28, 28))
    write_variant(
        folder, "small_stride2",
        ScaledResNet(BasicBlock, layers, 0.25, 3, "small_stride2"),
        torch.randn(4, 3, 33, 31))
    write_variant(
        folder, "bottleneck",
        ScaledResNet(Bottleneck, [3, 4, 6, 3], 0.125, 3, "imagenet"),
        torch.randn(4, 3, 64, 96))
    shallow = ScaledResNet(BasicBlock, [1, 2, 1, 1], 0.25, 3, "small")
    shallow.layer4 = nn.Identity()
    write_variant(
        folder, "three_stages", shallow, torch.randn(4, 3, 32, 32),
        last="layer3.0.bn2.weight")


def write_projector(folder):
    net = nn.Sequential(
        nn.Linear(12, 24, bias=False), nn.BatchNorm1d(24), nn.ReLU(inplace=True),
        nn.Linear(24, 20, bias=False), nn.BatchNorm1d(20), nn.ReLU(inplace=True),
        nn.Linear(20, 32, bias=False))
    randomise(net)
    names = [name for name, _ in net.named_parameters()]
    values = measure(net, torch.randn(6, 12), names)
    oracle.save(os.path.join(folder, "projector.safetensors"), values)


def main():
    torch.manual_seed(1)
    # As the tests: another count may sum in another order.
    torch.set_num_threads(2)
    folder = oracle.output_folder()
    write_shapes(folder)
    write_standard(
        folder, "resnet18",
        ["conv1.weight", "bn1.bias", "layer1.0.conv1.weight",
         "layer2.0.downsample.0.weight", "layer4.1.bn2.weight"])
    write_standard(
        folder, "resnet50",
        ["conv1.weight", "bn1.bias", "layer1.0.downsample.1.weight",
         "layer3.0.conv2.weight", "layer4.2.bn3.weight"])
    write_variants(folder)
    write_projector(folder)


if __name__ == "__main__":
    main()
