"""The overrides of a crawl, read once from the settings and the files that they name."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.robots import RobotsTxt
from ..policy.overrides import SETTING, Overrides, json_of, read_overrides
from ..settings import path_of

if TYPE_CHECKING:
    from ..settings import GbotSettings


def overrides_of(gbot: GbotSettings) -> Overrides:
    """Read the overrides, and the files that they name, once.

    Raises:
        ValueError: an override is wrong, or a file cannot be read; the message names the setting, the rule and the value.
    """
    value = _content(gbot.overrides) if isinstance(gbot.overrides, Path) else gbot.overrides
    parse = partial(RobotsTxt.parse, strict=gbot.strict, max_bytes=gbot.max_bytes)
    return read_overrides(value, partial(_beginning, gbot.max_bytes + 1), parse)


def _content(path: Path) -> Any:
    """Return the content of a .toml or .json file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json_of(text) if path.suffix.lower() == ".json" else _toml().loads(text)
    except (OSError, ValueError, RecursionError) as error:  # JSON, TOML and UTF-8 errors are ValueErrors
        raise ValueError(f"{SETTING} must name a file that can be read, got {str(path)!r}: {error}") from error


def _toml() -> Any:
    try:
        import tomllib  # noqa: PLC0415  Python 3.11 and newer
    except ImportError:
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef]  # noqa: PLC0415
        except ImportError:
            raise ValueError("Python 3.10 reads TOML only with `pip install tomli`; or use JSON") from None
    return tomllib


def _beginning(most_bytes: int, path: str) -> bytes:
    with path_of(path).open("rb") as file:
        return file.read(most_bytes)
