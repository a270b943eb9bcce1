"""Examples of whole robots.txt files, and of User-Agent headers.

A key such as "E5" is the number of the example in the sources that the tests cite.
"""

EXAMPLES = {
    "E5": """\
# This robots.txt file controls crawling of URLs under https://example.com.
# All crawlers are disallowed to crawl files in the "includes" directory, such
# as .css, .js, but Google needs them for rendering, so Googlebot is allowed
# to crawl them.
User-agent: *
Disallow: /includes/

User-agent: Googlebot
Allow: /includes/

Sitemap: https://example.com/sitemap.xml
""",
    "E6.1": """\
user-agent: a
disallow: /c

user-agent: b
disallow: /d

user-agent: e
user-agent: f
disallow: /g

user-agent: h
""",
    "E6.2": """\
user-agent: googlebot-news
disallow: /fish

user-agent: *
disallow: /carrots

user-agent: googlebot-news
disallow: /shrimp
""",
    "E6.3": """\
user-agent: a
sitemap: https://example.com/sitemap.xml

user-agent: b
disallow: /
""",
    "E6.4": """\
# Rule 1
User-agent: Googlebot
Disallow: /nogooglebot/

# Rule 2
User-agent: *
Allow: /

Sitemap: http://www.example.com/sitemap.xml
""",
    "E6.5": """\
# Block googlebot from example.com/directory1/... and example.com/directory2/...
# but allow access to directory2/subdirectory1/...
# All other directories on the site are allowed by default.
User-agent: googlebot
Disallow: /directory1/
Disallow: /directory2/
Allow: /directory2/subdirectory1/

# Block the entire site from anothercrawler.
User-agent: anothercrawler
Disallow: /
""",
    "E6.6": """\
allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
""",
    "E6.7": """\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
""",
    "E10": """\
user-agent: otherbot
disallow: /kale

sitemap: https://example.com/sitemap.xml
sitemap: https://cdn.example.org/other-sitemap.xml
sitemap: https://ja.example.org/テスト-サイトマップ.xml
""",
    "E12.1": "User-agent: Googlebot\nDisallow: /\n",
    "E12.2": "User-agent: Googlebot\nUser-agent: AdsBot-Google\nDisallow: /\n",
    "E12.3": "User-agent: * \nDisallow: /\n",
    "E12-02": "User-agent: *\nDisallow: /calendar/\nDisallow: /junk/\nDisallow: /books/fiction/contemporary/\n",
    "E12-03": "User-agent: Googlebot-news\nAllow: /\n\nUser-agent: *\nDisallow: /",
    "E12-04": "User-agent: Unnecessarybot\nDisallow: /\n\nUser-agent: *\nAllow: /",
    "E12-05": "Disallow: /private_file.html",
    "E12-06": "User-agent: Googlebot-Image\nDisallow: /images/dogs.jpg",
    "E12-07": "User-agent: Googlebot-Image\nDisallow: /",
    "E12-08": "User-agent: Googlebot\nDisallow: /*.gif$",
    "E12-09": "User-agent: *\nDisallow: /\n\nUser-agent: Mediapartners-Google\nAllow: /\n",
    "E12-10": "User-agent: Googlebot\nDisallow: /*.xls$",
    "E12-11": "User-agent: *\nDisallow:",
    "E12-13": "User-agent: *\nDisallow: /useless_file.html\nDisallow: /junk/other_useless_file.html",
    "E12-14": "User-agent: *\nDisallow: /\nAllow: /public/",
    "E12-15": "User-agent: *\nDisallow: /\n\nUser-agent: Storebot-Google\nAllow: /\n",
    "E12-16": "User-agent: Googlebot\nUser-agent: Storebot-Google\nAllow: /cats\nDisallow: /\n",
    "S12.5": "user-agent: *\nDisallow: /file.asp",
}

CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
GOOGLEBOT_SMARTPHONE = (
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/W.X.Y.Z Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)
