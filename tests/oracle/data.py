# SPDX-License-Identifier: MIT
"""Image files of many kinds, and their pixels as Pillow decodes them."""

import augment
import decode
import oracle


def main(folder):
    decode.main(folder)
    augment.main(folder)


if __name__ == "__main__":
    main(oracle.output_folder())
