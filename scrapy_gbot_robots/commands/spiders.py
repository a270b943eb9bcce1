"""Finds spiders whose `custom_settings` contain ADDONS without this plugin's add-on.

These ADDONS replace the ADDONS of the project. So a crawl of the spider runs none of the plugin's
code, and the plugin cannot warn of the mistake in the log. Therefore the command warns of it.

The files of spiders are parsed, but not imported. So ADDONS are found only if they are written as a
dict in the class of the spider.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

ADD_ON_PATHS = ("scrapy_gbot_robots.Addon", "scrapy_gbot_robots.addon.Addon")
# A spider may name the add-on by a path, or by the name of the imported class.
_ADD_ON = (*ADD_ON_PATHS, "Addon")


def without_add_on(modules: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each spider class in `modules` that has `ADDONS` without the add-on."""
    for path in _files(modules):
        for node in ast.walk(_tree_of(path)):
            if isinstance(node, ast.ClassDef) and _leaves_it_out(node):
                yield (
                    f'custom_settings["ADDONS"] of {node.name} in {path.name}, line {node.lineno}, '
                    "replaces the ADDONS of the project: that spider obeys robots.txt as Scrapy "
                    'alone does. To use the plugin, repeat "scrapy_gbot_robots.Addon": 500 there'
                )


def _tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file that contains "ADDONS"; an empty tree for other files."""
    # If the file cannot be read or parsed, Scrapy reports the error when it imports the file.
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        source = path.read_bytes()
        if b"ADDONS" in source:
            return ast.parse(source)
    return ast.Module([], [])


def _files(modules: Iterable[str]) -> Iterator[Path]:
    for module in modules:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            continue
        if spec is None:
            continue
        for folder in spec.submodule_search_locations or ():
            yield from sorted(Path(folder).rglob("*.py"))
        if not spec.submodule_search_locations and spec.origin is not None:
            yield Path(spec.origin)


def _leaves_it_out(spider: ast.ClassDef) -> bool:
    for statement in spider.body:
        target: ast.expr | None = None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        if getattr(target, "id", "") != "custom_settings":
            continue
        settings = getattr(statement, "value", None)
        add_ons = _value_of(settings, "ADDONS")
        if isinstance(add_ons, ast.Dict):
            return not any(map(_may_be_ours, add_ons.keys))
    return False


def _value_of(settings: object, name: str) -> ast.expr | None:
    """Return the value of the key `name` in the syntax tree of a dict; None if there is none."""
    if not isinstance(settings, ast.Dict):
        return None
    for key, value in zip(settings.keys, settings.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name:
            return value
    return None


def _may_be_ours(key: ast.expr | None) -> bool:
    """Return whether a key in the syntax tree of a dict may be the add-on.

    For a part such as `**other` in the dict, `key` is None. The keys of `other` are unknown, and
    one of them may be the add-on.
    """
    if isinstance(key, ast.Constant):
        return key.value in _ADD_ON
    if isinstance(key, ast.Name):
        return key.id in _ADD_ON
    return True
