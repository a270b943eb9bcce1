"""The "Try it" page in Chromium: what it answers, what it keeps to itself, what it does with what is bad."""

import json
import os
import subprocess
import sys
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.core.urls import origin_of_robots_txt

from ..core.test_hostile import HOSTILE_BODIES
from ..support.command import jsonl
from ..support.documentation import HOME
from ..support.processes import run
from ..support.reference import DATA, body_of, read
from ..support.site import SiteServer
from ..support.try_page import TryPage, questions

pytestmark = pytest.mark.slow

Visit = Callable[..., TryPage]

COMMAND = "gbot-robots check /cart/1 --as Googlebot --robots robots.txt"
ROBOTS_TXT = "User-agent: Googlebot\nDisallow: /cart/\nDisalow /x\nSitemap: https://e.example/s.xml"


def case_link(robots: bytes, urls: bytes = b"/a", other: bytes = b"") -> str:
    """A link as the page makes them."""
    sizes = [len(robots), len(other), len(urls)]
    head = json.dumps({"sizes": sizes, "crawlers": "Googlebot"}).encode()
    return link(head + b"\n" + robots + other + urls)


def link(case: bytes) -> str:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(case) + packer.flush()
    return "#1." + urlsafe_b64encode(packed).rstrip(b"=").decode()


def test_case_is_answered_as_one_types(visit: Visit) -> None:
    page = visit()
    page.ask(ROBOTS_TXT, "/cart/1\n/x\nshop", "Googlebot, bot2000/1.0")
    assert page.text("rows").splitlines() == [
        '/cart/1\tGooglebot\tdisallowed by "Disallow: /cart/" (line 2, group "googlebot")',
        "/cart/1\tbot\tallowed: no group for this user agent",
        '/x\tGooglebot\tdisallowed by "Disallow: /x" (line 3, group "googlebot")',
        "/x\tbot\tallowed: no group for this user agent",
    ]
    assert '"bot2000/1.0" is read as "bot"' in page.text("notes")
    assert '"shop" is not an absolute URL, or a path such as /a' in page.text("notes")
    assert 'Googlebot: "Googlebot" (line 1): it names the crawler' in page.text("groups")
    assert page.text("sitemaps") == "https://e.example/s.xml"
    assert "4 verdicts, 2 disallowed; lint: " in page.text("status")
    third = page.page.locator("#try-file li").nth(2).inner_text()
    assert third.split("\n\n")[:2] == ["Disalow /x", "disallows /x"]
    assert 'warning: "Disalow" was read as "disallow"' in third
    link = page.page.locator("#try-file li a", has_text="what to do").first
    assert link.get_attribute("href") == "../lint/#typo"
    page.page.click("#try-second summary")
    page.page.fill("#try-other", "User-agent: *\nDisallow: /\n")
    page.answered()
    assert "second version: disallowed by" in page.text("rows")
    assert "User-agent: googlebot (group removed)" in page.text("changes")
    assert page.errors == []


def test_pasted_web_page_is_named_above_the_verdicts(visit: Visit) -> None:
    page = visit()
    page.ask("<!DOCTYPE html><html><body>Not found</body></html>", "www.shop.example/cart")
    first, second = page.text("notes").splitlines()
    assert first.startswith("error: this is a web page")
    assert second.startswith('"www.shop.example/cart" is read as https://www.shop.example/cart')
    above = "document.querySelector('#try-notes').compareDocumentPosition(document.querySelector('#try-rows'))"
    assert page.page.evaluate(above) & 4
    assert page.page.locator("#try-notes").is_visible()
    assert "check https://www.shop.example/cart " in page.copied("command", "printf").replace(
        "'", ""
    )


def test_each_crawler_gets_its_verdict_and_the_table_has_names(visit: Visit) -> None:
    page = visit()
    page.ask("User-agent: GPTBot\nDisallow: /", "/a", "Bingbot")
    page.page.select_option("#try-table", "GPTBot")
    page.page.click("#try-add")
    page.answered()
    assert '/a\tGPTBot\tdisallowed by "Disallow: /"' in page.text("rows")


