#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/images/loss.svg: bench/run loss --json | bench/figure.py FILE.svg

A group of bars for each size of the first table that comes in; times on a
logarithmic axis, the ratio to the usual code above.
"""
import json
import math
import sys

BARS = [("reference_ms", "usual code", "#b0b7c0"),
        ("ours_ms", "barlow", "#2f6db3"),
        ("floor_ms", "barlow's matrix products alone", "#9cc3ea")]
BAR, GAP, LEFT, TOP, HEIGHT = 26, 44, 62, 46, 220


def text(x, y, words, anchor="middle", color="#333"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'fill="{color}">{words}</text>')


def draw(rows):
    top = math.log10(2 * max(row[key] for row in rows for key, _, _ in BARS))
    low = math.floor(math.log10(min(r[k] for r in rows for k, _, _ in BARS)))

    def y_of(ms):
        return TOP + HEIGHT * (top - math.log10(ms)) / (top - low)

    width = LEFT + len(rows) * (len(BARS) * BAR + GAP)
    out = []
    for power in range(low, math.floor(top) + 1):
        y = y_of(10 ** power)
        out.append(f'<path d="M{LEFT} {y:.1f}H{width}" stroke="#e3e6ea"/>')
        out.append(text(LEFT - 8, y + 4, f"{10 ** power:g} ms", "end"))
    for i, row in enumerate(rows):
        x = LEFT + GAP / 2 + i * (len(BARS) * BAR + GAP)
        middle = x + len(BARS) * BAR / 2
        for j, (key, _, color) in enumerate(BARS):
            y = y_of(row[key])
            out.append(
                f'<rect x="{x + j * BAR:.1f}" y="{y:.1f}" width="{BAR - 3}" '
                f'height="{TOP + HEIGHT - y:.1f}" fill="{color}"/>')
        out.append(text(middle, y_of(row["reference_ms"]) - 6,
                        f'{row["ratio"]:.3g} x', color="#2f6db3"))
        out.append(text(middle, TOP + HEIGHT + 18,
                        f'N {row["n"]}, D {row["d"]}'))
    x = LEFT
    for _, name, color in BARS:
        out.append(f'<rect x="{x}" y="12" width="12" height="12" '
                   f'fill="{color}"/>')
        out.append(text(x + 18, 22, name, "start"))
        x += 40 + 7 * len(name)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{TOP + HEIGHT + 30}" font-family="sans-serif" '
            'font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n'
            + "\n".join(out) + "\n</svg>\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    table = json.loads(sys.stdin.readline())
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write(draw(table["rows"]))


if __name__ == "__main__":
    main()
