"""What real generators write, read as a crawl reads it: robots.txt files and sitemaps in tests/data/generators.

`python -m tools.generators` makes the files anew, from small sites on https://example.org. The expectations were written by hand, from
the files, RFC 9309, Google's page and sitemaps.org.
"""

import gzip
import re
from pathlib import Path
from unittest.mock import ANY

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.lint import findings
from scrapy_gbot_robots.sitemaps.reader import SitemapReader
from tools.generators.sites import SITES

from ..support.command import jsonl, run_here
from ..support.crawls import crawl, in_reactor
from ..support.rows import row, table
from ..support.sitemap_web import Hosts, host_stats, parsed
from ..support.web import Reply, Site

DATA = Path(__file__).parents[1] / "data" / "generators"
ORG = "https://example.org"


def text_of(name: str, file: str) -> str:
    return (DATA / name / file).read_text("utf-8")


def test_each_site_of_the_script_has_its_files() -> None:
    made = {name: {*site.files, *site.answers} for name, site in SITES.items()}
    assert {path.name: {file.name for file in path.iterdir()} for path in DATA.iterdir()} == made


# robots.txt: what lint finds once the site has a real name, which sitemaps it lists, what two paths get


@table(
    "name, kinds, sitemaps, asked",
    row("hugo", "hugo", {"group without rules"}, [], {"/": True, "/shop/tea/": True}),
    row("jekyll", "jekyll", {"bad sitemap"}, [], {"/": True, "/admin.html": True}),
    row("jekyll-url", "jekyll-url", set(), ["/docs/sitemap.xml"], {"/docs/": True, "/": True}),
    row(
        "datasette",
        "datasette",
        {"whole site disallowed"},
        ["/sitemap.xml"],
        {"/": False, "/x": False},
    ),
    row("astro", "astro", set(), ["/docs/sitemap-index.xml"], {"/docs/": True, "/docs/404": True}),
    row("hexo", "hexo", {"bad sitemap"}, [], {"/admin/": False, "/tea/": True}),
    row(
        "next",
        "next",
        {"bad sitemap", "joined groups", "field of other crawlers", "first parameter"},
        ["/shop/sitemap/0.xml"],
        {"/admin/": False, "/tea?sort=name&q=x": True},
    ),
    row(
        "nuxt",
        "nuxt",
        {"first parameter"},
        ["/sitemap_index.xml"],
        {"/admin/": False, "/admin": True, "/shop/tea?q=x": False},
    ),
    row(
        "wordpress",
        "wordpress",
        set(),
        ["/wp-sitemap.xml"],
        {"/wp-admin/": False, "/wp-admin/admin-ajax.php": True, "/wp-login.php": True},
    ),
)
def test_robots_txt_of_a_generator_is_read(
    name: str, kinds: set[str], sitemaps: list[str], asked: dict[str, bool]
) -> None:
    text = text_of(name, "robots.txt")
    named = text.replace("example.org", "tea.shop")
    assert {one.kind for one in findings(named.encode())} == kinds
    robots = RobotsTxt.parse(text.encode())
    assert [*robots.sitemaps] == [ORG + path for path in sitemaps]
    assert {path: robots.allowed(ORG + path, "mybot") for path in asked} == asked


def test_crawler_of_next_js_without_rules_shares_the_group_below() -> None:
    robots = RobotsTxt.parse(text_of("next", "robots.txt").encode())
    # RFC 9309, 2.2.1: the rules that follow a run of user-agent lines hold for all of them
    assert not robots.allowed(f"{ORG}/admin/", "examplebot")
    assert robots.allowed(f"{ORG}/admin/", "Googlebot")


