"""Find the lines of a robots.txt that may do harm, and sort the findings by severity.

remarks.py finds problems in single lines, and defines the kinds of findings with their texts. This
module adds the findings for which several lines must be compared. For example, it finds an allow
rule that has no effect, because a longer disallow rule matches the same paths. To find this out, it
makes one path from the pattern of the rule (`stand_in` in patterns.py). A pattern that matches this
path matches every path that the rule matches.

No verdict depends on a finding. The sources are RFC 9309, and Google's page and parser (lines.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from .crawlers import UserAgent
from .known_crawlers import SEARCH_ENGINES, known_name, may_ignore
from .lines import (
    EMPTY,
    GLOBAL,
    IS_COMMENT,
    MAX_BYTES,
    UNKNOWN,
    USER_AGENT,
    Line,
    is_web_page,
    without_bom,
)
from .other_parsers import read_otherwise
from .patterns import NO_RULE, covers, decider, directory_of_index, line_of, precedence_of, stand_in
from .remarks import (
    FOR_GOOGLE,
    KINDS,
    LICENSE,
    NOTE,
    OF_GROUPS,
    RULES,
    Finding,
    finding,
    is_policy,
    name_of,
    nearest_field,
    on_lines,
)
from .robots import (
    Group,
    RobotsTxt,
    groups_by_agent,
    groups_of,
    is_cut,
    lines_of,
    sitemap_lines_of,
)
from .rule_index import Index
from .rules import PATHS_BEGIN, closing_rule, entries_of
from .urls import Origin, shown
from .verdict import Rule

_RANKS = [*KINDS]  # The names of the kinds of findings. The most severe kind comes first.

# This matches the beginning of a string in UTF-16 or UTF-32. It is a byte-order mark, or an ASCII
# character with NUL bytes next to it.
_WIDE = re.compile(rb"\xff\xfe|(?:\0\0)?\xfe\xff|\0{0,3}[\t\n\r -~]\0")
# A seam is a line that seems to begin a group, but does not (see `_seams`). Each key is the kind of
# such a line. The value is a string for a finding. It explains why the line does not begin a group.
_SEAMS = {
    UNKNOWN: "is not a user-agent line",
    USER_AGENT: (
        "does not begin a new group (no Allow or Disallow line stands between it and the "
        "user agents above)"
    ),
}
_OF_ENGINES = chain.from_iterable(engine.tokens for engine in SEARCH_ENGINES.values())
_ENGINE_TOKENS = set(map(str.lower, _OF_ENGINES))
# The crawlers of two large search engines. A site that wants to be found by search engines does not
# shut them out on purpose.
_LARGE = {"Googlebot", "Bingbot"}
_ANY = UserAgent.of("*")
# If Bingbot has no group of its own, it follows the group of its predecessor msnbot. Microsoft
# stated this in 2010 (https://blogs.bing.com/webmaster/September-2010/Bingbot-is-coming-to-town).
_BINGBOT_OR_MSNBOT = UserAgent.of(("Bingbot", "msnbot"))
_MOST_SITEMAPS = 1_000  # Only this many sitemap lines of a file are checked.
# This matches a host that no crawler can reach. It is the developer's own machine, an example from
# the default settings of a tool, or a string that a program writes if a value is missing, such as
# "undefined".
_NOT_PUBLIC = re.compile(
    r"(?:.+\.)?localhost\.?|127(?:\.\d+){1,3}|0\.0\.0\.0|\[::1?\]"
    r"|(?:.+\.)?example\.(?:com|net|org|edu)|(?:www\.)?example(?:\.[a-z]+){1,2}"
    r"|undefined|null|none|nan|(?:.+\.)?your-?(?:domain|site|website|host|app|store|shop|blog|name)"
    r"(?:\..+)?"
)
# This matches a robots.txt directive anywhere in a line of a web page, as in "<pre>User-agent: *".
_DIRECTIVE = re.compile(rb"(?:user-agent|disallow)\s{0,9}:", re.IGNORECASE)
# This matches the end of a pattern for a query parameter, such as "*?name=" or "*?begin_". The
# groups of the expression are the separator before the parameter ("?", "&" or ""), the name of the
# parameter, and the "=" after the name, if there is one.
_PARAMETER = re.compile(r"\*([?&]?)([\w.%~\[\]-]+)(?:(=)[^?&=]*|\**)\Z")
_STYLE_OR_SCRIPT = re.compile(r"\.(?:css|[cm]?js)(?:[$*?]|\Z)", re.IGNORECASE)
# Folders with style sheets or scripts. Each row contains a regular expression for the path of the
# folder, and a pattern for the style sheets or scripts in the folder.
_FOLDERS = (
    ("/(?:css|stylesheets)/", "*.css"),
    ("/(?:js|javascripts?|_next/static)/", "*.js"),
    (r"/_nuxt/\Z", "*.js"),
    (r"/_next/\Z", "static/*.js"),
    (r"/wp-includes/\Z", "js/*.js"),
    (r"/wp-content/\Z", "themes/*.css"),
    (r"/wp-content/(?:themes|plugins)/\Z", "*.css"),
)

# The limit on the work of comparing patterns with paths, in units. Comparing one character of a
# pattern with one character of a path is one unit of work, and takes at most a quarter of a
# nanosecond.
_MOST_WORK = 20_000_000_000
# At most this many names of user agents are joined for a finding. The joined names are then cut to
# 200 characters, so more names would not be seen.
_MOST_SHOWN = 100
# Even the comparison of short texts takes some time. So the path and each pattern are counted as
# this many characters longer than they are.
_WORK_EACH = 200


def findings(
    body: bytes,
    *,
    max_bytes: int | None = MAX_BYTES,
    cut: bool = False,
    site: Origin | None = None,
    more: Callable[[RobotsTxt], Iterable[tuple[int, str, str]]] = lambda _: (),
) -> list[Finding]:
    """Return the findings in a robots.txt, sorted by severity and then by line number.

    The most severe findings come first. Any `body` is valid.

    Args:
        body: the bytes of the file.
        max_bytes: the limit on the size of the file, as in `RobotsTxt.parse`.
        cut: whether the server sent more bytes than `body` contains.
        site: the origin that served the file; None if it is not known.
        more: a function that takes the parsed file and returns further findings. Each of these
            findings is a tuple of a line number, the name of a kind of finding, and a string.
    """
    robotstxt = RobotsTxt.parse(body, max_bytes=max_bytes, cut=cut)
    other = no_robots_file(body, robotstxt)
    if other is not None:
        return [other]
    all_lines = lines_of(robotstxt)
    groups = groups_of(robotstxt)
    unsorted = {finding(line, kind, what=text) for line, kind, text in more(robotstxt)}
    lines_with_finding = {one.line for one in unsorted}
    disallowed = _disallowed_noindex(robotstxt) if b"noindex" in body.lower() else {}
    unsorted.update(disallowed.values())
    lines_with_finding.update(disallowed)
    for one in on_lines(all_lines, body[:max_bytes], cut=is_cut(robotstxt)):
        # A finding of `more` or `_disallowed_noindex` replaces the notes about the same line.
        if one.line in disallowed and one.kind == "noindex":
            continue
        if one.level != NOTE or one.line not in lines_with_finding:
            unsorted.add(one)
    unsorted.update(_on_groups(robotstxt, groups, all_lines))
    unsorted.update(_on_crawlers(groups, all_lines))
    unsorted.update(_on_sitemaps(robotstxt, site))
    unsorted.update(read_otherwise(body[:max_bytes], all_lines, groups))
    return sorted(unsorted, key=lambda one: (_RANKS.index(one.kind), one.line, one.text))


def _disallowed_noindex(robotstxt: RobotsTxt) -> dict[int, Finding]:
    """Return the findings about noindex lines for disallowed paths, by line number."""
    by_line: dict[int, Finding] = {}
    indexes: dict[tuple[str, ...], Index] = {}
    work_left = _MOST_WORK
    for line, raw, user_agents in robotstxt.fields("noindex"):
        if not user_agents or not raw.startswith(PATHS_BEGIN):
            continue
        first = user_agents[:1]
        if first not in indexes:
            entries = entries_of(robotstxt.rules_for(UserAgent(first[0], first)))
            indexes[first] = _index_of([rule for rule in entries if rule.pattern])
        index = indexes[first]
        work_left -= (_WORK_EACH + index.wildcard_chars) * (_WORK_EACH + len(raw))
        if work_left < 0:
            break
        best = decider(index.kinds, stand_in(raw))
        if best != NO_RULE and not best & 1:
            value = shown(raw)
            rule = Rule(False, value, line_of(best))
            by_line[line] = finding(line, "noindex of a disallowed path", key="Noindex", rule=rule)
    return by_line


def no_robots_file(body: bytes, robotstxt: RobotsTxt) -> Finding | None:
    """Return a finding if `body` is not a robots.txt; otherwise None.

    `robotstxt` is the result of parsing `body`.
    """
    all_lines = lines_of(robotstxt)
    what = _something_else(body, all_lines)
    if not what:
        return None
    # Many servers send a web page if the site has no robots.txt. If such a page contains a
    # robots.txt directive, its author has probably tried to write rules.
    has_directive = any(line.kind != UNKNOWN for line in all_lines if not line.flags & EMPTY)
    if is_web_page(body) and not has_directive and not _DIRECTIVE.search(body):
        return finding(1, "web page")
    rules = sum(len(group.rules) for group in groups_of(robotstxt))
    obeyed = "; crawlers find no rule in it"
    if rules:
        obeyed = f", but crawlers obey {rules} rule{'s' * (rules > 1)} in it"
    return finding(1, "no robots file", what=what, rules=obeyed)


def _something_else(body: bytes, all_lines: Iterable[Line]) -> str:
    """Describe a `body` that is not a robots.txt, such as "a web page"; return "" for a robots.txt.

    A string is a robots.txt if at least one line has the name of a known field, or a name that
    looks like a misspelt field. An empty string is a robots.txt, and so is a string that consists
    of comments.
    """
    if is_web_page(body):
        return "a web page"
    directives = [line for line in all_lines if not line.flags & (EMPTY | IS_COMMENT)]
    is_json = without_bom(body).lstrip().startswith((b"{", b"["))
    for line in directives:
        key = line.key.lower()
        if line.kind != UNKNOWN or key == LICENSE or (nearest_field(key) and not is_json):
            return ""
    if _WIDE.match(body):
        return 'UTF-16 or UTF-32 (Notepad\'s "Unicode"; save it as UTF-8)'
    if not directives and b"\0" not in body:
        return ""
    return "another text"


def _on_groups(
    robotstxt: RobotsTxt, groups: Sequence[Group], all_lines: Sequence[Line]
) -> Iterator[Finding]:
    """Find search engines that are shut out, and lines that seem to begin a group but do not.

    Only an allow or disallow rule ends the user-agent lines of a group (Google's page). Without a
    rule above it, a user-agent line joins the group above, even if it seems to begin a new group.
    If the whole site is disallowed for all crawlers, the finding is only a warning, because the
    owner may have closed the site until it is public.
    """
    seams = _seams(all_lines)
    shut_out, is_closed = _shut_out(robotstxt, groups, seams)
    reported: set[str] = set()  # The search engines that are reported as shut out.
    for (rule, seam), names in shut_out.items():
        is_for_all = "*" in names
        why = f'"{rule}" keeps them away from the whole site'
        if seam:
            seam_words = _SEAMS[all_lines[seam - 1].kind]
            why = f'"{rule}" also applies to them, because line {seam} {seam_words}'
        if seam or not (is_closed or is_for_all):
            kind = "search engine shut out"
            if not seam and _LARGE.isdisjoint(names):
                kind = "other search engine shut out"
            crawlers = ", ".join(names[is_for_all:])  # The first name is left out if it is "*".
            reported.update(names)
            yield finding(rule.line, kind, crawlers=crawlers, why=why)
        elif is_closed and is_for_all:
            reported.update(_LARGE)
            yield finding(rule.line, "whole site disallowed", rule=rule)
    yield from _on_closed_home_page(robotstxt, _LARGE - reported)
    yield from _on_home_page(groups)
    yield from _on_disobedient(groups)
    yield from _on_agents(groups, seams.difference([seam for _, seam in shut_out]), all_lines)


def _on_disobedient(groups: Iterable[Group]) -> Iterator[Finding]:
    """Find groups with disallow rules for crawlers that may ignore robots.txt.

    All these crawlers are named in one note.
    """
    first_lines: dict[str, int] = {}
    for group in groups:
        if any(rule.pattern and not rule.allow for rule in group.rules):
            for user_agent, line in group.user_agents.items():
                if may_ignore(user_agent):
                    first_lines.setdefault(known_name(user_agent), line)
    if first_lines:
        crawlers = ", ".join(first_lines)
        yield finding(min(first_lines.values()), "crawler that may ignore it", crawlers=crawlers)


def _on_closed_home_page(robotstxt: RobotsTxt, names: Iterable[str]) -> Iterator[Finding]:
    """Find the rules that disallow the home page for the search engines `names`."""
    closed: dict[Rule, list[str]] = {}
    for name in sorted(names):
        if name == "Bingbot" and robotstxt.allowed("/", _BINGBOT_OR_MSNBOT):
            continue
        verdict = robotstxt.verdict("/", SEARCH_ENGINES[name])
        if verdict.rule is not None and not verdict.allowed:
            closed.setdefault(verdict.rule, []).append(name)
    for rule, whom in closed.items():
        yield finding(rule.line, "home page disallowed", whom=", ".join(whom), rule=rule)


def _on_home_page(groups: Iterable[Group]) -> Iterator[Finding]:
    """Find a rule for "*" that disallows the whole site except its home page.

    There is no finding if the file has a group for a search engine.
    """
    rules: list[Rule] = []
    for group in groups:
        if not _ENGINE_TOKENS.isdisjoint(group.user_agents):
            return
        if "*" in group.user_agents:
            rules += group.rules
    others = [rule for rule in rules if not (rule.allow and rule.pattern == "/$")]
    closing = closing_rule(others)
    if closing is not None and closing_rule(rules) is None:
        yield finding(closing.line, "only the home page allowed", rule=closing)


def _on_agents(
    groups: Sequence[Group], seams: set[int], all_lines: Sequence[Line]
) -> Iterator[Finding]:
    """Find user agents without rules, and user-agent lines that join the group above by mistake.

    `seams` contains the line numbers of the user-agent lines that seem to begin a group, but do
    not.
    """
    merged = groups_by_agent(groups)
    for group in groups:
        for user_agent, line in group.user_agents.items():
            if group.rules and line in seams:
                yield finding(line, "joined groups")
            elif group.rules or not user_agent or is_policy(user_agent):
                continue
            elif len(merged[user_agent]) == 1:  # No other group names this user agent.
                name = name_of(all_lines[line - 1].value, user_agent)
                yield finding(line, "group without rules", user_agent=name)


def _seams(all_lines: Iterable[Line]) -> set[int]:
    """Return the numbers of the lines that seem to begin a group, but do not.

    There are two kinds of these lines. The first kind is a misspelt user-agent line. The second
    kind is a user-agent line that is separated from the user-agent lines above it, but not by a
    rule. For example, a blank line, a sitemap line or a crawl delay separates them. A line of the
    second kind joins the group above, because only rules end the user-agent lines of a group.
    """
    seams = set()
    # The names of the fields since the last user-agent line; None if a rule follows that line.
    fields: set[bytes] | None = None
    for line in all_lines:
        if line.kind == USER_AGENT:
            # Some authors set a crawl delay or a request rate for some user agents directly above
            # the line "User-agent: *". They want these user agents to follow the rules of "*" as
            # well. So this line is not a seam.
            if fields and (line.value != GLOBAL or fields.isdisjoint(OF_GROUPS)):
                seams.add(line.number)
            fields = set()
        elif line.kind in RULES:
            fields = None
        elif line.kind == UNKNOWN and nearest_field(line.key) == "user-agent":
            seams.add(line.number)
        elif fields is not None and not line.flags & IS_COMMENT:
            fields.add(line.key.lower())
    return seams


def _shut_out(
    robotstxt: RobotsTxt, groups: Sequence[Group], seams: Iterable[int]
) -> tuple[dict[tuple[Rule, int], list[str]], bool]:
    """Find the search engines that may fetch nothing, and the rules that disallow everything.

    Returns:
        A dictionary, and True if everything is disallowed for all crawlers, otherwise False. Each
        value of the dictionary is a list of search engines that follow the same rule. In the list,
        "*" means all crawlers without their own group. The key is a pair of the rule and a line
        number. The line is the seam (see `_seams`) that makes the search engines follow the rule.
        If there is no seam, the number is 0.
    """
    shut_out: dict[tuple[Rule, int], list[str]] = {}
    is_closed = True
    for name, crawler in {"*": _ANY, **SEARCH_ENGINES}.items():
        rules = robotstxt.rules_for(crawler)
        closing = closing_rule(entries_of(rules))
        if closing is None:
            is_closed = False
            continue
        group = next(group for group in groups if closing in group.rules)
        named = group.user_agents[rules.verdict("/").group or "*"]
        seam = min((seam for seam in seams if named < seam < closing.line), default=0)
        shut_out.setdefault((closing, seam), []).append(name)
    return shut_out, is_closed


def _on_crawlers(groups: Sequence[Group], all_lines: Sequence[Line]) -> Iterator[Finding]:
    """Find problems in the rules of each crawler.

    For example, a crawler with its own group does not follow the rules of "*". User agents that
    follow the same groups are handled together.
    """
    followers: dict[tuple[int, ...], list[str]] = {}
    for user_agent, numbers in groups_by_agent(groups).items():
        followers.setdefault(numbers, []).append(user_agent)
    closed_to_all = _paths_closed_to_all(groups)
    work_left = _MOST_WORK
    for numbers, user_agents in followers.items():
        lines = groups[numbers[0]].user_agents
        line = lines[user_agents[0]]
        its_rules = chain.from_iterable(groups[number].rules for number in numbers)
        rules = [rule for rule in its_rules if rule.pattern]
        index = _index_of(rules)
        patterns = [rule.pattern for rule in rules] + closed_to_all
        work = sum(_WORK_EACH + len(pattern) for pattern in patterns)
        work_left -= work * (_WORK_EACH + index.wildcard_chars)
        if work_left < 0:  # Only a hostile file needs this much work.
            return
        named = user_agents[:_MOST_SHOWN]
        names = [
            name_of(all_lines[lines[user_agent] - 1].value, user_agent) for user_agent in named
        ]
        whom = shown(", ".join(names))
        yield from _on_rules(rules, whom, index)
        yield from _on_parameters(rules)
        if not FOR_GOOGLE.isdisjoint(user_agents) and closing_rule(rules) is None:
            yield from _on_styles_and_scripts(rules, index)
        opened = _opened(rules, closed_to_all, index)
        if opened and not all(map(is_policy, user_agents)):
            yield finding(line, "own group", whom=whom, paths=shown(", ".join(opened)))


def _paths_closed_to_all(groups: Iterable[Group]) -> list[str]:
    """Return the patterns of the disallow rules of "*", except patterns that match every path."""
    rules = chain.from_iterable(group.rules for group in groups if "*" in group.user_agents)
    patterns = [rule.pattern for rule in rules if not rule.allow]
    return [
        pattern
        for pattern in patterns
        if pattern.startswith(PATHS_BEGIN) and not covers(pattern, "/")
    ]


def _opened(rules: Iterable[Rule], closed_to_all: Iterable[str], index: Index) -> list[str]:
    """Return the patterns in `closed_to_all` that none of `rules` covers.

    A rule covers a pattern if the rule matches all paths that the pattern matches. `rules` are the
    rules of one crawler. If all of them are allow rules, the author seems to let this crawler in on
    purpose, so the result is empty.
    """
    if all(rule.allow for rule in rules) or decider(index.kinds, stand_in("/")) != NO_RULE:
        return []
    return [
        pattern for pattern in closed_to_all if decider(index.kinds, stand_in(pattern)) == NO_RULE
    ]


def _index_of(rules: Iterable[Rule]) -> Index:
    """Return an `Index` of rules. An allow rule for "/d/index.html" also allows "/d/"."""
    disallows = [(rule.pattern, rule.line) for rule in rules if not rule.allow]
    allows = [(rule.pattern, rule.line) for rule in rules if rule.allow]
    allows += [(directory_of_index(pattern), line) for pattern, line in allows]
    return Index(allows, disallows)


def _on_rules(rules: Iterable[Rule], whom: str, index: Index) -> Iterator[Finding]:
    """Find duplicate rules, and rules that never have an effect.

    For example, an allow rule has no effect if a disallow rule with precedence matches all paths
    that the allow rule matches (RFC 9309 2.2.2). `whom` contains the names of the user agents,
    for the text of the finding.
    """
    first: dict[tuple[bool, str], int] = {}
    at = {rule.line: rule for rule in rules}
    for rule in rules:
        allow, pattern, line = rule
        before = first.setdefault((allow, pattern), line)
        if before != line:
            yield finding(line, "duplicate rule", rule=rule, other=before)
        best = index.kinds[not allow].best(stand_in(pattern), NO_RULE)
        if best > precedence_of(len(pattern), allow, line):
            yield finding(line, "shadowed rule", rule=rule, whom=whom, rival=at[line_of(best)])


def _on_parameters(rules: Sequence[Rule]) -> Iterator[Finding]:
    """Find rules that match a query parameter only if it is the first one, such as "/*?name=".

    If another rule matches the same parameter after "&", such as "/*&name=", there is no finding.
    The function yields at most one note. It is about the first rule with this problem, and shows
    how many more rules have the same problem.
    """
    firsts: dict[str, tuple[int, str]] = {}
    elsewhere = set()
    for rule in rules:
        parameter = _PARAMETER.search(rule.pattern)
        if parameter is None:
            continue
        before, name, sign = parameter.groups("")
        if before == "?":
            firsts.setdefault(name, (rule.line, name + sign))
        else:
            elsewhere.add(name)
    alone = [place for name, place in firsts.items() if name not in elsewhere]
    if alone:
        line, text = alone[0]
        more = ""
        if alone[1:]:
            more = f" (also in {len(alone) - 1} more rules)"
        what, how = shown(f"?{text}"), shown(f"&{text}")
        yield finding(line, "first parameter", what=what, how=how, more=more)


def _on_sitemaps(robotstxt: RobotsTxt, site: Origin | None) -> Iterator[Finding]:
    """Find sitemaps on hosts that are not public, and sitemaps that the robots.txt disallows.

    Only sitemaps on the host of `site` are compared with the rules. If `site` is None, and all
    sitemaps are on one host, this host is assumed to be the host of the site.
    """
    listed: list[tuple[int, str, Origin]] = []
    for line, url, _ in sitemap_lines_of(robotstxt)[:_MOST_SITEMAPS]:
        if url is not None:
            listed.append((line, url, Origin.of(url)))
    hosts = {origin.host for _, _, origin in listed}
    if site is not None:
        hosts = {site.host}
    for line, _, origin in listed:
        if not (site is not None and origin.host in hosts) and _NOT_PUBLIC.fullmatch(origin.host):
            yield finding(line, "sitemap on no public host", host=origin.host)
    if len(hosts) == 1:
        unknown_site = ""
        if site is None:
            unknown_site = f", if this is the robots.txt of {shown(next(iter(hosts)))}"
        own = [(line, url) for line, url, origin in listed if origin.host in hosts]
        yield from _on_own_sitemaps(robotstxt, own, unknown_site)


def _on_own_sitemaps(
    robotstxt: RobotsTxt, sitemaps: Sequence[tuple[int, str]], unknown_site: str
) -> Iterator[Finding]:
    """Find sitemaps that a rule disallows.

    There is one finding for each rule that disallows sitemaps. It has the line number of the first
    sitemap that the rule disallows. If the whole site is disallowed for a crawler, the rules of
    this crawler are not checked.
    """
    forbidden: dict[tuple[Rule, str], list[int]] = {}
    work_left = _MOST_WORK
    for name in ("*", *sorted(_LARGE)):
        rules = robotstxt.rules_for(SEARCH_ENGINES.get(name, _ANY))
        entries = entries_of(rules)
        chars = _WORK_EACH + sum(len(rule.pattern) for rule in entries if "*" in rule.pattern)
        work_left -= chars * sum(_WORK_EACH + len(url) for _, url in sitemaps)
        if work_left < 0 or closing_rule(entries) is not None:
            continue
        for line, url in sitemaps:
            rule = rules.verdict(url).rule
            if rule is not None and not rule.allow and rule.pattern:
                forbidden.setdefault((rule, name), []).append(line)
    by_rule: dict[Rule, tuple[list[str], list[int]]] = {}
    for (rule, name), lines in forbidden.items():
        by_rule.setdefault(rule, ([], lines))[0].append(name)
    for rule, (names, lines) in by_rule.items():
        more = f" (and {len(lines) - 1} more sitemaps)" if lines[1:] else ""
        more += unknown_site
        whom = ", ".join(names)
        yield finding(lines[0], "sitemap disallowed", whom=whom, rule=rule, more=more)


def _on_styles_and_scripts(rules: Iterable[Rule], index: Index) -> Iterator[Finding]:
    """Find rules that disallow style sheets or scripts.

    If a rule matches style sheets or scripts, but another rule decides for these files, there is no
    finding.
    """
    for rule in rules:
        file = _style_or_script(rule.pattern)
        if file and not rule.allow and line_of(decider(index.kinds, file)) == rule.line:
            yield finding(rule.line, "style or script", rule=rule)


def _style_or_script(pattern: str) -> str:
    """Return the path of a style sheet or script that a pattern matches; "" if there is none.

    Each "*" of the pattern becomes a NUL in the path, as in the result of `stand_in`.
    """
    path = pattern.rstrip("*")
    if path.startswith("*"):
        path = f"/{path}"
    if _STYLE_OR_SCRIPT.search(path):
        return path.rstrip("*$").replace("*", "\0")
    folders = path
    if not path.endswith("/"):
        # Without a slash at the end, only the last segment is compared with `_FOLDERS`. It may be
        # the name of a folder, as in "/static/css". The folders above it are not compared, because
        # a pattern such as "/css/a" matches only some files in "/css/".
        folders = path[path.rfind("/") :] + "/"
    for folder, file in _FOLDERS:
        if re.search(folder, folders.lower()):
            return f"{path.rstrip('/')}/{file}".replace("*", "\0")
    return ""
