"""The small sites: what each contains, which generator builds it, and which of its files are kept."""

from __future__ import annotations

import json
from typing import NamedTuple


class Site(NamedTuple):
    """A site that a generator builds.

    `sources` are its files by path, `commands` build it. Of what is built, `files` are kept: from a name in tests/data/generators to
    a path. `answers` are kept, too: what these commands write, of a generator that has no files.
    """

    versions: str
    sources: dict[str, str]
    commands: list[list[str]]
    files: dict[str, str]
    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    answers: dict[str, list[str]] = {}  # noqa: RUF012  nobody changes it


def _page(title: str, more: str = "") -> str:
    return f"---\ntitle: {title}\n{more}---\nText.\n"


_MARKDOWN = {
    "content/_index.md": _page("Home"),
    "content/shop/tea.md": _page("Tea", "date: 2026-01-02\n"),
    "content/shop/grüner-tee.md": _page("Green tea", "date: 2026-01-03T23:30:00+05:30\n"),
}
_HUGO = {
    "layouts/_default/single.html": "{{ .Title }}",
    "layouts/_default/list.html": "{{ .Title }}",
    "layouts/index.html": "{{ .Title }}",
}
_JEKYLL = {
    "index.md": _page("Home"),
    "shop/tea.md": _page("Tea", "last_modified_at: 2026-01-02\n"),
    "admin.md": _page("Admin", "sitemap: false\n"),
    "404.md": _page("Missing", "permalink: /404.html\n"),
    "price list.md": _page("Prices"),
}
_MKDOCS = {"docs/index.md": "# Home\n", "docs/shop/green tea.md": "# Tea\n"}
_SPHINX = """
project = "shop"
extensions = ["sphinx_sitemap"]
html_baseurl = "https://example.org/docs/"
version = "1.0"
sitemap_excludes = []
"""
_PELICAN = """
SITENAME = "Shop"
SITEURL = {url!r}
TIMEZONE = "Europe/Berlin"
PATH = "content"
PLUGINS = ["pelican.plugins.sitemap"]
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
"""
_PELICAN_PAGES = {
    "content/tea.md": "Title: Tea\nDate: 2026-01-02 10:20\nCategory: Drinks\n\nText.\n",
    "content/pages/about.md": "Title: About\n\nText.\n",
}
_DJANGO = """
import sys
from datetime import datetime, timezone

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x",
    ROOT_URLCONF="__main__",
    ALLOWED_HOSTS=["example.org"],
    USE_TZ=True,
    INSTALLED_APPS=["django.contrib.sitemaps"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()

from django.contrib.sitemaps import Sitemap, views
from django.test import Client
from django.urls import path


class Teas(Sitemap):
    limit = 2
    changefreq = "daily"

    def items(self):
        return ["/tea/?sort=name&page=1", "/tea/grün", "/tea/black"]

    def location(self, item):
        return item

    def lastmod(self, item):
        return datetime(2026, 1, 2, 23, 30, tzinfo=timezone.utc)


class Secure(Sitemap):
    protocol = "https"

    def items(self):
        return ["/account/"]

    def location(self, item):
        return item


maps = {"teas": Teas, "secure": Secure}
urlpatterns = [
    path("sitemap.xml", views.index, {"sitemaps": maps}),
    path("sitemap-<section>.xml", views.sitemap, {"sitemaps": maps}, name="django.contrib.sitemaps.views.sitemap"),
]
answer = Client(headers={"host": "example.org"}).get(sys.argv[1])
assert answer.status_code == 200, answer
sys.stdout.buffer.write(answer.content)
"""
_DATASETTE = {
    "plugins": {
        "datasette-sitemap": {
            "base_url": "https://example.org",
            "sql": 'select \'/shop/\' || value as path from json_each(\'["tea", "gr\u00fcn", "a?x=1&y=2"]\')',
        },
    }
}
_ELEVENTY = """
const sitemap = require("@quasibit/eleventy-plugin-sitemap");
module.exports = (config) => {
  config.addPlugin(sitemap, { sitemap: { hostname: "https://example.org" } });
};
"""
_ELEVENTY_SITEMAP = """---
permalink: /sitemap.xml
layout: null
eleventyExcludeFromCollections: true
---
{% sitemap collections.all %}
"""
_ASTRO = """
import {{ defineConfig }} from "astro/config";
import sitemap from "@astrojs/sitemap";
import robots from "astro-robots-txt";
export default defineConfig({{ site: "https://example.org", base: "{base}", integrations: [sitemap(), robots()] }});
"""
_ASTRO_PAGES = {
    "src/pages/index.astro": "<p>Home</p>",
    "src/pages/shop/tea.astro": "<p>Tea</p>",
    "src/pages/404.astro": "<p>Missing</p>",
}
_VITEPRESS = """
export default { sitemap: { hostname: "https://example.org" }, lastUpdated: false, ignoreDeadLinks: true };
"""
_HEXO = """
title: Shop
url: {url}
permalink: :title/
timezone: UTC
theme: bare
sitemap: {{ path: [sitemap.xml, sitemap.txt] }}
robotstxt:
  useragent: "*"
  disallow: [/admin/]
  sitemap: /sitemap.xml
"""
_HEXO_PAGES = {
    "source/_posts/tea.md": "---\ntitle: Tea\ndate: 2026-01-02 10:20:00\nupdated: 2026-01-02 23:30:00\n---\nText.\n",
    "source/about/index.md": "---\ntitle: About\ndate: 2026-01-02 10:20:00\nupdated: 2026-01-03 10:20:00\n---\nText.\n",
    "themes/bare/layout/index.ejs": "page",
    "themes/bare/layout/post.ejs": "page",
    "themes/bare/layout/page.ejs": "page",
}
_NEXT = {
    "app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;\n",
    "app/page.js": "export default () => <p>Home</p>;\n",
    "app/robots.js": """
export default () => ({
  rules: [
    { userAgent: ["Googlebot", "Bingbot"], allow: "/", disallow: [] },
    { userAgent: "examplebot", disallow: "" },
    { userAgent: "*", disallow: ["/admin/", "/*?q="], crawlDelay: 2 },
  ],
  sitemap: ["/sitemap.xml", "https://example.org/shop/sitemap/0.xml"],
  host: "https://example.org",
});
""",
    "app/sitemap.js": """
export default () => [
  { url: "https://example.org", lastModified: new Date("2026-01-02T03:04:05.678Z"), changeFrequency: "yearly", priority: 1 },
  { url: "https://example.org/tea?sort=name&page=2", lastModified: "2026-01-03",
    alternates: { languages: { de: "https://example.org/de/tea?sort=name&page=2" } } },
  { url: "/black", images: ["https://example.org/black.jpg"] },
];
""",
    "app/shop/sitemap.js": """
export const generateSitemaps = async () => [{ id: 0 }];
export default async ({ id }) => [{ url: `https://example.org/shop/${await id}` }];
""",
}
_NEXT_FILES = ".next/server/app"
_NUXT = """
export default defineNuxtConfig({
  modules: ["@nuxtjs/robots", "@nuxtjs/sitemap"],
  site: { url: "https://example.org", name: "Shop" },
  telemetry: false,
  robots: { disallow: ["/admin/", "/*?q="], groups: [{ userAgent: ["examplebot", "otherbot"], disallow: "/" }] },
  sitemap: { sitemaps: true },
  routeRules: { "/hidden": { robots: false } },
});
"""
_NUXT_HOME = """<template><div>
<NuxtLink to="/shop/tea">Tea</NuxtLink><NuxtLink to="/hidden">Hidden</NuxtLink><NuxtLink to="/admin/">Admin</NuxtLink>
</div></template>
"""
_NUXT_PAGES = {
    "app/pages/index.vue": _NUXT_HOME,
    "app/pages/shop/tea.vue": "<template><p>Tea</p></template>\n",
    "app/pages/shop/grün.vue": "<template><p>Green tea</p></template>\n",
    "app/pages/hidden.vue": "<template><p>Hidden</p></template>\n",
    "app/pages/admin.vue": "<template><p>Admin</p></template>\n",
}
# Each request to WordPress is a run of PHP, as a web server would start it. MariaDB listens on a socket in the site's directory alone.
_WORDPRESS_REQUEST = """<?php
$_SERVER = ["HTTP_HOST" => "example.org", "HTTPS" => "on", "REQUEST_METHOD" => "GET", "REQUEST_URI" => $argv[1] ?? "/",
    "SERVER_PROTOCOL" => "HTTP/1.1", "SCRIPT_NAME" => "/index.php", "PHP_SELF" => "/index.php"] + $_SERVER;
"""
_WORDPRESS = {
    "request.php": _WORDPRESS_REQUEST,
    "config.php": """<?php
define("DB_NAME", "shop"); define("DB_USER", "root"); define("DB_PASSWORD", ""); define("DB_CHARSET", "utf8mb4"); define("DB_COLLATE", "");
define("DB_HOST", "localhost:" . dirname(__DIR__) . "/db.sock");
define("WP_HTTP_BLOCK_EXTERNAL", true); define("DISABLE_WP_CRON", true);
$table_prefix = "wp_";
if (!defined("ABSPATH")) define("ABSPATH", __DIR__ . "/");
require_once ABSPATH . "wp-settings.php";
""",
    "install.php": """<?php
require "request.php";
define("WP_INSTALLING", true);
function wp_mail() { return true; }
require "html/wp-load.php";
require_once ABSPATH . "wp-admin/includes/upgrade.php";
wp_install("Shop", "admin", "admin@example.org", true, "", "a long enough password");
update_option("siteurl", "https://example.org");
update_option("home", "https://example.org");
""",
    "fill.php": """<?php
require "request.php";
require "html/wp-load.php";
$wp_rewrite->set_permalink_structure("/%postname%/");
$wp_rewrite->flush_rules();
$add = fn($title, $more = []) => wp_insert_post(["post_title" => $title, "post_status" => "publish", "post_author" => 1, ...$more]);
$add("Tea & more");
$add("茶");
$add("Locked", ["post_password" => "open"]);
$add("Private", ["post_status" => "private"]);
$add("Tomorrow", ["post_status" => "future", "post_date" => "2099-01-01 00:00:00"]);
$news = $add("News", ["post_type" => "page"]);
$front = $add("Front", ["post_type" => "page"]);
update_option("show_on_front", "page");
update_option("page_on_front", $front);
update_option("page_for_posts", $news);
""",
    "plain.php": """<?php
require "request.php";
require "html/wp-load.php";
$wp_rewrite->set_permalink_structure("");
""",
    "get.php": """<?php
require "request.php";
parse_str(parse_url($argv[1], PHP_URL_QUERY) ?? "", $_GET);
define("WP_USE_THEMES", true);
require "html/wp-blog-header.php";
""",
    "build.sh": """set -eu
cp -rL /usr/share/wordpress html
cp config.php html/wp-config.php
mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$PWD/data" --auth-root-authentication-method=normal > /dev/null
mariadbd --no-defaults --user="$(id -un)" --datadir="$PWD/data" --skip-networking --socket="$PWD/db.sock" 2> db.log &
trap 'kill $!; wait' EXIT
for try in 1 2 3 4 5 6 7 8 9 10; do mariadb -uroot --socket="$PWD/db.sock" -e 'create database shop' 2> /dev/null && break; sleep 1; done
php install.php
php fill.php
for name in robots.txt wp-sitemap.xml wp-sitemap-posts-post-1.xml wp-sitemap-posts-page-1.xml wp-sitemap-taxonomies-category-1.xml wp-sitemap-users-1.xml; do
    php get.php "/$name" > "$name"
done
php plain.php
php get.php '/?sitemap=index' > plain-sitemap.xml
""",
}
_MEDIAWIKI = {
    "build.sh": """set -eu
php=/usr/share/mediawiki/maintenance
mkdir db conf out
php $php/install.php --dbtype sqlite --dbpath "$PWD/db" --dbname my_wiki --confpath "$PWD/conf" --server https://example.org --scriptpath /w \
    --pass 'a long enough password' Shop Admin
echo '$wgArticlePath = "/wiki/$1"; $wgJobRunRate = 0;' >> conf/LocalSettings.php
page() { printf '%s' "$2" | php $php/edit.php --conf conf/LocalSettings.php -u Admin "$1"; }
page 'Tea & cake?' 'Tea.'
page 'Grüner Tee' 'Green tea.'
page 'Hidden' '__NOINDEX__'
page 'Old tea' '#REDIRECT [[Tea & cake?]]'
page 'Talk:Tea & cake?' 'Talk.'
php $php/generateSitemap.php --conf conf/LocalSettings.php --fspath out --identifier my_wiki --server https://example.org --urlpath /maps/
""",
}

