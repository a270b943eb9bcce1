"""The arguments of RobotsSitemapSpider."""

from __future__ import annotations

import pytest
from scrapy.crawler import CrawlerRunner

from ..support.hosts_spider import Hosts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Say which hosts"),
        ({"hosts": ""}, "Say which hosts"),
        ({"hosts_file": "nowhere.txt"}, "hosts_file must be a file, got 'nowhere.txt'"),
        ({"hosts": "a.com", "since": "yesterday"}, "since must be a date"),
        ({"hosts": "a.com", "scope": "all"}, "scope must be one of hosts, any, got 'all'"),
        ({"hosts": "a.com", "progress_secs": "often"}, "progress_secs must be a number >= 0, got 'often'"),
        ({"hosts": "a.com", "progress_secs": "-1"}, "progress_secs must be a number >= 0, got '-1'"),
        ({"hosts": "a.com", "most_asked": 0}, "most_asked must be a number >= 1, got 0"),
        ({"hosts": "a.com", "most_asked": "inf"}, "most_asked must be a number >= 1, got 'inf'"),
    ],
)
def test_wrong_argument_is_named(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrawlerRunner().create_crawler(Hosts)._create_spider(**{"progress_secs": "1", **arguments})
