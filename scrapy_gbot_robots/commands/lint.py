"""Run `scrapy robots lint FILE|URL...`, which shows the mistakes in robots.txt files.

`core.lint` finds the mistakes. This module reads the files, writes the findings as text or JSON
Lines, and decides the exit status. The most severe findings come first.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..core.lines import split_lines
from ..core.lint import findings
from ..core.remarks import ERROR, KINDS, LEVELS, NOTE, WARNING, Finding
from ..counts import plural
from ..experimental.preferences import on_preferences
from .ending import FAILED, FINE, FOUND, CommandError
from .inputs import SOURCE, add_shared, fetched, version_of
from .output import Terminal, printable
from .world import RobotsFile, World

if TYPE_CHECKING:
    from .sites import RobotsState

_STYLES = {ERROR: "bad", WARNING: "warning", NOTE: "faint"}
_PAGE = "https://scrapy-gbot-robots.readthedocs.io/lint/"
_TRY = "https://scrapy-gbot-robots.readthedocs.io/try/"
# The keys are the words that the option `--fail-on` accepts: the IDs of the kinds of finding, and
# the levels. Each value lists the names of the kinds that the word stands for. A level also stands
# for more severe levels: "warning" stands for all warnings and errors.
_TO_FAIL_ON: dict[str, list[str]] = {}
# The option `--ignore` accepts the same words. But here, a level also stands for milder levels:
# "warning" stands for all warnings and notes, so errors stay in the output.
_TO_IGNORE: dict[str, list[str]] = {}
for _index, _level in enumerate(LEVELS):
    _worse, _milder = LEVELS[: _index + 1], LEVELS[_index:]
    _TO_FAIL_ON[_level] = [kind.name for kind in KINDS.values() if kind.level in _worse]
    _TO_IGNORE[_level] = [kind.name for kind in KINDS.values() if kind.level in _milder]
for _kind in KINDS.values():
    _TO_FAIL_ON[_kind.id] = _TO_IGNORE[_kind.id] = [_kind.name]
_IDS = {kind.name: kind.id for kind in KINDS.values()}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.epilog = (
        f"Levels, and kinds of finding: {', '.join(_TO_IGNORE)}. What each means: {_PAGE}"
    )
    parser.add_argument("sources", nargs="+", **SOURCE)
    add_shared(parser, "--json")
    parser.add_argument(
        "--fail-on",
        type=_kinds_to_fail_on,
        default=WARNING,
        metavar="LEVEL|KIND,...",
        help="end with status 1 only for these kinds of finding; "
        "a level stands for its kinds and all worse ones (default: warning)",
    )
    parser.add_argument(
        "--ignore",
        type=_kinds_to_ignore,
        action="extend",
        default=[],
        metavar="LEVEL|KIND,...",
        help="leave these kinds of finding out; "
        "a level stands for its kinds and all milder ones, so note leaves out notes only",
    )


def _kinds_to_fail_on(text: str) -> list[str]:
    return _kinds(text, _TO_FAIL_ON)


def _kinds_to_ignore(text: str) -> list[str]:
    return _kinds(text, _TO_IGNORE)


def _kinds(text: str, named: Mapping[str, list[str]]) -> list[str]:
    """Return the names of the kinds of finding that the user has chosen with an option.

    `text` is the value of the option, with commas between words. For each word that the option
    accepts, `named` contains the names of the kinds that the word stands for.

    Raises:
        ArgumentTypeError: a word in `text` is not in `named`.
    """
    kinds: list[str] = []
    for word in text.lower().split(","):
        of_word = named.get(word.strip().replace(" ", "-"))
        if of_word is None:
            hint = f"there are {', '.join(named)}"
            if nearest := get_close_matches(word, named, n=1):
                hint = f"did you mean {nearest[0]}?"
            raise ArgumentTypeError(f'unknown level or kind "{word}"; {hint}')
        kinds += of_word
    return kinds


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Write the findings, and return the exit status.

    The status is FAILED if a file or the robots.txt of a site cannot be read. Otherwise it is FOUND
    if there is a finding of a kind in `--fail-on`, and FINE if there is none.
    """
    reported: list[Finding] = []
    has_failed = False
    # A source that the user names twice is read once, because standard input can be read only once.
    names = dict.fromkeys(options.sources)
    states = fetched(names, world, err)
    for name in names:
        try:
            source = version_of(name, states, may_lack=False)
        except CommandError as error:
            err.say((f"error: {error}", "bad"))
            has_failed = True
            continue
        every = findings(
            source.body,
            max_bytes=world.max_bytes,
            cut=source.is_cut,
            site=source.origin,
            more=on_preferences,
        )
        of_source = [finding for finding in every if finding.kind not in options.ignore]
        _write(source, of_source, len(every) - len(of_source), out)
        reported += of_source
    if reported:
        kinds = {finding.kind for finding in reported}
        anchor = f"#{_IDS[reported[0].kind]}" if len(kinds) == 1 else ""
        out.say((f"What to do: {_PAGE}{anchor} Try a change: {_TRY}", "faint"))
    if has_failed:
        return FAILED
    is_bad = any(finding.kind in options.fail_on for finding in reported)
    return FOUND if is_bad else FINE


def _write(
    source: RobotsFile | RobotsState, reported: Sequence[Finding], left_out: int, out: Terminal
) -> None:
    """Write out what was found in one robots.txt.

    In the text for people, each finding ends with the ID of its kind, which `--ignore` accepts. The
    line of the robots.txt is shown below the finding. The last line of the output shows how many
    findings each level has, and how many findings `--ignore` has left out.
    """
    lines = split_lines(source.body)
    for finding in reported:
        out.json({"source": printable(source.where), **finding._asdict()})
        style, where = _STYLES[finding.level], f"{source.where}:{finding.line}: "
        kind = f"[{_IDS[finding.kind]}]"
        out.say((where, "strong"), (finding.level, style), f": {finding.text} ", (kind, "faint"))
        out.excerpt(lines, {finding.line: ("", style)})
    levels = Counter(finding.level for finding in reported)
    counted = [plural(levels[level], level) for level in LEVELS if levels[level]]
    ending = f" ({plural(left_out, 'finding')} left out)" if left_out else ""
    out.say((source.where, "strong"), ": ", ", ".join(counted) or ("clean", "good"), ending)
