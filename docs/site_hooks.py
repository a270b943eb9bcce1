"""Hooks of the documentation site: a link that leads out of docs/ leads to the repository there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_OUT = re.compile(r"\]\(\.\./([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with such links rewritten."""
    return _OUT.sub(rf"]({config.repo_url}/blob/main/\1)", markdown)
