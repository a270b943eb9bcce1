"""Draws the pictures of ARCHITECTURE.md: `python docs/images/draw.py` writes rooms.svg and ways.svg beside itself.

The rooms come from the table of tests/test_doors.py, and a test compares the pictures with the
code.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.test_doors import DOORS  # noqa: E402  it is no package that is installed

_WORDS = ["settings", "signals", "exceptions"]  # drawn as one
_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#12343b}.s{font-size:12px;fill:#47656b}.h{font-weight:600}"
    "rect{fill:#fff;stroke:#00796b;rx:6}.pure{fill:#e0f2f1}.out{fill:#fff8e1;stroke:#b28704}"
    ".back{fill:#fafdfc;stroke:none;rx:10}path{stroke:#47656b;fill:none;marker-end:url(#a)}.head{fill:#47656b;stroke:none;marker-end:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e0e6e8}.s{fill:#a9bcc1}rect{fill:#263238;stroke:#4db6ac}"
    ".pure{fill:#1b4a45}.out{fill:#4a3d12;stroke:#e0b040}.back{fill:#1c2326}path{stroke:#a9bcc1}.head{fill:#a9bcc1}}"
)
_ARROW = (
    '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8z" class="head"/></marker>'
)
_PURE = {"core", "policy"}


def rooms() -> str:
    """The rooms, each as high as the highest that it imports, and one more."""
    doors = {
        _drawn(room): {_drawn(other) for other in known} - {_drawn(room)}
        for room, known in DOORS.items()
    }
    levels: dict[str, int] = {}
    for room, known in doors.items():  # from the ground up
        levels[room] = 1 + max((levels[other] for other in known), default=-1)
    top = max(levels.values())
    parts = []
    for level in range(top, -1, -1):
        row = [room for room in doors if levels[room] == level]
        y, width = 44 + (top - level) * 62, (760 - 12 * (len(row) - 1)) // len(row)
        for at, room in enumerate(row):
            kind = "pure" if room in _PURE else ""
            name, text = (
                (", ".join(_WORDS[:2]) + ",", ", ".join(_WORDS[2:])) if "," in room else (room, "")
            )
            parts.append(_box(20 + at * (width + 12), y, width, 46, name, text, kind))
        if level:
            parts.append(f'<path d="M400 {y + 48}v12"/>')
    key = '<text x="20" y="26" class="s">Imports lead down only. Shaded: pure, no network and no Scrapy.</text>'
    return _svg(800, 56 + (top + 1) * 62, "The rooms of the package", [key, *parts])


def _drawn(room: str) -> str:
    return ", ".join(_WORDS) if room in _WORDS else room


def ways() -> str:
    """The way of a request, and the way of a body."""
    asked = [
        ("Request", "of a page", "out"),
        ("Origin", "scheme, host, port", "pure"),
        ("room", "waits for its answer", ""),
        ("Lookup", "answers", ""),
    ]
    known = [
        ("memory", "parsed answers", ""),
        ("storage", "SQLite, Redis", ""),
        ("one shared fetch", "fetching", ""),
        ("policy", "what it means now", "pure"),
    ]
    ended = [
        ("forbidden", "ForbiddenByRobotsTxt", "out"),
        ("goes on", "to the downloader", "out"),
        ("Verdict", "rule, line, reason", "pure"),
        ("middleware", "obeying", ""),
    ]
    body = [
        ("bytes", "from the server", "out"),
        ("decoding", "of at most 500 KiB", "pure"),
        ("fast reader", "groups of one crawler", "pure"),
        ("rules", "tried, or indexed", "pure"),
    ]
    lines = [
        ("sitemap lines", "absolute URLs", "pure"),
        ("discovery", "checks and counts", ""),
        ("feed", "to the crawl", ""),
        ("spider", "parses the files", "out"),
    ]
    parts = [
        '<text x="20" y="28" class="h">The way of a request</text>',
        *_row(44, asked),
        '<path d="M700 98v22H100v26"/>',
        *_row(150, known),
        '<path d="M700 204v48"/>',
        *_row(256, ended, arrows=False),
        '<path d="M608 282h-14"/>',
        '<path d="M408 282h-14"/>',
        '<path d="M500 310v12H100v-10"/>',
        '<text x="20" y="356" class="h">The way of a body</text>',
        *_row(370, body),
        '<path d="M300 424v14H100v12"/>',
        *_row(454, lines),
    ]
    return _svg(800, 524, "The way of a request, and the way of a body", parts)


def _row(y: int, boxes: list[tuple[str, str, str]], *, arrows: bool = True) -> list[str]:
    """Boxes from left to right, with arrows between them."""
    parts = [
        _box(10 + at * 200, y, 180, 52, name, text, kind)
        for at, (name, text, kind) in enumerate(boxes)
    ]
    between = [f'<path d="M{192 + at * 200} {y + 26}h14"/>' for at in range(len(boxes) - 1)]
    return [*parts, *between] if arrows else parts


def _box(x: int, y: int, width: int, height: int, name: str, text: str = "", kind: str = "") -> str:
    middle = x + width // 2
    lines = f'<text x="{middle}" y="{y + (21 if text else 28)}" text-anchor="middle">{escape(name)}</text>'
    if text:
        lines += (
            f'<text x="{middle}" y="{y + 38}" class="s" text-anchor="middle">{escape(text)}</text>'
        )
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{kind}"/>{lines}'


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    back = f'<rect width="{width}" height="{height}" class="back"/>'
    return (
        "\n".join(
            [
                head,
                f"<title>{title}</title>",
                f"<style>{_STYLE}</style>",
                _ARROW,
                back,
                *parts,
                "</svg>",
            ]
        )
        + "\n"
    )


DRAWINGS = {"rooms.svg": rooms, "ways.svg": ways}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (HERE / name).write_text(draw(), encoding="utf-8")