@table(
    "name, agent, path, rule",
    row("hugo", "hugo", "mybot", "/", None),
    row("jekyll", "jekyll", "mybot", "/admin.html", None),
    row("datasette", "datasette", "mybot", "/sitemap.xml", 2),
    row("hexo", "hexo", "mybot", "/admin/", 2),
    row("next-crawler-without-rules", "next", "examplebot", "/admin/", 8),
    row("next-search-engine", "next", "Bingbot", "/admin/", 3),
    row("nuxt-group-of-two-crawlers", "nuxt", "examplebot", "/shop/tea", 8),
    row("wordpress-longer-allow", "wordpress", "mybot", "/wp-admin/admin-ajax.php", 3),
)
def test_check_names_the_rule_of_a_generator(
    name: str, agent: str, path: str, rule: int | None, tmp_path: Path
) -> None:
    file = str(DATA / name / "robots.txt")
    ended = run_here("check", "--json", "--robots", file, "--as", agent, path, cwd=tmp_path)
    [answer] = jsonl(ended.out)
    assert (answer["rule"] or {}).get("line") == rule


# the reader: what each file lists, and by which day

JEKYLL = ["/", "/price%20list.html", "/shop/tea.html"]
JEKYLL_DAYS = [None, None, "2026-01-02T00:00:00+00:00"]
GREEN, INDIA = "/shop/gr%C3%BCner-tee/", "2026-01-03T23:30:00+05:30"
CHICAGO = "2026-01-02T17:30:00-06:00"
DAY = "2026-01-02"
BUILT = ANY  # a page without a date gets the moment of the build


def at(host: str, *paths: str) -> list[str]:
    return [host + path for path in paths]


