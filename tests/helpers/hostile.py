"""Model files taken apart and put together again."""

import io
import zipfile
from pathlib import Path

from helpers.saved import small_saved
from lapwing.release.files import save_release

Entries = dict[str, bytes]


def good_entries(tmp_path: Path) -> Entries:
    """Return the entries of a small model file."""
    save_release(small_saved(), tmp_path / "good.lapwing")
    with zipfile.ZipFile(tmp_path / "good.lapwing") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: Entries, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of entries, all packed by one method."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return stream.getvalue()
