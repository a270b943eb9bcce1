"""Makes the screenshots from the example project: `python docs/images/screenshots.py` writes all pictures beside it.

Needs Chromium.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "example_project"
sys.path.insert(0, str(EXAMPLE))

from example.site import SHOP_ROBOTS_TXT  # noqa: E402  the example is no package that is installed

_CHROMIUM = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --blink-settings=preferredColorScheme=0"
).split()
_SCRAPY = [sys.executable, "-m", "scrapy"]
_CSS = {
    "32": "color:#6fd08c",
    "1;31": "color:#ff8a80;font-weight:700",
    "33": "color:#e6b450",
    "2": "color:#9aa5a8",
    "1": "font-weight:700",
}
_COMMANDS = (
    ["robots", "check", "/cart/clogs", "--as", "examplebot", "--robots", "robots.txt"],
    ["robots", "lint", "robots.txt"],
)


def main() -> None:
    """Make all."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        report, summary, commands = (
            place / f"{name}.html" for name in ("report", "summary", "command")
        )
        crawl = [*_SCRAPY, "crawl", "demo", "-L", "INFO", "-s", f"GBOT_ROBOTS_REPORT={report}"]
        log = subprocess.run(crawl, cwd=EXAMPLE, check=True, capture_output=True, text=True).stderr
        _shoot(report, HERE / "report.png", 900, 780, place)
        summary.write_text(_page(_summary(log)), encoding="utf-8")
        _shoot(summary, HERE / "summary.png", 900, 172, place)
        commands.write_text(_page(_commands(place)), encoding="utf-8")
        _shoot(commands, HERE / "command.png", 900, 490, place)


def _summary(log: str) -> str:
    """What the log of the crawl says at its end."""
    found = re.search(r"robots\.txt: \d+ origins.*\n(?:  .*\n)+", log)
    return found[0] if found else ""


def _commands(place: Path) -> str:
    """What the commands write on a terminal, as HTML."""
    robots_txt = SHOP_ROBOTS_TXT.format(shop="https://shop.example").replace(
        "Disallow: /*?", "Disalllow: /*?"
    )
    (place / "robots.txt").write_text(robots_txt, encoding="utf-8")
    text = ""
    for command in _COMMANDS:
        text += f"\x1b[1m$ scrapy {' '.join(command)}\x1b[0m\n{_on_terminal(command, place)}\n"
    text = escape(text, quote=False)
    for code, style in _CSS.items():
        text = text.replace(f"\x1b[{code}m", f'<b style="font-weight:400;{style}">')
    return text.replace("\x1b[0m", "</b>")


def _page(inner: str) -> str:
    """A page that looks like a terminal. It is dark, so that no reader's dark page has a white box."""
    style = "margin:0;padding:18px;white-space:pre-wrap;color:#e4e9ea;font:13.5px/1.35 ui-monospace,'DejaVu Sans Mono',monospace"
    head = '<!doctype html><meta charset="utf-8"><title>command</title><body style="margin:0;background:#1c2326">'
    return f'{head}<pre style="{style}">{inner}</pre>'


def _on_terminal(command: list[str], place: Path) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "110"}
    with subprocess.Popen(
        [*_SCRAPY, *command], cwd=place, stdout=theirs, stderr=theirs, env=environment
    ):
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # what Linux says when the other side closed the terminal
            pass
    os.close(ours)
    return written.decode().replace("\r\n", "\n").rstrip()


def _shoot(page: Path, picture: Path, width: int, height: int, place: Path) -> None:
    profile = f"--user-data-dir={place / picture.stem}"
    size = [f"--window-size={width},{height}", f"--screenshot={picture}"]
    chromium = shutil.which("chromium") or "chromium"
    subprocess.run(
        [chromium, *_CHROMIUM, profile, *size, page.as_uri()], check=True, capture_output=True
    )


if __name__ == "__main__":
    main()
