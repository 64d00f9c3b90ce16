# SPDX-License-Identifier: MIT
"""Augmentations as torchvision and Pillow compute them, on real pictures.

augment.safetensors holds, for pictures numbered P and parameter sets numbered K:

    picture.P      [H, W, C] uint8     photos, a garment in grey, tiny pictures
    OP.values      [K] float64         the operation's parameter
    OP.P.K         [H, W, C] uint8     its result
    resize.boxes.P [K, 6] int64        left, top, width, height; new width, height
                                       of resize.P.K (bicubic) and bilinear.P.K
    part.boxes.P   [K, 7] float64      left, top, right, bottom (float32 values);
                                       new width, height; 1 if bilinear
    evaluation.sizes [K, 2] int64      resize, crop
    pipeline.draws.P [K, 19] float64   see DRAWS
    pipeline.P.K, normalized.P.K       before and after normalisation
"""

import gzip
import os

import numpy as np
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image, ImageFilter, ImageOps

import oracle

STAMPS = "/usr/share/tuxpaint/stamps/animals/birds/"
GARMENTS = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"
BICUBIC = T.InterpolationMode.BICUBIC
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DRAWS = (
    "left top width height size flip jitter order0 order1 order2 order3 "
    "brightness contrast saturation hue grey blur sigma solarize"
).split()

FACTORS = [0.0, 0.6, 0.7731, 0.95, 1.0, 1.0499, 1.2, 1.4, 3.0]
OPERATIONS = {
    "brightness": (F.adjust_brightness, FACTORS),
    "contrast": (F.adjust_contrast, FACTORS),
    "saturation": (F.adjust_saturation, FACTORS),
    "hue": (F.adjust_hue, [-0.5, -0.1, -0.0371, 0.0, 0.003, 0.05, 0.1, 0.5]),
    "grey": (lambda p, _: to_grey(p), [0.0]),
    "flip": (lambda p, _: F.hflip(p), [0.0]),
    "solarize": (lambda p, t: ImageOps.solarize(p, int(t)), [0, 1, 128, 200, 256]),
    "blur": (
        lambda p, s: p.filter(ImageFilter.GaussianBlur(s)),
        [0.0, 0.1, 0.37, 0.9, 1.3, 1.41, 1.42, 1.73, 2.0, 2.5, 4.1, 12.0],
    ),
}


def to_grey(picture):
    if picture.mode == "L":
        return picture
    return F.rgb_to_grayscale(picture, num_output_channels=3)


def garment(index):
    with gzip.open(GARMENTS) as f:
        f.seek(16 + 784 * index)
        return Image.fromarray(np.frombuffer(f.read(784), np.uint8).reshape(28, 28))


def pictures(rng):
    noise = [(1, 1, 3), (1, 1, 1), (1, 9, 3), (11, 1, 1), (2, 3, 3), (90, 100, 3)]
    result = [
        Image.open(STAMPS + "heron_greatblue.png").convert("RGB"),
        Image.open(STAMPS + "chicken_profile.png").convert("RGB"),
        garment(3),
    ]
    for height, width, channels in noise:
        shape = (height, width, 3) if channels == 3 else (height, width)
        result.append(Image.fromarray(rng.randint(0, 256, shape).astype(np.uint8)))
    return result


def tensor(picture):
    array = torch.from_numpy(np.array(picture))
    return array if array.dim() == 3 else array[:, :, None]


def random_box(rng, picture):
    width = rng.randint(1, picture.width + 1)
    height = rng.randint(1, picture.height + 1)
    left = rng.randint(0, picture.width - width + 1)
    top = rng.randint(0, picture.height - height + 1)
    return [left, top, width, height]


def add_operations(out, numbered):
    for name, (function, values) in OPERATIONS.items():
        out[f"{name}.values"] = torch.tensor(values, dtype=torch.float64)
        for p, picture in numbered:
            for k, value in enumerate(values):
                out[f"{name}.{p}.{k}"] = tensor(function(picture, value))


def fractional_box(rng, picture):
    box = []
    for side in (picture.width, picture.height):
        box.append(np.sort(rng.uniform(0, side, 2).astype(np.float32)))
    return [float(edge) for edge in np.stack(box).T.flat]


