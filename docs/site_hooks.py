"""Hooks of the documentation site.

On the site, a link out of docs/ leads to the repository. A public name that no docs/api*.md lists is added to docs/api.md.
The link to the repository does not ask GitHub for its stars.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import scrapy_gbot_robots

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_OUT = re.compile(r"\]\(\.\./([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the Markdown of a page with both changes."""
    if page.file.src_uri == "api.md":
        pages = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("api*.md")]
        listed = "\n".join(pages)
        placed = set(re.findall(r"^::: scrapy_gbot_robots\.(\w+)$", listed, re.MULTILINE))
        others = [
            f"\n\n::: scrapy_gbot_robots.{name}"
            for name in scrapy_gbot_robots.__all__
            if name not in placed
        ]
        markdown += "\n\n## Other names" + "".join(others) if others else ""
    return _OUT.sub(rf"]({config.repo_url}/blob/main/\1)", markdown)


def on_post_page(output: str, **_: object) -> str:
    """Return a page without the mark that lets the theme's script ask GitHub about the repository."""
    return output.replace(' data-md-component="source"', "")
