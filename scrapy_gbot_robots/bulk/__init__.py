"""Verdicts by the million: columns of URLs judged by columns of robots.txt files, and archives.

It knows `core`, `policy` and `experimental`, so that an answer here is the answer in a crawl.
`judge`, and lists in text or CSV, need no other package. The rest needs the extra `bulk` (pyarrow,
DuckDB), and loads it on first use.
Source: as `core` and `policy`; for archives the WARC format 1.1 (ISO 28500:2017).
"""

from .arrow import judge_batch as judge_batch
from .judging import judge as judge