# Pillow's resize of a part: pixels around it count where the filter reaches.
def add_parts(out, numbered, rng):
    for p, picture in numbered:
        w, h = picture.size
        whole = [0, 0, w, h]
        half = np.float32([w / 3, h / 7, w, h])  # as wide and high as the result
        rows = [whole + [w, h], whole + [1, 1], [*half, 11, 7], [*half, w, h]]
        rows += [[0.25, 0.5, 0.75, 0.625, 9, 5], [0, 0.5, w, h, w, 13]]
        rows += [[0, 0, 1, 1, 1, 1], [w - 1, 0, w, h, 1, h], [w - 1, 0, w, h, 1, 8]]
        for size in [(28, 28), (28, 28), (96, 96), (224, 224), (31, 57), (200, 9), (3, 2)]:
            rows += [fractional_box(rng, picture) + list(size) for _ in range(3)]
        rows = [[float(x) for x in row] + [f] for row in rows for f in (0, 1)]
        out[f"part.boxes.{p}"] = torch.tensor(rows, dtype=torch.float64)
        for k, row in enumerate(rows):
            size = (int(row[4]), int(row[5]))
            kind = Image.Resampling.BILINEAR if row[6] else Image.Resampling.BICUBIC
            out[f"part.{p}.{k}"] = tensor(picture.resize(size, kind, box=row[:4]))


def add_bilinear_resizes(out, numbered):
    for p, picture in numbered:
        for k, row in enumerate(out[f"resize.boxes.{p}"].tolist()):
            left, top, width, height, new_width, new_height = row
            size = (new_height, new_width)
            result = F.resized_crop(picture, top, left, height, width, size)
            out[f"bilinear.{p}.{k}"] = tensor(result)


def add_resizes(out, numbered, rng):
    for p, picture in numbered:
        whole = [0, 0, picture.width, picture.height]
        boxes = [whole + [picture.width, picture.height]]
        boxes += [whole + [1, 1], whole + [picture.width, 17]]
        boxes += [whole + [23, picture.height]]
        for size in [(28, 28), (96, 96), (224, 224), (31, 57), (200, 9)]:
            boxes += [random_box(rng, picture) + list(size)]
        out[f"resize.boxes.{p}"] = torch.tensor(boxes)
        for k, (left, top, width, height, new_width, new_height) in enumerate(boxes):
            size = (new_height, new_width)
            result = F.resized_crop(picture, top, left, height, width, size, BICUBIC)
            out[f"resize.{p}.{k}"] = tensor(result)


def add_evaluations(out, numbered):
    sizes = [(32, 28), (64, 56), (28, 28), (33, 28), (20, 31), (7, 8)]
    out["evaluation.sizes"] = torch.tensor(sizes)
    for p, picture in numbered:
        for k, (resize, crop) in enumerate(sizes):
            result = F.center_crop(F.resize(picture, resize, BICUBIC), [crop, crop])
            out[f"evaluation.{p}.{k}"] = tensor(result)


def random_draws(rng, picture, size):
    order = rng.permutation(4)
    return (
        random_box(rng, picture)
        + [size, rng.randint(2), rng.rand() < 0.8, *order]
        + [rng.uniform(0.6, 1.4), rng.uniform(0.6, 1.4), rng.uniform(0.8, 1.2)]
        + [rng.uniform(-0.1, 0.1), rng.rand() < 0.3, rng.rand() < 0.7]
        + [rng.uniform(0.1, 2.0), rng.rand() < 0.4]
    )


def view(picture, d):
    size = int(d["size"])
    box = [int(d[key]) for key in ("top", "left", "height", "width")]
    picture = F.resized_crop(picture, *box, (size, size), BICUBIC)
    if d["flip"]:
        picture = F.hflip(picture)
    if d["jitter"]:
        for i in range(4):
            name = ("brightness", "contrast", "saturation", "hue")[int(d[f"order{i}"])]
            picture = OPERATIONS[name][0](picture, d[name])
    if d["grey"]:
        picture = to_grey(picture)
    if d["blur"]:
        picture = picture.filter(ImageFilter.GaussianBlur(radius=d["sigma"]))
    if d["solarize"]:
        picture = ImageOps.solarize(picture)
    return picture


def add_pipelines(out, numbered, rng):
    for p, picture in numbered:
        channels = len(picture.getbands())
        normalize = T.Normalize(MEAN[:channels], STD[:channels])
        rows = []
        for k in range(24):
            row = [float(x) for x in random_draws(rng, picture, (28, 32, 96, 224)[k % 4])]
            rows.append(row)
            result = view(picture, dict(zip(DRAWS, row)))
            out[f"pipeline.{p}.{k}"] = tensor(result)
            if k < 4:
                out[f"normalized.{p}.{k}"] = normalize(F.to_tensor(result))
        out[f"pipeline.draws.{p}"] = torch.tensor(rows, dtype=torch.float64)


def main(folder):
    rng = np.random.RandomState(20210304)
    numbered = list(enumerate(pictures(rng)))
    out = {f"picture.{p}": tensor(picture) for p, picture in numbered}
    out["pictures"] = torch.tensor(len(numbered))
    add_operations(out, numbered)
    add_resizes(out, numbered, rng)
    add_evaluations(out, numbered)
    add_pipelines(out, numbered, rng)
    add_bilinear_resizes(out, numbered)
    add_parts(out, numbered, rng)
    oracle.save(os.path.join(folder, "augment.safetensors"), out)


if __name__ == "__main__":
    main(oracle.output_folder())
