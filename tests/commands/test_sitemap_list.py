"""`audit` of the pages that a sitemap lists: of files and URLs, gzipped or not, through indexes."""

import gzip
import json
from pathlib import Path

import pytest

from ..support.command import Run, jsonl, run, run_here
from ..support.rows import row, table
from ..support.web import Content, Reply, Site, redirect

ROBOTS = b"user-agent: *\ndisallow: /cart/\ndisallow: /hidden\n"
HOST = "https://shop.example"


def pages(*paths: str, host: str = HOST) -> bytes:
    listed = "".join(f"<url><loc>{host}{path}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'.encode()


def index(*urls: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<?xml version='1.0'?><sitemapindex>{listed}</sitemapindex>".encode()


def answers(ended: Run, name: str = "*") -> dict[str, int]:
    return {one["url"].partition("//")[2].partition("/")[2]: one[name] for one in jsonl(ended.out)}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The output of a site's generator."""
    (tmp_path / "robots.txt").write_bytes(ROBOTS)
    return tmp_path


AUDIT = ("audit", "--robots", "robots.txt", "--format", "jsonl")


@table(
    "name, body",
    row("xml", "sitemap.xml", pages("/a", "/cart/1")),
    row("gzipped", "sitemap.xml.gz", gzip.compress(pages("/a", "/cart/1"))),
    row("gzipped-of-another-name", "list", gzip.compress(pages("/a", "/cart/1"))),
    row("no-name", "list", b"\xef\xbb\xbf \n" + pages("/a", "/cart/1")),
    row("utf-16", "s.xml", pages("/a", "/cart/1").decode().encode("utf-16")),
    row("text", "urls.txt", f"{HOST}/a\n{HOST}/cart/1\n".encode()),
    row("gzipped-text", "urls.gz", gzip.compress(f"{HOST}/a\n{HOST}/cart/1\n".encode())),
    row(
        "rss",
        "r",
        f"<rss><item><link>{HOST}/a</link></item><item><link>{HOST}/cart/1</link></item></rss>".encode(),
    ),
)
def test_list_may_be_a_sitemap_in_a_file_or_on_standard_input(
    name: str, body: bytes, site: Path
) -> None:
    (site / name).write_bytes(body)
    ended = run_here(*AUDIT, "--urls", name, cwd=site)
    assert (ended.status, answers(ended)) == (0, {"a": 1, "cart/1": 0})
    assert "2 URLs in " in ended.err
    ended = run_here(*AUDIT, "--urls", "-", cwd=site, stdin=body)
    assert (ended.status, answers(ended)) == (0, {"a": 1, "cart/1": 0})
    assert "CRAWLER * (any crawler that no group names; --as Googlebot asks for one)" in ended.err


def test_index_in_a_file_leads_to_files_below_it_or_beside_it_without_scrapy(site: Path) -> None:
    for path, body in (
        ("en/sitemap.xml", pages("/en")),
        ("hidden-map.xml.gz", gzip.compress(pages("/cart/2", "/b"))),
        ("nested.xml", index(f"{HOST}/deep.xml", f"{HOST}/sitemap.xml")),
        ("deep.xml", pages("/deep")),
    ):
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_bytes(body)
    listed = ["/en/sitemap.xml", "/maps/hidden-map.xml.gz", "/nested.xml", "/nested.xml"]
    (site / "sitemap.xml").write_bytes(index(*(HOST + path for path in listed)))
    ended = run_here(*AUDIT, "--urls", "sitemap.xml", "--as", "bingbot", cwd=site)
    assert ended.status == 0
    assert answers(ended, "bingbot") == {"en": 1, "cart/2": 0, "b": 1, "deep": 1}


def test_forbidden_sitemaps_are_in_the_summary_and_fail(site: Path) -> None:
    (site / "hidden.xml").write_bytes(pages("/a"))
    (site / "open.xml").write_bytes(pages("/b"))
    (site / "index.xml").write_bytes(index(f"{HOST}/hidden.xml", f"{HOST}/open.xml"))
    words = (*AUDIT, "--urls", "index.xml", "--as", "Googlebot")
    ended = run_here(*words, cwd=site)
    assert (ended.status, answers(ended, "Googlebot")) == (0, {"a": 1, "b": 1})
    row = [line.split() for line in ended.err.splitlines() if "hidden.xml" in line]
    rule = ["Disallow:", "/hidden", "(line", "3)"]
    assert row == [["disallowed", "Googlebot", *rule, f"{HOST}/hidden.xml"]]
    assert "open.xml" not in ended.err
    assert run_here(*words, "--fail-on", "disallowed", cwd=site).status == 1


@table(
    "body, said",
    row("html", b"<!doctype html><p>Not here", "list: it is not a sitemap; it begins with"),
    row("empty", b"<urlset></urlset>", ""),
    row("cut", gzip.compress(pages("/a") + b" " * 9_000)[:-9], "list: "),
)
def test_what_cannot_be_read_is_said(body: bytes, said: str, site: Path) -> None:
    (site / "list").write_bytes(body)
    ended = run_here(*AUDIT, "--urls", "list", cwd=site)
    assert ended.status == (2 if said else 0)
    assert said in ended.err


def test_sitemap_at_a_url_is_fetched_with_those_in_it(tmp_path: Path) -> None:
    with Site({}) as other, Site({}) as shop:
        shop.pages.update(
            {
                "/robots.txt": ROBOTS,
                "/index.xml.gz": gzip.compress(
                    index(
                        shop.url("/1.xml"),
                        "2.xml",
                        other.url("/3.xml"),
                        shop.url("/gone.xml"),
                        "file:///etc/passwd",
                    )
                ),
                "/1.xml": pages("/a", "/cart/1", host=shop.url("")),
                "/2.xml": pages("/hidden", host=shop.url("")),
                "/gone.xml": Reply(404),
            }
        )
        other.pages.update(
            {
                "/robots.txt": b"user-agent: *\ndisallow: /3",
                "/3.xml": pages("/x", host=other.url("")),
            }
        )
        words = (
            "audit",
            "--urls",
            shop.url("/index.xml.gz"),
            "--as",
            "bingbot",
            "--format",
            "jsonl",
        )
        ended = run(*words, cwd=tmp_path)
        by_url = {one["url"]: one["bingbot"] for one in jsonl(ended.out)}
        assert by_url == {
            shop.url("/a"): 1,
            shop.url("/cart/1"): 0,
            shop.url("/hidden"): 0,
            other.url("/x"): 1,
        }
        assert ended.status == 2, "since a sitemap is missing"
        assert f"sitemap: {shop.url('/gone.xml')}: HTTP 404\n" in ended.err
        assert "sitemap: file:///etc/passwd: not an absolute http or https URL\n" in ended.err
        assert [
            line.split()[-1] for line in ended.err.splitlines() if line.startswith("disallowed")
        ] == [other.url("/3.xml")]
        assert shop.paths().count("/robots.txt") == 1


def test_missing_file_of_an_index_is_fetched(tmp_path: Path) -> None:
    with Site({}) as shop:
        shop.pages["/1.xml"] = pages("/a", host=shop.url(""))
        (tmp_path / "index.xml").write_bytes(index(shop.url("/1.xml")))
        (tmp_path / "robots.txt").write_bytes(ROBOTS)
        ended = run(*AUDIT, "--urls", "index.xml", cwd=tmp_path)
    assert (ended.status, [json.loads(line)["*"] for line in ended.out.splitlines()]) == (0, [1])


PUBLIC = "http://public.example"
ON_THE_MACHINE = ("http://localhost/1.xml", "http://127.1/2.xml", "http://[::1]/3.xml")
PRIVATE = "http://10.0.0.1/4.xml"


@table(
    "setting, skipped",
    row("default", (), ON_THE_MACHINE),
    row(
        "private-addresses-denied",
        ("-s", "GBOT_ROBOTS_DENY_PRIVATE=True"),
        (*ON_THE_MACHINE, PRIVATE),
    ),
)
def test_public_sitemap_does_not_lead_to_the_machine_itself(
    setting: tuple[str, ...], skipped: tuple[str, ...], tmp_path: Path
) -> None:
    """The public site is reached through a proxy, which records all that the command requests."""
    robots_txt = f"{PUBLIC}/robots.txt"
    all_listed = (ON_THE_MACHINE[0], ON_THE_MACHINE[2], PRIVATE, f"{PUBLIC}/a.xml")
    web: dict[str, Content] = {
        robots_txt: ROBOTS,
        f"{PUBLIC}/index.xml": index(f"{PUBLIC}/moved.xml", *all_listed),
        f"{PUBLIC}/moved.xml": redirect(ON_THE_MACHINE[1]),
        f"{PUBLIC}/a.xml": pages("/a", host=PUBLIC),
        "*": pages("/b", host=PUBLIC),
    }
    with Site(web) as proxy:
        env = {"http_proxy": proxy.url(""), "no_proxy": ""}
        words = ("audit", "--urls", f"{PUBLIC}/index.xml", "--format", "jsonl", *setting)
        ended = run(*words, cwd=tmp_path, env=env)
        asked = set(proxy.paths())
    own = {f"{PUBLIC}/{name}" for name in ("robots.txt", "index.xml", "moved.xml", "a.xml")}
    others = set() if PRIVATE in skipped else {PRIVATE, "http://10.0.0.1/robots.txt"}
    assert asked == own | others
    assert ended.status == 2, "because the list is not complete"
    for url in skipped:
        assert [line for line in ended.err.splitlines() if "skipped by" in line and url in line]


def test_user_may_name_a_sitemap_that_leads_to_the_machine_itself(tmp_path: Path) -> None:
    moved = redirect("http://127.0.0.1/2.xml")
    there = pages("/a", host="http://localhost")
    web: dict[str, Content] = {
        "http://localhost/1.xml": moved,
        "http://127.0.0.1/2.xml": there,
        "*": Reply(404),
    }
    with Site(web) as proxy:
        env = {"http_proxy": proxy.url(""), "no_proxy": ""}
        (tmp_path / "index.xml").write_bytes(index("http://localhost/1.xml"))
        words = ("audit", "--urls", "index.xml", "--format", "jsonl")
        ended = run(*words, cwd=tmp_path, env=env)
    assert (ended.status, answers(ended)) == (0, {"a": 1})
