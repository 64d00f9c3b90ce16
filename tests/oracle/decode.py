# SPDX-License-Identifier: MIT
"""Image files of many kinds, and their pixels as Pillow decodes them.

decode.safetensors holds, for files FOLDER/decode/NAME:

    NAME    [H, W, C] uint8   upright; C is 1 (grey) or 3 (RGB)

decode_luma.safetensors the same in grey of those in colour; and for PART train
and t10k of Fashion-MNIST, garments_PART.safetensors

    sums    [N] int64         of samples times their position in the image
    labels  [N] int64
"""

import gzip
import io
import os
import struct
import zlib

import numpy as np
import torch
from PIL import Image, ImageOps

import oracle

STAMPS = "/usr/share/tuxpaint/stamps/"
GARMENTS = "/usr/share/datasets/fashion-mnist/"
PICTURES = [
    "animals/birds/heron_greatblue.png",  # RGBA
    "animals/birds/chicken_profile.png",
    "symbols/music/note_100.png",  # grey and alpha
    "symbols/faces/mad.png",  # palette with transparency
    "seasonal/easter/chick-hatched.png",  # RGB with a transparent colour
    "town/roadsigns/stoplight_01_red.png",  # palette
]


def save(picture, **options):
    file = io.BytesIO()
    picture.save(file, **options)
    return file.getvalue()


def exif(orientation, order="<"):
    """A TIFF block with a tag before the orientation."""
    start = b"II*\0" if order == "<" else b"MM\0*"
    entries = struct.pack(order + "HHIHH", 0x0100, 3, 1, 7, 0)
    entries += struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    directory = struct.pack(order + "H", 2) + entries + bytes(4)
    return b"Exif\0\0" + start + struct.pack(order + "I", 8) + directory


def png(width, height, bits, color, rows, interlace=0, chunks=()):
    """A PNG file from raw rows, for what Pillow does not write."""

    def chunk(name, data):
        checksum = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlace)
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    for name, data in chunks:
        out += chunk(name, data)
    return out + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def adam7(array):
    """The rows of the seven passes of an [H, W, C] uint8 picture."""
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)]
    passes += [(2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b""
    for top, left, down, right in passes:
        part = array[top::down, left::right]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    return rows


def filtered(array):
    return b"".join(b"\0" + row.tobytes() for row in array)


def packed(levels, bits):
    """Rows of `bits` per sample, padded to bytes, the first sample highest."""
    height, width = levels.shape
    shifts = np.arange(bits - 1, -1, -1)
    spread = (levels[:, :, None] >> shifts & 1).reshape(height, width * bits)
    return np.packbits(spread.astype(np.uint8), axis=1)


def bmp(width, height, bits, pixels, compression=0, masks=(), palette=b"", header=40):
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        fields = (header, width, height, 1, bits, compression, 0, 0, 0)
        info = struct.pack("<IiiHHIIii", *fields)
        info += struct.pack("<II", len(palette) // 4, 0)
    info += b"".join(struct.pack("<I", mask) for mask in masks) + palette
    offset = 14 + len(info)
    return b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset) + info + pixels


def padded(rows):
    """BMP rows, from bottom to top, of whole 4 bytes."""
    rows = np.ascontiguousarray(rows).view(np.uint8).reshape(rows.shape[0], -1)
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))[::-1].tobytes()


def jpegs(photo):
    grey = photo.convert("L")
    files = {
        f"subsampling{s}_quality{q}.jpg": save(
            photo, format="JPEG", quality=q, subsampling=s
        )
        for s in (0, 1, 2)
        for q in (30, 75, 95)
    }
    files["grey.jpg"] = save(grey, format="JPEG")
    files["grey_progressive.jpg"] = save(grey, format="JPEG", progressive=True)
    files["progressive.jpg"] = save(photo, format="JPEG", progressive=True)
    files["optimized.jpeg"] = save(photo, format="JPEG", optimize=True, quality=60)
    files["cmyk.jpg"] = save(photo.convert("CMYK"), format="JPEG", quality=90)
    noise = np.random.RandomState(4).randint(0, 256, (31, 45, 4)).astype(np.uint8)
    inks = Image.fromarray(noise, "CMYK")
    files["cmyk_noise.jpg"] = save(inks, format="JPEG", quality=95)
    # Inks to luma and chroma: the transform 2 of an Adobe segment.
    files["ycck.jpg"] = files["cmyk_noise.jpg"].replace(
        b"Adobe\0\x64\0\0\0\0\0", b"Adobe\0\x64\0\0\0\0\2"
    )
    assert files["ycck.jpg"] != files["cmyk_noise.jpg"]
    for size in [(1, 1), (7, 9), (16, 8), (17, 33)]:
        name = f"side{size[0]}x{size[1]}.jpg"
        files[name] = save(photo.resize(size), format="JPEG", subsampling=2)
    for orientation in range(10):
        order = "<" if orientation % 2 else ">"
        files[f"orientation{orientation}.jpg"] = save(
            photo, format="JPEG", exif=exif(orientation, order)
        )
    plain = save(photo, format="JPEG")
    table = plain.index(b"\xff\xdb")
    files["stray_bytes.jpg"] = plain[:table] + b"\0\0\0" + plain[table:]
    files["wrong_extension.png"] = plain
    # Three components without transform: RGB, by an Adobe segment for JFIF's.
    assert plain[2:4] == b"\xff\xe0" and plain[4:6] == b"\0\x10"
    adobe = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0"
    files["adobe_rgb.jpg"] = plain[:2] + adobe + plain[20:]
    return files


