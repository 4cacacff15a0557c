"""Pictures without a plotting library: numbers in, a small PNG with 256 colours out."""

import struct
import zlib
from pathlib import Path

import numpy as np

ANCHORS = np.array(
    [(255, 255, 255), (253, 231, 37), (94, 201, 98), (33, 145, 140), (59, 82, 139), (68, 1, 84)], dtype=np.float64
)
"""White for nothing, then the colours of viridis from light to dark."""


def palette() -> bytes:
    """Return 256 colours, red, green and blue byte each."""
    places = np.linspace(0, len(ANCHORS) - 1, 256)
    channels = [np.interp(places, np.arange(len(ANCHORS)), ANCHORS[:, channel]) for channel in range(3)]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8).tobytes()


def shades(density: np.ndarray, top: float) -> np.ndarray:
    """Return one palette index per cell: the logarithm of the density, 0 for none, 255 for ``top`` and above."""
    return np.rint(255 * np.clip(np.log1p(density) / np.log1p(top), 0, 1)).astype(np.uint8)


def side_by_side(panels: list[np.ndarray], gap: int = 8) -> np.ndarray:
    """Return panels of equal height in one row, with a dark line's width of space between them."""
    space = np.full((panels[0].shape[0], gap), 255, dtype=np.uint8)
    parts = [part for panel in panels for part in (space, panel)]
    return np.concatenate(parts[1:], axis=1)


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Write palette indices, uint8, shape (height, width), first row at the top."""
    height, width = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), pixels], axis=1)
    body = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data)) for tag, data in body
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