def test_nothing_is_loaded_before_a_touch_nor_sent_after(visit: Visit, server: SiteServer) -> None:
    page = visit()
    page.wait("document.querySelectorAll('#try-examples a').length === 6")
    assert [path for path in server.paths() if "/try/worker" in path or "py" in path] == []
    page.page.focus("#try-robots")
    page.ask(ROBOTS_TXT, "/cart/1")
    assert "/try/pyodide.asm.wasm" in server.paths()
    server.asked.clear()
    page.example(6)
    for button, words in (("link", "#1."), ("command", "printf"), ("report", "What I expected")):
        page.copied(button, words)
    assert [path for path in server.paths() if not path.startswith("/assets/")] == []
    assert [url for url in page.requests if not url.startswith((server.url(), "blob:"))] == []


ODD_FILES = {
    "carriage returns": b"User-agent: *\rDisallow: /a\r",
    "byte-order mark": b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
    "Latin-1": b"User-agent: *\nDisallow: /a\nDisallow: /\xe4\n",
    "NUL": b"User-agent: *\nDisallow: /a\0b\n",
}


@pytest.mark.parametrize("body", ODD_FILES.values(), ids=ODD_FILES)
def test_bytes_of_a_file_stay_also_in_a_link(visit: Visit, tmp_path: Path, body: bytes) -> None:
    (tmp_path / "robots.txt").write_bytes(body)
    page = visit()
    page.page.fill("#try-urls", "/a")
    page.drop("robots", tmp_path / "robots.txt")
    assert '/a\tGooglebot\tdisallowed by "Disallow: /a" (line 2' in page.text("rows")
    assert f"robots.txt: {len(body)} bytes, kept unchanged" in page.page.inner_text("#try-form")
    code = page.copied("link", "#1.").partition("#1.")[2]
    packed = urlsafe_b64decode(code + "=" * (-len(code) % 4))
    assert body in zlib.decompress(packed, wbits=-15)
    again = visit(f"#1.{code}")
    again.answered()
    again.wait("document.getElementById('try-robots').disabled")
    assert again.text("rows") == page.text("rows")
    printing = ["sh", "-c", page.copied("command", "printf").rpartition(" | ")[0]]
    assert subprocess.check_output(printing) == body


def test_command_that_is_copied_gives_the_same_verdicts(visit: Visit) -> None:
    page = visit()
    page.ask("User-agent: a\nDisallow: /it's 100%\n", "/it's\n/x?a=1&b=$HOME\nno", "bot2000, a")
    command = page.copied("command", "printf")
    printing = "printf 'User-agent: a\\nDisallow: /it'\\''s 100%%\\n' | "
    assert command.startswith(f"{printing}gbot-robots check ")
    script = f'gbot-robots() {{ "$PYTHON" -m scrapy_gbot_robots "$@" --json; }}; {command}'
    env = {**os.environ, "PYTHON": sys.executable}
    ended = run(["bash", "-c", script], env=env)
    asked = [(fact["url"], fact["crawler"]["name"]) for fact in jsonl(ended.stdout)]
    urls = ["/it's", "/x?a=1&b=$HOME"]
    assert asked == [(url, name) for url in urls for name in ("bot", "a")], ended.stderr


def test_answer_that_does_not_come_can_be_stopped(visit: Visit) -> None:
    page = visit()
    page.ask("User-agent: *\nDisallow: /a", "/a")
    page.hang()
    page.page.fill("#try-urls", "/no-answer")
    page.page.click("#try-stop")  # waits until it is there
    assert page.text("status").startswith("Stopped.")
    assert page.page.is_hidden("#try-stop")
    page.page.fill("#try-urls", "/b")
    page.answered()
    assert page.text("rows").startswith("/b\tGooglebot\t")
    assert "lint:" not in page.text("status")
    page.page.fill("#try-robots", "User-agent: *\nDisallow: /b")
    page.answered()
    assert "lint: clean" in page.text("status")


def test_stop_while_python_starts_is_no_failure(visit: Visit) -> None:
    page = visit()
    page.page.clock.install()
    # However soon Python is there, it gets no question before the stop.
    page.page.evaluate("void (self.post = Worker.prototype.postMessage)")
    page.page.evaluate("void (Worker.prototype.postMessage = () => {})")
    page.page.fill("#try-urls", "/a")
    page.page.click("#try-stop")
    page.page.evaluate("void (Worker.prototype.postMessage = self.post)")
    page.page.fill("#try-urls", "/b")
    page.answered()
    page.page.clock.fast_forward(200_000)
    assert page.page.is_visible("#try-form")
    assert page.text("rows").startswith("/b\t")