def pngs(photo, rng):
    grey = photo.convert("L")
    opaque = photo.copy()
    opaque.putalpha(grey)
    array = np.array(photo)
    height, width = array.shape[:2]
    wide = rng.randint(0, 65536, (9, 11, 4)).astype(">u2")
    files = {
        "rgb.png": save(photo, format="PNG"),
        "rgba.png": save(opaque, format="PNG"),
        "grey.png": save(grey, format="PNG"),
        "grey_alpha.png": save(opaque.convert("LA"), format="PNG"),
        "bits1.png": save(photo.convert("1"), format="PNG"),
        "palette.png": save(photo.quantize(200), format="PNG"),
        "palette_transparent.png": save(
            photo.quantize(90), format="PNG", transparency=bytes(range(90))
        ),
        "palette_bits4.png": save(photo.quantize(13), format="PNG", bits=4),
        "palette_bits2.png": save(photo.quantize(4), format="PNG", bits=2),
        "palette_bits1.png": save(photo.quantize(2), format="PNG", bits=1),
        "transparent_grey.png": save(grey, format="PNG", transparency=17),
        "transparent_rgb.png": save(photo, format="PNG", transparency=(1, 2, 3)),
        "exif6.png": save(photo, format="PNG", exif=exif(6)),
        "animated.png": save(
            photo, format="PNG", save_all=True, append_images=[opaque.convert("RGB")]
        ),
        "wide_rgb.png": png(11, 9, 16, 2, filtered(wide[:, :, :3])),
        "wide_rgba.png": png(11, 9, 16, 6, filtered(wide)),
        "wide_grey_alpha.png": png(11, 9, 16, 4, filtered(wide[:, :, :2])),
        "interlaced.png": png(width, height, 8, 2, adam7(array), 1),
        "gamma.png": png(
            width, height, 8, 2, filtered(array), 0, [(b"gAMA", struct.pack(">I", 99999))]
        ),
    }
    for size in [(1, 1), (3, 2), (5, 9)]:
        small = np.array(photo.resize(size))
        name = f"interlaced{size[0]}x{size[1]}.png"
        files[name] = png(size[0], size[1], 8, 2, adam7(small), 1)
    for bits in (1, 2, 4):
        levels = rng.randint(0, 1 << bits, (6, 13))
        files[f"grey_bits{bits}.png"] = png(
            13, 6, bits, 0, filtered(packed(levels, bits))
        )
    return files


def webps(photo):
    transparent = photo.copy()
    transparent.putalpha(photo.convert("L"))
    frames = [transparent.rotate(90 * i) for i in range(3)]
    return {
        "lossy.webp": save(photo, format="WEBP", quality=70),
        "lossy_alpha.webp": save(transparent, format="WEBP", quality=70),
        "lossless.webp": save(photo, format="WEBP", lossless=True),
        "lossless_alpha.webp": save(transparent, format="WEBP", lossless=True, exact=True),
        "exif8.webp": save(photo, format="WEBP", exif=exif(8)),
        "exif3_lossless.webp": save(photo, format="WEBP", lossless=True, exif=exif(3)[6:]),
        "animated.webp": save(
            frames[0], format="WEBP", save_all=True, append_images=frames[1:], quality=80
        ),
        "animated_lossless.webp": save(
            frames[0], format="WEBP", save_all=True, append_images=frames[1:], lossless=True
        ),
        "side1x1.webp": save(photo.resize((1, 1)), format="WEBP"),
        "side7x5.webp": save(photo.resize((7, 5)), format="WEBP"),
    }