@table(
    "name, file, locs, lastmods",
    row(
        "hugo-without-baseURL",
        "hugo",
        "sitemap.xml",
        [GREEN, "/", "/shop/", "/shop/tea/", "/categories/", "/tags/"],
        [INDIA, INDIA, INDIA, "2026-01-02T00:00:00+00:00", None, None],
    ),
    row(
        "hugo-index-of-languages",
        "hugo-languages",
        "sitemap.xml",
        at(ORG, "/en/sitemap.xml", "/de/sitemap.xml"),
        [INDIA, "2026-01-02T00:00:00+00:00"],
    ),
    row(
        "hugo-second-language",
        "hugo-languages",
        "de-sitemap.xml",
        at(ORG, "/de/", "/de/shop/", "/de/shop/tea/"),
        ["2026-01-02T00:00:00+00:00"] * 3,
    ),
    row("jekyll", "jekyll", "sitemap.xml", JEKYLL, JEKYLL_DAYS),
    row("jekyll-url", "jekyll-url", "sitemap.xml", at(f"{ORG}/docs", *JEKYLL), JEKYLL_DAYS),
    row("mkdocs-without-site_url", "mkdocs", "sitemap.xml", [], []),
    row(
        "mkdocs",
        "mkdocs-url",
        "sitemap.xml",
        at(ORG, "/docs/", "/docs/shop/green%20tea/"),
        [DAY] * 2,
    ),
    row(
        "mkdocs-gzip",
        "mkdocs-url",
        "sitemap.xml.gz",
        at(ORG, "/docs/", "/docs/shop/green%20tea/"),
        [DAY] * 2,
    ),
    row(
        "sphinx",
        "sphinx",
        "sitemap.xml",
        at(f"{ORG}/docs/en/1.0", "/index.html", "/tea.html", "/genindex.html", "/search.html"),
        [None] * 4,
    ),
    row(
        "django-index",
        "django",
        "sitemap.xml",
        [
            *at("http://example.org", "/sitemap-teas.xml", "/sitemap-teas.xml?p=2"),
            f"{ORG}/sitemap-secure.xml",
        ],
        [CHICAGO, CHICAGO, None],
    ),
    row(
        "django-first-page",
        "django",
        "sitemap-teas.xml",
        at("http://example.org", "/tea/?sort=name&page=1", "/tea/grün"),
        [DAY] * 2,
    ),
    row(
        "django-last-page", "django", "sitemap-teas-2.xml", ["http://example.org/tea/black"], [DAY]
    ),
    row("django-https", "django", "sitemap-secure.xml", [f"{ORG}/account/"], [None]),
    row(
        "datasette-raw-ampersand",
        "datasette",
        "sitemap.xml",
        at(ORG, "/shop/tea", "/shop/grün", "/shop/a?x=1&y=2"),
        [None] * 3,
    ),
    row(
        "eleventy-lists-its-error-page",
        "eleventy",
        "sitemap.xml",
        at(ORG, "/404.html", "/", "/shop/tea/"),
        [f"{day}T00:00:00.000Z" for day in (DAY, DAY, "2026-01-03")],
    ),
    row("astro-index", "astro", "sitemap-index.xml", [f"{ORG}/docs/sitemap-0.xml"], [None]),
    row(
        "astro-lists-home-twice",
        "astro",
        "sitemap-0.xml",
        at(ORG, "/docs", "/docs/", "/docs/shop/tea/"),
        [None] * 3,
    ),
    row(
        "vitepress",
        "vitepress",
        "sitemap.xml",
        at(ORG, "/", "/shop/", "/shop/tea.html"),
        [None] * 3,
    ),
    row(
        "pelican-without-SITEURL",
        "pelican",
        "sitemap.xml",
        [
            *("/", "/archives.html", "/authors.html", "/categories.html", "/category/drinks.html"),
            *("/pages/about.html", "/tags.html", "/tea.html"),
        ],
        [BUILT] * 7 + ["2026-01-02T10:20:00+01:00"],
    ),
    row(
        "hexo-as-installed",
        "hexo",
        "sitemap.xml",
        at("http://example.com", "/about/index.html", "/tea/", "/"),
        ["2026-01-03", DAY, BUILT],
    ),
    row(
        "hexo-text",
        "hexo",
        "sitemap.txt",
        at("http://example.com", "/about/index.html", "/tea/", "/"),
        [None] * 3,
    ),
    row(
        "next-raw-ampersand-and-relative-loc",
        "next",
        "sitemap.xml",
        [ORG, f"{ORG}/tea?sort=name&page=2", "/black"],
        ["2026-01-02T03:04:05.678Z", "2026-01-03", None],
    ),
    row("next-part", "next", "shop-sitemap-0.xml", [f"{ORG}/shop/0"], [None]),
    row(
        "nuxt-index-with-a-comment-after-the-root",
        "nuxt",
        "sitemap_index.xml",
        [f"{ORG}/__sitemap__/0.xml"],
        [None],
    ),
    row(
        "nuxt-lists-a-page-twice",
        "nuxt",
        "sitemap-0.xml",
        at(ORG, "/", "/admin", "/shop/gr%25C3%25BCn", "/shop/gr%C3%BCn", "/shop/tea"),
        [None] * 5,
    ),
    row("nuxt-moved-by-a-page", "nuxt", "sitemap.xml.html", [], []),
    row(
        "wordpress-index",
        "wordpress",
        "wp-sitemap.xml",
        at(
            ORG,
            "/wp-sitemap-posts-post-1.xml",
            "/wp-sitemap-posts-page-1.xml",
            "/wp-sitemap-taxonomies-category-1.xml",
            "/wp-sitemap-users-1.xml",
        ),
        [None] * 4,
    ),
    row(
        "wordpress-index-of-plain-permalinks",
        "wordpress",
        "plain-sitemap.xml",
        at(
            ORG,
            "/?sitemap=posts&sitemap-subtype=post&paged=1",
            "/?sitemap=posts&sitemap-subtype=page&paged=1",
            "/?sitemap=taxonomies&sitemap-subtype=category&paged=1",
            "/?sitemap=users&paged=1",
        ),
        [None] * 4,
    ),
    row(
        "wordpress-posts",
        "wordpress",
        "wp-sitemap-posts-post-1.xml",
        at(ORG, "/hello-world/", "/tea-more/", "/%e8%8c%b6/", "/locked/"),
        [None] * 4,
    ),
    row(
        "wordpress-pages",
        "wordpress",
        "wp-sitemap-posts-page-1.xml",
        at(ORG, "/sample-page/", "/news/", "/"),
        [None] * 3,
    ),
    row(
        "wordpress-categories",
        "wordpress",
        "wp-sitemap-taxonomies-category-1.xml",
        [f"{ORG}/category/uncategorized/"],
        [None],
    ),
    row("wordpress-users", "wordpress", "wp-sitemap-users-1.xml", [f"{ORG}/author/admin/"], [None]),
    row(
        "mediawiki-index",
        "mediawiki",
        "sitemap-index-my_wiki.xml",
        at(f"{ORG}/maps", "/sitemap-my_wiki-NS_0-0.xml.gz", "/sitemap-my_wiki-NS_1-0.xml.gz"),
        [BUILT] * 2,
    ),
    row(
        "mediawiki-lists-redirects",
        "mediawiki",
        "sitemap-my_wiki-NS_0-0.xml.gz",
        at(f"{ORG}/wiki", "/Gr%C3%BCner_Tee", "/Main_Page", "/Old_tea", "/Tea_%26_cake%3F"),
        [BUILT] * 4,
    ),
    row(
        "mediawiki-talk",
        "mediawiki",
        "sitemap-my_wiki-NS_1-0.xml.gz",
        [f"{ORG}/wiki/Talk:Tea_%26_cake%3F"],
        [BUILT],
    ),
)
def test_sitemap_of_a_generator_is_read(
    name: str, file: str, locs: list[str], lastmods: list[str | None]
) -> None:
    reader = SitemapReader((DATA / name / file).read_bytes())
    entries = [entry for entry in reader if entry is not None]
    assert [entry["loc"] for entry in entries] == locs
    assert [entry.get("lastmod") for entry in entries] == lastmods


