"""Verdicts by the million: columns of URLs judged by columns of robots.txt files, and archives.

It knows `core` and `policy`, so that an answer here is the answer in a crawl. `judge` needs nothing
else. The rest needs the extra `bulk` (pyarrow, DuckDB), and loads it on first use.
Source: as `core` and `policy`; for archives the WARC format 1.1 (ISO 28500:2017).
"""

from .arrow import judge_batch as judge_batch
from .judging import judge as judge