def bmps(photo, rng):
    opaque = photo.copy()
    opaque.putalpha(photo.convert("L"))
    levels = rng.randint(0, 16, (7, 13))
    colours = rng.randint(0, 256, (16, 4)).astype(np.uint8).tobytes()
    words = rng.randint(0, 65536, (5, 7)).astype("<u2")
    longs = rng.randint(0, 2**32, (5, 7), dtype=np.uint64).astype("<u4")
    triples = rng.randint(0, 256, (5, 7, 3)).astype(np.uint8)
    down = padded(triples[::-1])
    return {
        "rgb.bmp": save(photo, format="BMP"),
        "rgba.bmp": save(opaque, format="BMP"),
        "grey.bmp": save(photo.convert("L"), format="BMP"),
        "bits1.bmp": save(photo.convert("1"), format="BMP"),
        "palette.bmp": save(photo.quantize(256), format="BMP"),
        "bits4.bmp": bmp(13, 7, 4, padded(packed(levels, 4)), palette=colours),
        "bits16.bmp": bmp(7, 5, 16, padded(words)),
        "bits16_565.bmp": bmp(7, 5, 16, padded(words), 3, (0xF800, 0x7E0, 0x1F)),
        "bits32_no_masks.bmp": bmp(7, 5, 32, padded(longs), 3, (0,) * 17, header=108),
        "bits32_abgr.bmp": bmp(
            7, 5, 32, padded(longs), 3, (0xFF000000, 0xFF0000, 0xFF00)
        ),
        "top_down.bmp": bmp(7, -5, 24, down),
        "os2.bmp": bmp(7, 5, 24, padded(triples), header=12),
    }


def decoded(data):
    """Upright, grey or RGB, as the C++ decoder promises."""
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    mode = "L" if picture.mode in ("1", "L", "LA") else "RGB"
    array = torch.from_numpy(np.array(picture.convert(mode)))
    return array if array.dim() == 3 else array[:, :, None]


def to_luma(pixels):
    return torch.from_numpy(np.array(Image.fromarray(pixels.numpy()).convert("L")))[:, :, None]


def garments(part):
    with gzip.open(f"{GARMENTS}{part}-images-idx3-ubyte.gz") as f:
        images = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(f"{GARMENTS}{part}-labels-idx1-ubyte.gz") as f:
        labels = np.frombuffer(f.read(), np.uint8, offset=8)
    # Weighted by position, so that a transposed picture has another sum.
    weights = np.arange(784).reshape(28, 28)
    return (images * weights).sum((1, 2)), labels.astype(np.int64)


def add_exceptions(out, files, rng):
    """16-bit grey, where Pillow clips and the decoder keeps the high byte."""
    wide = rng.randint(0, 65536, (9, 11, 1)).astype(">u2")
    files["wide_grey.png"] = png(11, 9, 16, 0, filtered(wide))
    out["wide_grey.png"] = torch.from_numpy((wide >> 8).astype(np.uint8))
    # Pillow has no grey and alpha of 16 bits and makes it RGB.
    out["wide_grey_alpha.png"] = out["wide_grey_alpha.png"][:, :, :1]


def main(folder):
    rng = np.random.RandomState(7)
    stamp = Image.open(STAMPS + PICTURES[0]).convert("RGB")
    photo = stamp.resize((97, 61), Image.Resampling.LANCZOS)
    files = {**jpegs(photo), **pngs(photo, rng), **webps(photo), **bmps(photo, rng)}
    for path in PICTURES:
        with open(STAMPS + path, "rb") as f:
            files[os.path.basename(path)] = f.read()
    out = {name: decoded(data) for name, data in files.items()}
    add_exceptions(out, files, rng)
    os.makedirs(os.path.join(folder, "decode"), exist_ok=True)
    for name, data in files.items():
        with open(os.path.join(folder, "decode", name), "wb") as f:
            f.write(data)
    oracle.save(os.path.join(folder, "decode.safetensors"), out)
    luma = {name: to_luma(pixels) for name, pixels in out.items() if pixels.size(2) == 3}
    oracle.save(os.path.join(folder, "decode_luma.safetensors"), luma)
    for part in ("train", "t10k"):
        sums, labels = garments(part)
        out = {"sums": torch.from_numpy(sums), "labels": torch.from_numpy(labels)}
        oracle.save(os.path.join(folder, f"garments_{part}.safetensors"), out)


if __name__ == "__main__":
    main(oracle.output_folder())