def test_only_the_newest_question_is_answered(visit: Visit) -> None:
    page = visit()
    page.page.fill("#try-robots", "User-agent: *\nDisallow: /9")
    page.page.evaluate(
        """() => { for (let n = 0; n < 10; n += 1) {
            const urls = document.getElementById('try-urls');
            urls.value = `/${n}`;
            urls.dispatchEvent(new Event('input')); } }"""
    )
    page.answered()
    assert page.text("rows").startswith("/9\tGooglebot\tdisallowed")


def test_large_text_never_goes_into_a_textarea(visit: Visit) -> None:
    page = visit()
    page.page.fill("#try-urls", "/a")
    page.page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.setData('text', 'User-agent: *\\nDisallow: /a\\n' + '\\n'.repeat(500000));
            document.getElementById('try-robots').dispatchEvent(
                new ClipboardEvent('paste', { clipboardData: data, cancelable: true })); }"""
    )
    page.answered()
    assert page.page.input_value("#try-robots") == ""
    assert "the text: 500,027 bytes, kept unchanged" in page.page.inner_text("#try-form")
    assert "disallowed by" in page.text("rows")
    assert page.page.locator("#try-file li").count() < 1_000
    page.page.click("text=Type instead")
    page.answered()
    assert "allowed: no group" in page.text("rows")


def test_ten_thousand_urls_are_answered_and_shown_in_part(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("\n".join(f"/a{n}" for n in range(10_000)))
    page = visit()
    page.page.fill("#try-robots", "User-agent: *\nDisallow: /a9")
    page.drop("urls", tmp_path / "urls.txt")
    assert "10,000 verdicts, 1,111 disallowed" in page.text("status")
    assert page.page.locator("#try-rows tr").count() == 200
    page.page.click("#try-more")
    assert page.page.locator("#try-rows tr").count() == 400
    page.page.check("#try-disallowed")
    assert page.text("rows").splitlines()[1].startswith("/a90\tGooglebot\tdisallowed")


def test_status_says_that_a_list_is_cut(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("/a\n" * 33_334)
    page = visit()
    page.page.fill("#try-crawlers", "one\ntwo\nthree")
    page.page.fill("#try-robots", "User-agent: *\nDisallow: /b")
    page.drop("urls", tmp_path / "urls.txt")
    assert page.text("status").startswith("99,999 verdicts (the rest of the list is left out), 0")


def test_report_names_the_crawler_of_each_verdict(visit: Visit) -> None:
    page = visit()
    page.ask("User-agent: one\nDisallow: /\n", "/", "one\ntwo")
    report = page.copied("report", "What I expected")
    assert "\n/ as one: disallowed by" in report
    assert "\n/ as two: allowed" in report


DAMAGED = "The link is cut, damaged or too large; nothing was taken from it."
LINKS = {
    "cut": case_link(b"User-agent: *\nDisallow: /" + b"abc" * 99)[:-30],
    "no base64": "#1.%%%",
    "empty": "#1.",
    "huge": "#1." + "A" * 100_000,
    "a bomb": case_link(b"\n" * 20_000_000),
    "lacks a box": link(b'{"sizes":[1],"crawlers":"a"}\nx'),
    "other sizes": link(b'{"sizes":[1,1,9],"crawlers":"a"}\nxyz'),
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_link_that_is_damaged_or_hostile_fills_nothing(visit: Visit, link: str) -> None:
    page = visit(link)
    page.wait(f"document.getElementById('try-status').textContent === '{DAMAGED}'")
    assert page.page.input_value("#try-robots") == ""
    assert page.errors == []
    page.ask(ROBOTS_TXT, "/cart/1")
    assert "disallowed by" in page.text("rows")


def test_case_that_is_too_large_for_a_link_is_told(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_bytes(bytes(range(256)) * 10 + os.urandom(60_000))
    page = visit()
    page.drop("robots", tmp_path / "r.txt")
    assert page.copied("link") == "This case is too large for a link."


@pytest.mark.parametrize("part", ["Worker", "WebAssembly", "DecompressionStream"])
def test_browser_that_lacks_something_names_the_command(visit: Visit, part: str) -> None:
    page = visit()
    page.page.add_init_script(f"delete window.{part}")
    page.page.reload()
    page.page.wait_for_selector("#try-instead", state="visible")
    assert f"this browser has no {part}" in page.text("instead")
    assert COMMAND in page.text("instead")
    assert page.page.is_hidden("#try-form")


def test_page_without_javascript_names_the_command(visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    assert COMMAND in page.text("instead")
    assert page.page.is_hidden("#try-form")


@pytest.mark.parametrize("policy", ["script-src 'self' 'unsafe-inline'", "worker-src 'none'"])
def test_forbidding_header_names_a_command(visit: Visit, server: SiteServer, policy: str) -> None:
    server.headers["Content-Security-Policy"] = policy
    page = visit()
    page.page.focus("#try-robots")
    page.page.wait_for_selector("#try-instead", state="visible")
    assert "The form does not work here" in page.text("instead")
    assert COMMAND in page.text("instead")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit: Visit, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    for number in range(6):
        page.example(number + 1)
        result = axe.Axe().run(page.page)
        assert [rule["id"] for rule in result.response["violations"]] == []
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.page.evaluate(wide)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_other_pages(visit: Visit, server: SiteServer, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(color_scheme=scheme).page
    paths = [*(f"/{page.stem}/" for page in sorted((HOME / "docs").glob("*.md"))), "/404.html"]
    for path in paths:
        page.goto(server.url(path.replace("/README/", "/")))
        colours = "document.body.getAttribute('data-md-color-scheme')"
        assert page.evaluate(colours) == {"light": "default", "dark": "slate"}[scheme]
        result = axe.Axe().run(page).response
        assert [rule["id"] for rule in result["violations"]] == [], path
        assert len(result["passes"]) > 20


def test_form_is_used_with_the_keyboard_alone(visit: Visit) -> None:
    page = visit()
    page.wait("document.querySelectorAll('#try-examples a').length === 6")
    page.page.focus("#try-examples a")
    page.asked(lambda: page.page.keyboard.press("Enter"))
    visited = []
    for _ in range(30):
        page.page.keyboard.press("Tab")
        visited.append(page.page.evaluate("document.activeElement.id"))
    wanted = ["robots", "urls", "crawlers", "table", "add", "disallowed", "file", "link"]
    wanted += ["command", "report", "copied"]
    assert [name for name in visited if name[4:] in wanted] == [f"try-{name}" for name in wanted]
    page.page.focus("#try-command")
    page.page.keyboard.press("Space")
    page.wait("document.getElementById('try-copied').value.includes('gbot-robots check')")


# The browser's answers are those of this Python.


def answers_differ(page: TryPage, calls: list[list[Any]]) -> list[int]:
    """The numbers of the calls that the page's Python answers otherwise than this one."""
    there = page.in_python(calls)
    here = [getattr(questions(), name)(*values) for name, *values in calls]
    pairs = enumerate(zip(there, here, strict=True))
    return [number for number, (theirs, ours) in pairs if theirs != ours]


