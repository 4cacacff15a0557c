"""Check the built site: ``python tools/check_site.py site`` (make docs); links to elsewhere are listed."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {**dict.fromkeys(("script", "img", "iframe", "source", "video", "audio", "embed", "track"), "src"),
          "object": "data", "image": "href", "use": "href"}  # fmt: skip
"""What a browser fetches by itself, and the attribute that says from where; `link` is told by its `rel`."""

FOLLOWED = {"alternate", "author", "canonical", "license", "next", "prev"}
"""What a `link` may be to that no browser fetches."""

LATE = {"mermaid": "class", "source": "data-md-component"}
"""Parts for which the theme's script would fetch something, and where they are named."""

_STYLE_URL = re.compile(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""")
_NOT_FOUND = "404.html"  # the one page that a server shows at any address, so its links start at the root


@dataclass(slots=True)
class Page:
    """What one page names."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)  # those links that are in the table of contents of the site
    loads: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)  # images without a text
    late: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Fill a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._navs: list[bool] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one element."""
        found = {name: value or "" for name, value in attrs}
        page = self.page
        page.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        page.late += [name for name, key in LATE.items() if name in found.get(key, "").split()]
        page.loads += _STYLE_URL.findall(found.get("style", ""))
        if tag == "nav":
            self._navs.append("md-nav--primary" in found.get("class", "").split())
        elif tag == "a" and found.get("href"):
            page.links.append(found["href"])
            page.contents += [found["href"]] * any(self._navs)
        elif tag == "link" and not FOLLOWED & set(found.get("rel", "").split()):
            page.loads.append(found.get("href", ""))
        elif tag == "img" and not found.get("alt", "").strip():
            page.untold.append(found.get("src", ""))
        if found.get(LOADED.get(tag, "")):
            page.loads.append(found[LOADED[tag]])
        page.loads += [each.split()[0] for each in found.get("srcset", "").split(",") if each.strip()]
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        """Leave one element."""
        if tag == "nav" and self._navs:
            self._navs.pop()
        self._in_style = False

    def handle_data(self, data: str) -> None:
        """Read a style sheet that is in the page."""
        if self._in_style:
            self.page.loads += _STYLE_URL.findall(data)


def read_site(site: Path) -> dict[str, Page]:
    """Return the pages by their paths in the site."""
    pages = {}
    for file in sorted(site.rglob("*.html")):
        reader = _Reader()
        reader.feed(file.read_text(encoding="utf-8"))
        pages[file.relative_to(site).as_posix()] = reader.page
    return pages


def faults(site: Path, pages: dict[str, Page]) -> Iterator[str]:
    """Yield one line for each fault."""
    listed = {_target("index.html", href)[0] for href in pages["index.html"].contents}
    for name, page in pages.items():
        if name not in (_NOT_FOUND, *listed):
            yield f"{name}: not in the table of contents"
        yield from (f"{name}: an image without a text, {src}" for src in page.untold)
        yield from (f"{name}: {what} would have the theme's script fetch something" for what in page.late)
        yield from (fault for href in page.loads for fault in _load_faults(site, name, href))
        yield from (f"{name}: broken link {href}" for href in page.links if not _resolves(site, pages, name, href))
    for file in sorted(site.rglob("*.css")):
        name, text = file.relative_to(site).as_posix(), file.read_text(encoding="utf-8")
        yield from (fault for href in _STYLE_URL.findall(text) for fault in _load_faults(site, name, href))


def external(href: str) -> bool:
    """Whether an address is on another host; `mailto:` and the like are nobody's host."""
    return bool(urlsplit(href).netloc)


def _load_faults(site: Path, name: str, href: str) -> Iterator[str]:
    if external(href):
        yield f"{name}: asks for {href} when it is opened"
    elif not urlsplit(href).scheme and not href.startswith("#") and not (site / _target(name, href)[0]).is_file():
        yield f"{name}: asks for {href}, which is not there"


def _resolves(site: Path, pages: dict[str, Page], name: str, href: str) -> bool:
    if urlsplit(href).scheme or external(href):
        return True
    target, anchor = _target(name, href)
    return (not anchor or anchor in pages[target].ids) if target in pages else (site / target).is_file()


def _target(name: str, href: str) -> tuple[str, str]:
    """Return the file in the site that a link on a page names, and the anchor in it."""
    parts = urlsplit(href)
    path = unquote(parts.path)
    if path.startswith("/") and name != _NOT_FOUND:
        return "outside of the folder", ""
    start = "" if path.startswith("/") else name.rpartition("/")[0]
    steps: list[str] = [step for step in start.split("/") if step]
    for step in path.strip("/").split("/"):
        if step == "..":
            steps[-1:] = [] if steps else ["outside of the folder"]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps) or "index.html" if path else name, unquote(parts.fragment)


def main(arguments: list[str]) -> int:
    """Print the links to elsewhere, and every fault; 1 where there is one."""
    site = Path(arguments[0])
    pages = read_site(site)
    elsewhere = sorted({href for page in pages.values() for href in page.links if external(href)})
    found = list(faults(site, pages))
    print(f"{len(pages)} pages, {len(elsewhere)} links to elsewhere:", *elsewhere, sep="\n  ")
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
