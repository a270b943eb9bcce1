"""The documentation site: it builds without a warning, and loads nothing from elsewhere."""

import re
import struct
import zlib
from pathlib import Path

import pytest

from .support.documentation import HOME, blocks, text_of
from .support.documented_shell import run_block
from .support.site import built_site
from .support.web import free_port

pytestmark = pytest.mark.slow

DOCS = HOME / "docs"

_LOADS = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|icon|preconnect)[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|data-md-component="source\""""  # at which the theme's script asks GitHub
)


@pytest.fixture(scope="module")
def site() -> Path:
    return built_site()


def test_site_is_whole_and_loads_nothing_from_elsewhere(site: Path) -> None:
    assert (site / "search" / "search_index.json").stat().st_size > 100_000
    pages = {page.parent.name: page.read_text("utf-8") for page in site.rglob("index.html")}
    pages["404"] = (site / "404.html").read_text("utf-8")
    assert {page.stem for page in DOCS.glob("*.md")} - {"README"} <= set(pages)
    assert [name for name, page in pages.items() if _LOADS.search(page)] == []


def test_contents_list_of_the_settings_shows_names_that_fit(site: Path) -> None:
    page = (site / "settings" / "index.html").read_text("utf-8")
    contents = page.partition("md-nav--secondary")[2].partition("<article")[0]
    of_settings = r'href="#gbot_robots_(\w+)"[^>]*>\s*<span class="md-ellipsis">\s*(\w+)\s*</span>'
    shown = re.findall(of_settings, contents)
    assert len(shown) > 20
    assert [name for anchor, name in shown if name != anchor.upper()] == []


def test_no_page_is_too_long_to_read(site: Path) -> None:
    """In most other long pages, such as that of the settings, readers look things up."""
    for name in ("command", "semantics"):
        page = (site / name / "index.html").read_text("utf-8")
        article = page.partition("<article")[2].partition("</article")[0]
        assert len(re.sub(r"<[^>]*>", " ", article).split()) < 2_000, name


def test_no_picture_is_a_white_box_on_a_dark_page() -> None:
    pictures = sorted((DOCS / "images").glob("*.png"))
    assert len(pictures) == 3
    for picture in pictures:
        data = picture.read_bytes()
        at = data.index(b"IDAT")  # its length stands before it
        (length,) = struct.unpack(">I", data[at - 4 : at])
        first_row = zlib.decompressobj().decompress(data[at + 4 : at + 4 + length], 4)
        assert max(first_row[1:]) < 64, picture  # the first pixel, whatever the row's filter is


def test_tutorial_runs_from_its_first_command_to_its_last(tmp_path: Path) -> None:
    page = text_of("docs/tutorial.md")
    script = "\n".join(block.script for block in blocks(DOCS / "tutorial.md", "sh"))
    port = str(free_port())
    ended = run_block(script.replace("8765", port), tmp_path, {}, {})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    shown = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    log = (tmp_path / "shop" / "crawl.log").read_text(encoding="utf-8").replace(port, "8765")
    assert shown[0] in log
    assert shown[1] in ended.stdout.replace(port, "8765")
    assert 'unknown field "Disalllow"' in ended.stdout
    assert "clogs.html" in (tmp_path / "shop" / "pages.jsonl").read_text(encoding="utf-8")
    assert "1 origin forgotten" in ended.stdout


def test_the_address_of_the_repository_is_the_same_everywhere() -> None:
    """Until the repository is public the address is a placeholder, which setup.cfg marks."""
    (home,) = re.findall(r"^url = https://github\.com/(.*)$", text_of("setup.cfg"), re.MULTILINE)
    files = [*HOME.glob("*.md"), *HOME.glob("*.yml"), *DOCS.glob("*.md")]
    files += (HOME / ".github").rglob("*.yml")
    text = "".join(file.read_text("utf-8") for file in files)
    address = r"(?:github|githubusercontent)\.com/([\w.-]*scrapy-gbot-robots[\w.-]*/[\w-]+)"
    assert set(re.findall(address, text)) == {home}
