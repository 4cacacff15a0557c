"""The check of the built site finds what it is there to find."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.source_tree import ROOT

HOME = (
    '<html><body><nav class="md-nav md-nav--primary"><a href="index.html">Home</a><a href="a/page.html">Page</a></nav>'
    '<h1 id="top">Home</h1><a href="a/page.html#part">Part</a><img src="p.png" alt="A picture">{}</body></html>'
)
PAGE = '<html><body><h2 id="part">Part</h2><a href="../index.html#top">up</a><a href="#part">here</a></body></html>'


def checked(site: Path, extra: str = "", style: str = "") -> subprocess.CompletedProcess[str]:
    (site / "a").mkdir()
    (site / "index.html").write_text(HOME.format(extra), encoding="utf-8")
    (site / "a" / "page.html").write_text(PAGE, encoding="utf-8")
    (site / "p.png").write_bytes(b"")
    (site / "s.css").write_text(style, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "check_site.py"), str(site)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)


def test_a_sound_site_passes_and_links_to_elsewhere_are_listed(tmp_path: Path) -> None:
    done = checked(tmp_path, '<a href="https://example.org/paper">paper</a><a href="mailto:a@example.org">mail</a>')

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["2 pages, 1 links to elsewhere:", "  https://example.org/paper"]


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('<a href="gone.html">x</a>', "broken link gone.html"),
        ('<a href="a/page.html#gone">x</a>', "broken link a/page.html#gone"),
        ('<a href="#gone">x</a>', "broken link #gone"),
        ('<a href="/a/page.html">x</a>', "broken link /a/page.html"),
        ('<a href="../outside.html">x</a>', "broken link ../outside.html"),
        ('<script src="https://example.org/x.js"></script>', "asks for https://example.org/x.js"),
        ('<script src="//example.org/x.js"></script>', "asks for //example.org/x.js"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "asks for https://example.org/x.css"),
        ('<link rel="preconnect" href="https://example.org">', "asks for https://example.org"),
        ('<p style="background: url(https://example.org/b.png)">x</p>', "asks for https://example.org/b.png"),
        ("<style>@import 'https://example.org/x.css';</style>", "asks for https://example.org/x.css"),
        ('<img src="https://example.org/x.png" alt="x">', "asks for https://example.org/x.png"),
        ('<img src="gone.png" alt="x">', "asks for gone.png, which is not there"),
        ('<img src="p.png">', "an image without a text, p.png"),
        ('<img src="p.png" alt=" ">', "an image without a text, p.png"),
        ('<pre class="mermaid">x</pre>', "mermaid would have the theme's script fetch something"),
    ],
)
def test_what_is_planted_is_found(tmp_path: Path, extra: str, said: str) -> None:
    done = checked(tmp_path, extra)

    assert done.returncode == 1
    assert f"index.html: {said}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_font_of_a_style_sheet_from_elsewhere_is_found(tmp_path: Path) -> None:
    done = checked(tmp_path, style="@font-face {src: url('https://example.org/f.woff2')}")

    assert (done.returncode, done.stderr) == (1, "s.css: asks for https://example.org/f.woff2 when it is opened\n")


def test_a_page_that_no_contents_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "lost.html").write_text("<html></html>", encoding="utf-8")

    assert checked(tmp_path).stderr == "lost.html: not in the table of contents\n"