def test_hostile_files_have_the_same_answers(visit: Visit) -> None:
    page = visit()
    page.ask("")
    urls = b"/\n/ab%c3\n/aaaaaaaab\nhttps://ex\xc3\xa4mple.com/\nhttps://\xff/"
    for body in HOSTILE_BODIES.values():
        calls = [["verdicts", body, b"", urls, "Googlebot-Image\nbot2000"]]
        calls += [["on_file", body[:100_000]], ["on_change", body[:50_000], b"user-agent: *"]]
        assert answers_differ(page, calls) == []
    assert page.heap() < 128 * 2**20


def is_judged(url: str) -> bool:
    """Whether the page takes it for a URL: it has an origin."""
    try:
        Origin.of(url)
    except ValueError:
        return False
    return origin_of_robots_txt(url) is None


def test_answers_are_googles(visit: Visit) -> None:
    page = visit()
    page.ask("")
    calls, wanted = [], []
    for case in read(DATA / "synthetic-cases.jsonl.gz"):
        for query in case["queries"]:
            user_agent, *others = query["agents"]
            if others or not user_agent.isalpha() or user_agent.lower().startswith("google"):
                continue
            if not query["url"].isprintable() or not is_judged(query["url"]):
                continue
            calls.append(["verdicts", body_of(case), None, query["url"].encode(), user_agent])
            suffix = "_normalised" if "allowed_normalised" in query else ""
            suffix = "_cap" if "allowed_cap" in query else suffix
            wanted.append([query["allowed" + suffix], query["line" + suffix]])
    assert len(calls) > 2_000
    for call, answer, want in zip(calls, page.in_python(calls[:2_000]), wanted, strict=False):
        assert [row[2:4] for row in json.loads(answer)["rows"]] == [want], call