SITES = {
    "hugo": Site(
        "Hugo 0.111.3",
        {**_MARKDOWN, **_HUGO, "config.toml": 'title = "Shop"\nenableRobotsTXT = true\n'},
        [["hugo", "--quiet"]],
        {"robots.txt": "public/robots.txt", "sitemap.xml": "public/sitemap.xml"},
    ),
    "hugo-languages": Site(
        "Hugo 0.111.3",
        {
            **_MARKDOWN,
            **_HUGO,
            "content/shop/tea.de.md": _page("Tee", "date: 2026-01-02\n"),
            "config.toml": 'title = "Shop"\nbaseURL = "https://example.org/"\ndisableKinds = ["taxonomy", "term"]\n'
            "[languages]\n[languages.en]\nweight = 1\n[languages.de]\nweight = 2\n",
        },
        [["hugo", "--quiet"]],
        {
            "sitemap.xml": "public/sitemap.xml",
            "en-sitemap.xml": "public/en/sitemap.xml",
            "de-sitemap.xml": "public/de/sitemap.xml",
        },
    ),
    "jekyll": Site(
        "Jekyll 4.3.1, jekyll-sitemap 1.4.0",
        {**_JEKYLL, "_config.yml": "title: Shop\nplugins: [jekyll-sitemap]\n"},
        [["jekyll", "build", "--quiet"]],
        {"robots.txt": "_site/robots.txt", "sitemap.xml": "_site/sitemap.xml"},
    ),
    "jekyll-url": Site(
        "Jekyll 4.3.1, jekyll-sitemap 1.4.0",
        {
            **_JEKYLL,
            "_config.yml": "title: Shop\nurl: https://example.org\nbaseurl: /docs\nplugins: [jekyll-sitemap]\n",
        },
        [["jekyll", "build", "--quiet"]],
        {"robots.txt": "_site/robots.txt", "sitemap.xml": "_site/sitemap.xml"},
    ),
    "mkdocs": Site(
        "MkDocs 1.6.1",
        {**_MKDOCS, "mkdocs.yml": "site_name: Shop\n"},
        [["env/bin/mkdocs", "build", "-q"]],
        {"sitemap.xml": "site/sitemap.xml"},
        pip=("mkdocs==1.6.1",),
    ),
    "mkdocs-url": Site(
        "MkDocs 1.6.1",
        {**_MKDOCS, "mkdocs.yml": "site_name: Shop\nsite_url: https://example.org/docs\n"},
        [["env/bin/mkdocs", "build", "-q"]],
        {"sitemap.xml": "site/sitemap.xml", "sitemap.xml.gz": "site/sitemap.xml.gz"},
        pip=("mkdocs==1.6.1",),
    ),
    "sphinx": Site(
        "Sphinx 9.0.4, sphinx-sitemap 2.9.0",
        {
            "docs/conf.py": _SPHINX,
            "docs/index.rst": "Home\n====\n\n.. toctree::\n\n   tea\n",
            "docs/tea.rst": "Tea\n===\n",
        },
        [["env/bin/sphinx-build", "-q", "docs", "out"]],
        {"sitemap.xml": "out/sitemap.xml"},
        pip=("sphinx==9.0.4", "sphinx-sitemap==2.9.0"),
    ),
    "pelican": Site(
        "Pelican 4.12.0, pelican-sitemap 1.2.2",
        {**_PELICAN_PAGES, "pelicanconf.py": _PELICAN.format(url="")},
        [["env/bin/pelican", "-q"]],
        {"sitemap.xml": "output/sitemap.xml"},
        pip=("pelican[markdown]==4.12.0", "pelican-sitemap==1.2.2"),
    ),
    "django": Site(
        "Django 5.2.19",
        {"shop.py": _DJANGO},
        [],
        {},
        pip=("django==5.2.19",),
        answers={
            "sitemap.xml": ["env/bin/python", "shop.py", "/sitemap.xml"],
            "sitemap-teas.xml": ["env/bin/python", "shop.py", "/sitemap-teas.xml"],
            "sitemap-teas-2.xml": ["env/bin/python", "shop.py", "/sitemap-teas.xml?p=2"],
            "sitemap-secure.xml": ["env/bin/python", "shop.py", "/sitemap-secure.xml"],
        },
    ),
    "datasette": Site(
        "datasette 0.65.5, datasette-block-robots 1.1.1, datasette-sitemap 1.0",
        {"metadata.json": json.dumps(_DATASETTE)},
        [],
        {},
        pip=("datasette==0.65.5", "datasette-block-robots==1.1.1", "datasette-sitemap==1.0"),
        answers={
            name: ["env/bin/datasette", "--memory", "-m", "metadata.json", "--get", f"/{name}"]
            for name in ("robots.txt", "sitemap.xml")
        },
    ),
    "eleventy": Site(
        "Eleventy 3.1.8, @quasibit/eleventy-plugin-sitemap 2.2.0",
        {
            ".eleventy.js": _ELEVENTY,
            "sitemap.njk": _ELEVENTY_SITEMAP,
            "index.md": _page("Home", "date: 2026-01-02\n"),
            "shop/tea.md": _page("Tea", "date: 2026-01-03\n"),
            "404.md": _page("Missing", "permalink: /404.html\ndate: 2026-01-02\n"),
        },
        [["npx", "eleventy", "--quiet"]],
        {"sitemap.xml": "_site/sitemap.xml"},
        npm=("@11ty/eleventy@3.1.8", "@quasibit/eleventy-plugin-sitemap@2.2.0"),
    ),
    "astro": Site(
        "Astro 5.18.2, @astrojs/sitemap 3.7.4, astro-robots-txt 1.0.0",
        {**_ASTRO_PAGES, "astro.config.mjs": _ASTRO.format(base="/docs")},
        [["npx", "astro", "build"]],
        {
            "robots.txt": "dist/robots.txt",
            "sitemap-index.xml": "dist/sitemap-index.xml",
            "sitemap-0.xml": "dist/sitemap-0.xml",
        },
        npm=("astro@5.18.2", "@astrojs/sitemap@3.7.4", "astro-robots-txt@1.0.0"),
    ),
    "vitepress": Site(
        "VitePress 1.6.4",
        {
            "docs/.vitepress/config.mjs": _VITEPRESS,
            "docs/index.md": "# Home\n",
            "docs/shop/index.md": "# Shop\n",
            "docs/shop/tea.md": "# Tea\n",
        },
        [["npx", "vitepress", "build", "docs"]],
        {"sitemap.xml": "docs/.vitepress/dist/sitemap.xml"},
        npm=("vitepress@1.6.4",),
    ),
    "hexo": Site(
        "Hexo 8.1.2, hexo-generator-sitemap 3.0.1, hexo-generator-robotstxt 0.2.0",
        {
            **_HEXO_PAGES,
            "_config.yml": _HEXO.format(url="http://example.com"),
            "package.json": '{"name": "shop", "private": true, "hexo": {"version": "8.1.2"}}',
        },
        [["npx", "hexo", "generate"]],
        {name: f"public/{name}" for name in ("robots.txt", "sitemap.xml", "sitemap.txt")},
        npm=(
            "hexo@8.1.2",
            "hexo-generator-sitemap@3.0.1",
            "hexo-generator-robotstxt@0.2.0",
            "hexo-renderer-marked@7.0.1",
            "hexo-renderer-ejs@2.0.0",
        ),
    ),
    "next": Site(
        "Next.js 16.4.6",
        _NEXT,
        [["npx", "next", "build"]],
        {
            "robots.txt": f"{_NEXT_FILES}/robots.txt.body",
            "sitemap.xml": f"{_NEXT_FILES}/sitemap.xml.body",
            "shop-sitemap-0.xml": f"{_NEXT_FILES}/shop/sitemap/0.xml.body",
        },
        npm=("next@16.4.6", "react", "react-dom"),
    ),
    "nuxt": Site(
        "Nuxt 4.4.5, @nuxtjs/robots 6.2.3, @nuxtjs/sitemap 8.5.1",
        {
            **_NUXT_PAGES,
            "nuxt.config.ts": _NUXT,
            # With a newer unstorage, this Nuxt cannot render the home page ahead.
            "package.json": '{"name": "shop", "private": true, "type": "module", "overrides": {"unstorage": "1.17.5"}}',
        },
        [["npx", "nuxt", "generate"]],
        {
            "robots.txt": ".output/public/robots.txt",
            "sitemap_index.xml": ".output/public/sitemap_index.xml",
            "sitemap-0.xml": ".output/public/__sitemap__/0.xml",
            "sitemap.xml.html": ".output/public/sitemap.xml/index.html",
        },
        npm=("nuxt@4.4.5", "@nuxtjs/robots@6.2.3", "@nuxtjs/sitemap@8.5.1"),
    ),
    "wordpress": Site(
        "WordPress 6.1.9",
        _WORDPRESS,
        [["sh", "build.sh"]],
        {
            name: name
            for name in (
                "robots.txt",
                "wp-sitemap.xml",
                "wp-sitemap-posts-post-1.xml",
                "wp-sitemap-posts-page-1.xml",
                "wp-sitemap-taxonomies-category-1.xml",
                "wp-sitemap-users-1.xml",
                "plain-sitemap.xml",
            )
        },
    ),
    "mediawiki": Site(
        "MediaWiki 1.39.17",
        _MEDIAWIKI,
        [["sh", "build.sh"]],
        {
            name: f"out/{name}"
            for name in (
                "sitemap-index-my_wiki.xml",
                "sitemap-my_wiki-NS_0-0.xml.gz",
                "sitemap-my_wiki-NS_1-0.xml.gz",
            )
        },
    ),
}
