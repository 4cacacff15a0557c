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


def write_png(path: Path, pixels: np.ndarray, colours: bytes | None = None) -> None:
    """Write palette indices, uint8, shape (height, width), first row at the top; by default in the colours above."""
    height, width = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), pixels], axis=1)
    body = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette() if colours is None else colours),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data)) for tag, data in body
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def read_png(data: bytes) -> np.ndarray:
    """Return the pixels of a picture with 8 bits a channel, as vl-convert makes it: uint8, shape (height, width, 4)."""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    if (depth, kind) != (8, 6):
        raise ValueError(f"only pictures of red, green, blue and alpha are read, not depth {depth} and kind {kind}")
    parts, at = [], 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"IDAT":
            parts.append(data[at + 8 : at + 8 + size])
        at += size + 12
    lines = np.frombuffer(zlib.decompress(b"".join(parts)), dtype=np.uint8).reshape(height, 1 + 4 * width)
    pixels = np.zeros((height + 1, width + 1, 4), dtype=np.int64)  # a line and a column of zeros come first
    for row, (kind, *line) in enumerate(lines.tolist(), 1):
        _unfilter(kind, np.array(line).reshape(width, 4), pixels[row - 1], pixels[row])
    return pixels[1:, 1:].astype(np.uint8)


def _unfilter(kind: int, line: np.ndarray, above: np.ndarray, out: np.ndarray) -> None:
    """Undo one line's filter: 0 none, 1 left, 2 above, 3 their mean, 4 whichever of the three is nearest (Paeth)."""
    if kind < 3:
        start = np.cumsum(line, axis=0) if kind == 1 else line + (above[1:] if kind == 2 else 0)
        out[1:] = start & 255
        return
    for place, each in enumerate(line, 1):
        left, top, corner = out[place - 1], above[place], above[place - 1]
        if kind == 3:
            out[place] = (each + (left + top) // 2) & 255
            continue
        far = np.abs(np.stack([top - corner, left - corner, left + top - 2 * corner]))
        nearest = np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], top, corner))
        out[place] = (each + nearest) & 255
