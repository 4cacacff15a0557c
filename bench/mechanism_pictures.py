"""One picture for each mechanism's page, made of a real run on a small invented table.

    python bench/mechanism_pictures.py [NAME ...] [-o docs/img]

Tables are invented and seeded, so the real rows may be shown. Noise comes from the operating system and takes no
seed: every run draws other noise, and other pictures that say the same. Needs the extra ``report``.
"""

import argparse
import sys
from pathlib import Path

import altair as alt
import mechanism_scenes as scenes
import numpy as np
import vl_convert
from png import read_png, write_png

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
MOST_BYTES = 60_000
SCALE = 2.0
"""Pixels per unit: 860 pixels across, sharp on a phone that shows 360."""

PICTURES = {
    "adaptive": scenes.adaptive,
    "pmm": scenes.pmm,
    "psmm": scenes.psmm,
    "kd-tree": scenes.kd_tree,
    "independent": scenes.independent,
    "microaggregation": scenes.microaggregation,
    "linear-statistics": scenes.linear_statistics,
    "private-sampling": scenes.private_sampling,
    "anonymous": scenes.anonymous,
}


def picture(chart: alt.TopLevelMixin) -> bytes:
    """Return a chart as a PNG on white: it is read on light and on dark pages."""
    spec = chart.configure(
        background="white",
        padding=8,
        font="sans-serif",
        axis=alt.AxisConfig(labelFontSize=11, titleFontSize=12, gridColor="#e8ebee", titleFontWeight="normal"),
        title=alt.TitleConfig(fontSize=13, anchor="start", fontWeight=600, color="#1b2430", offset=6),
        legend=alt.LegendConfig(labelFontSize=11, titleFontSize=12, titleFontWeight="normal"),
        view=alt.ViewConfig(stroke="#c8ced4"),
    ).to_dict()
    return vl_convert.vegalite_to_png(spec, scale=SCALE)


def write_small(path: Path, made: bytes) -> None:
    """Write a picture with the 256 colours that it has most of: about a tenth of the bytes."""
    pixels = read_png(made)[:, :, :3].astype(np.int64)
    keys, places, counts = np.unique(pixels @ [65536, 256, 1], return_inverse=True, return_counts=True)
    kept = _colours(keys[np.argsort(-counts)[:256]])
    nearest = [((kept - each) ** 2).sum(axis=1).argmin() for each in _colours(keys)]
    indices = np.array(nearest, dtype=np.uint8)[places.reshape(pixels.shape[:2])]
    write_png(path, indices, kept.astype(np.uint8).tobytes())


def _colours(keys: np.ndarray) -> np.ndarray:
    """Return red, green and blue of colours that are one number each."""
    return np.stack([keys >> 16 & 255, keys >> 8 & 255, keys & 255], axis=1)


def main() -> None:
    """Draw all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("-o", "--output", type=Path, default=IMAGES)
    chosen = parser.parse_args()
    for name in chosen.names or PICTURES:
        path = chosen.output / f"mechanism-{name}.png"
        write_small(path, picture(PICTURES[name]()))
        size = path.stat().st_size
        sys.stdout.write(f"{path.name}: {size} bytes\n")
        if size > MOST_BYTES:
            sys.exit(f"{path.name} has {size} bytes, more than {MOST_BYTES}")


if __name__ == "__main__":
    main()
