"""Spiders whose own ADDONS leave the add-on out: `scrapy robots` names them, and imports none."""

from pathlib import Path

import pytest

from scrapy_gbot_robots.commands.spiders import without_add_on

from ..support.command import project, run
from ..support.rows import row, table

__all__ = ["project"]

OTHER, OURS = '"scrapy_zyte_api.Addon": 500', '"scrapy_gbot_robots.Addon": 500'


@table(
    "body, is_told",
    row("other", f'custom_settings = {{"ADDONS": {{{OTHER}}}}}', True),
    row("empty", 'custom_settings = {"ADDONS": {}}', True),
    row("annotated", 'custom_settings: dict = {"ADDONS": {}}', True),
    row("ours", f'custom_settings = {{"ADDONS": {{{OURS}}}}}', False),
    row("both", f'custom_settings = {{"ADDONS": {{{OTHER}, {OURS}}}}}', False),
    row("other-path", 'custom_settings = {"ADDONS": {"scrapy_gbot_robots.addon.Addon": 1}}', False),
    row("class", 'custom_settings = {"ADDONS": {Addon: 500}}', False),
    row("module", 'custom_settings = {"ADDONS": {gbot.Addon: 500}}', False),
    row("merged", f'custom_settings = {{"ADDONS": {{**ADDONS, {OTHER}}}}}', False),
    row("computed", 'custom_settings = {"ADDONS": add_ons()}', False),
    row("no-add-ons", 'custom_settings = {"ROBOTSTXT_OBEY": True}  # ADDONS', False),
    row("no-dict", "custom_settings = None  # ADDONS", False),
)
def test_spider_that_leaves_the_add_on_out_is_named_and_not_imported(
    body: str, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"spiders_{tmp_path.name}"
    (tmp_path / package).mkdir()
    for name in ("__init__", "broken"):
        (tmp_path / package / f"{name}.py").write_text("" if name == "__init__" else "ADDONS = (")
    source = f'raise SystemExit("imported")\nclass Shop(Spider):\n    name = "shop"\n    {body}\n'
    (tmp_path / package / "shop.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    told = [*without_add_on([package, "no.such.module"])]
    assert len(told) == is_told
    for text in told:
        assert text.startswith('custom_settings["ADDONS"] of Shop in shop.py, line 2, replaces')
        assert "scrapy_gbot_robots.Addon" in text


@table("path", "scrapy_gbot_robots.Addon", "scrapy_gbot_robots.addon.Addon")
def test_command_names_it_where_the_project_has_the_add_on(path: str, project: Path) -> None:
    (module,) = project.rglob("settings.py")
    spiders = module.parent / "own_spiders.py"
    spiders.write_text('class Shop:\n    custom_settings = {"ADDONS": {}}\n')
    added = f'\nSPIDER_MODULES = ["{module.parent.name}.own_spiders"]\nADDONS = {{"{path}": 1}}\n'
    module.write_text(module.read_text() + added)
    (project / "r.txt").write_text("User-agent: *\n")
    ended = run("check", "/x", "--robots", "r.txt", cwd=project)
    assert 'note: custom_settings["ADDONS"] of Shop in own_spiders.py, line 1, ' in ended.err


@table(
    "settings, is_told",
    row("off", 'GBOT_ROBOTS_ENABLED = False\nADDONS = {"scrapy_gbot_robots.Addon": 1}\n', True),
    row("on", 'GBOT_ROBOTS_ENABLED = True\nADDONS = {"scrapy_gbot_robots.Addon": 1}\n', False),
    row("without-effect", "GBOT_ROBOTS_ENABLED = False\nADDONS = {}\n", False),
)
def test_command_says_that_crawls_do_not_use_the_plugin(
    settings: str, is_told: bool, project: Path
) -> None:
    (module,) = project.rglob("settings.py")
    module.write_text(f"{module.read_text()}\n{settings}")
    (project / "r.txt").write_text("User-agent: *\n")
    ended = run("check", "/x", "--robots", "r.txt", cwd=project)
    note = "note: GBOT_ROBOTS_ENABLED is False, so a crawl of this project does not use the plugin"
    assert ended.err.count(note) == is_told
    assert (ended.status, "plugin" in ended.out) == (0, False)
