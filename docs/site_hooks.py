"""Hooks of the documentation site.

On the site, a link out of docs/ leads to the repository. The link to the repository does not ask
GitHub for its stars. Python for browsers is laid out for the page "Try it", if npm has put it under
build/ (docs/maintaining.md says how); otherwise that page says that its form is missing.
The contents list beside the page of settings shows their names without "GBOT_ROBOTS_", because it
would cut longer names.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import idna
from mkdocs.exceptions import PluginError

from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_TRY = Path(__file__).parent / "try"
_PYODIDE = _TRY.parent.parent / "build" / "npm" / "node_modules" / "pyodide"
_SCRIPT = '<script type="module" src="try.js"></script>'
_SEARCH = 'data-md-component="search" role="dialog"'
_OUT = re.compile(r"\]\(\.\./([^)\s]+)\)")
_SETTING = re.compile(r"^#### `GBOT_ROBOTS_(\w+)`$", re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the Markdown of a page with the changes."""
    if page.file.src_uri == "try.md":
        options = "".join(f"<option>{crawler.tokens[0]}</option>" for crawler in KNOWN_CRAWLERS)
        markdown = markdown.replace("<!-- crawlers -->", options)
        if not _PYODIDE.exists():
            markdown = markdown.replace(_SCRIPT, "")
    markdown = _SETTING.sub(r'\g<0> { data-toc-label="\1" }', markdown)
    return _OUT.sub(rf"]({config.repo_url}/blob/main/\1)", markdown)


def on_post_page(output: str, **_: object) -> str:
    """Return a page that does not ask GitHub about the repository, and whose search has a name."""
    output = output.replace(' data-md-component="source"', "")
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')


def on_post_template(output_content: str, **_: object) -> str:
    """The same for the page that a wrong address leads to."""
    return on_post_page(output_content)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Lay out Python for the page "Try it"."""
    if _PYODIDE.exists():
        place = Path(config.site_dir, "try")
        folders = (_TRY.parent.parent, Path(idna.__file__).parent.parent, _TRY)
        subprocess.run(["node", _TRY / "lay_out.mjs", _PYODIDE, place, *folders], check=True)
    elif os.environ.get("CI") == "true" or "READTHEDOCS" in os.environ:
        raise PluginError(f'"Try it" needs {_PYODIDE}; docs/maintaining.md says how')