# discovery: which pages a crawl finds that was given the host alone, and what led to them

GUESSED, LISTED, WITHOUT = {"guessed": 1}, {"listed": 1}, {"without": 1}
ROOT = {"/sitemap.xml": "sitemap.xml"}
ROBOTS = {"/robots.txt": "robots.txt"}


@table(
    "name, served, fates, pages",
    row(
        "hugo",
        "hugo",
        ROBOTS | ROOT,
        GUESSED,
        {GREEN, "/", "/shop/", "/shop/tea/", "/categories/", "/tags/"},
    ),
    row(
        "hugo-languages",
        "hugo-languages",
        {**ROOT, "/en/sitemap.xml": "en-sitemap.xml", "/de/sitemap.xml": "de-sitemap.xml"},
        GUESSED,
        {GREEN, "/", "/shop/", "/shop/tea/", "/de/", "/de/shop/", "/de/shop/tea/"},
    ),
    row("jekyll", "jekyll", ROBOTS | ROOT, GUESSED, set(JEKYLL)),
    row(
        "jekyll-url",
        "jekyll-url",
        {**ROBOTS, "/docs/sitemap.xml": "sitemap.xml"},
        LISTED,
        set(at("/docs", *JEKYLL)),
    ),
    row("mkdocs", "mkdocs", ROOT, GUESSED | WITHOUT, set()),
    row("mkdocs-url", "mkdocs-url", ROOT, GUESSED, {"/docs/", "/docs/shop/green%20tea/"}),
    row(
        "pelican",
        "pelican",
        ROOT,
        GUESSED,
        {"/", "/tea.html", "/pages/about.html", "/category/drinks.html"}
        | {f"/{page}.html" for page in ("archives", "authors", "categories", "tags")},
    ),
    row(
        "django",
        "django",
        {
            **ROOT,
            "/sitemap-teas.xml": "sitemap-teas.xml",
            "/sitemap-teas.xml?p=2": "sitemap-teas-2.xml",
            "/sitemap-secure.xml": "sitemap-secure.xml",
        },
        GUESSED,
        {"/tea/?sort=name&page=1", "/tea/gr%C3%BCn", "/tea/black", "/account/"},
    ),
    row(
        "datasette", "datasette", ROBOTS | ROOT, WITHOUT, set()
    ),  # its robots.txt disallows its sitemap
    row("eleventy", "eleventy", ROOT, GUESSED, {"/404.html", "/", "/shop/tea/"}),
    row(
        "astro",
        "astro",
        {
            **ROBOTS,
            "/docs/sitemap-index.xml": "sitemap-index.xml",
            "/docs/sitemap-0.xml": "sitemap-0.xml",
        },
        LISTED,
        {"/docs", "/docs/", "/docs/shop/tea/"},
    ),
    row("vitepress", "vitepress", ROOT, GUESSED, {"/", "/shop/", "/shop/tea.html"}),
    row("hexo", "hexo", ROBOTS | ROOT, GUESSED, set()),  # its pages are on example.com
    row(
        "next",
        "next",
        {**ROBOTS, **ROOT, "/shop/sitemap/0.xml": "shop-sitemap-0.xml"},
        LISTED | GUESSED,  # a relative line may mean what is guessed
        {"/shop/0", "", "/tea?sort=name&page=2", "/black"},
    ),
    row(
        "nuxt",
        "nuxt",
        {
            **ROBOTS,
            "/sitemap_index.xml": "sitemap_index.xml",
            "/__sitemap__/0.xml": "sitemap-0.xml",
        },
        LISTED,
        {"/", "/admin", "/shop/gr%25C3%25BCn", "/shop/gr%C3%BCn", "/shop/tea"},
    ),
    row(
        "nuxt-without-its-robots.txt",
        "nuxt",
        {"/sitemap.xml": "sitemap.xml.html", "/sitemap_index.xml": "sitemap_index.xml"},
        GUESSED
        | WITHOUT,  # the page that leads to the index is no sitemap, and its refresh is not followed
        set(),
    ),
    row(
        "wordpress",
        "wordpress",
        {**ROBOTS}
        | {
            f"/{name}": name
            for name in (
                "wp-sitemap.xml",
                "wp-sitemap-posts-post-1.xml",
                "wp-sitemap-posts-page-1.xml",
                "wp-sitemap-taxonomies-category-1.xml",
                "wp-sitemap-users-1.xml",
            )
        },
        LISTED,
        {"/", "/hello-world/", "/tea-more/", "/%e8%8c%b6/", "/locked/", "/sample-page/", "/news/"}
        | {"/category/uncategorized/", "/author/admin/"},
    ),
    row(
        "mediawiki",
        "mediawiki",
        {
            "/sitemap.xml": "sitemap-index-my_wiki.xml",  # a name that wiki owners link to it
            "/maps/sitemap-my_wiki-NS_0-0.xml.gz": "sitemap-my_wiki-NS_0-0.xml.gz",
            "/maps/sitemap-my_wiki-NS_1-0.xml.gz": "sitemap-my_wiki-NS_1-0.xml.gz",
        },
        GUESSED,
        {*at("/wiki", "/Gr%C3%BCner_Tee", "/Main_Page", "/Old_tea", "/Tea_%26_cake%3F")}
        | {"/wiki/Talk:Tea_%26_cake%3F"},
    ),
)
@in_reactor
async def test_pages_of_a_generator_are_found(
    name: str, served: dict[str, str], fates: dict[str, int], pages: set[str]
) -> None:
    with Site({"*": b"page", "/robots.txt": Reply(404), "/sitemap.xml": Reply(404)}) as site:
        for path, file in served.items():
            body = (DATA / name / file).read_bytes()
            packed = file.endswith(".gz")
            body = gzip.decompress(body) if packed else body
            body = re.sub(rb"https?://example\.org", site.url("").encode(), body)
            site.pages[path] = gzip.compress(body) if packed else body
        crawler = await crawl(Hosts, hosts=[site.url()], sitemap_guess=True)
        assert set(parsed(crawler)) == set(map(site.url, pages))
        assert host_stats(crawler) == fates
