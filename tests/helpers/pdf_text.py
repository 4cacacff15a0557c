"""The text of each page of a PDF that Chromium wrote, with the standard library alone."""

import re
import zlib

_OBJECT = re.compile(rb"(\d+) 0 obj\b(.*?)\bendobj", re.DOTALL)
_STREAM = re.compile(rb"(.*?)stream\r?\n(.*)endstream", re.DOTALL)


def pages_text(data: bytes) -> list[str]:
    """Return the text of each page, without its spaces: these are left out where text is positioned."""
    objects = {int(number): body for number, body in _OBJECT.findall(data)}
    maps = {
        number: _characters(_unpacked(body))
        for number, body in objects.items()
        if b"beginbfchar" in _unpacked(body) or b"beginbfrange" in _unpacked(body)
    }
    pages = [body for body in objects.values() if re.search(rb"/Type\s*/Page\b", body)]
    return [_page_text(body, objects, maps) for body in pages]


def _unpacked(body: bytes) -> bytes:
    """Return the stream of an object, or nothing."""
    found = _STREAM.match(body)
    if found is None:
        return b""
    head, content = found.groups()
    return zlib.decompressobj().decompress(content) if b"FlateDecode" in head else content


def _characters(text: bytes) -> dict[int, str]:
    """Return what the glyphs of a font mean."""
    found: dict[int, str] = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", text, re.DOTALL):
        for glyph, meaning in re.findall(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>", block):
            found[int(glyph, 16)] = bytes.fromhex(meaning.decode()).decode("utf-16-be", "replace")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", text, re.DOTALL):
        for first, last, meaning in re.findall(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>", block):
            for place, glyph in enumerate(range(int(first, 16), int(last, 16) + 1)):
                found[glyph] = chr(int(meaning, 16) + place)
    return found


def _page_text(page: bytes, objects: dict[int, bytes], maps: dict[int, dict[int, str]]) -> str:
    """Return the text that a page's content shows, in the fonts of its resources."""
    fonts = {}
    for name, number in re.findall(rb"/(F\d+)\s+(\d+) 0 R", _with_references(page, objects)):
        unicode = re.search(rb"/ToUnicode\s+(\d+) 0 R", objects.get(int(number), b""))
        if unicode is not None:
            fonts[name] = maps.get(int(unicode[1]), {})
    content = b"".join(_unpacked(objects[int(number)]) for number in _contents(page))
    said, font = [], {}
    for name, shown in re.findall(rb"/(F\d+)\s+[\d.]+\s+Tf|<([0-9A-Fa-f]+)>", content):
        if name:
            font = fonts.get(name, {})
        else:
            glyphs = [int(shown[place : place + 4], 16) for place in range(0, len(shown), 4)]
            said.append("".join(font.get(glyph, "?") for glyph in glyphs))
    return re.sub(r"\s", "", "".join(said))


def _with_references(page: bytes, objects: dict[int, bytes]) -> bytes:
    """Return a page with the objects of its resources written out."""
    found = re.search(rb"/Resources\s+(\d+) 0 R", page)
    return page if found is None else objects[int(found[1])]


def _contents(page: bytes) -> list[bytes]:
    """Return the numbers of a page's content streams."""
    found = re.search(rb"/Contents\s*(\[[^\]]*\]|\d+ 0 R)", page)
    return [] if found is None else re.findall(rb"(\d+) 0 R", found[1])
