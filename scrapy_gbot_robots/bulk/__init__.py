"""Many URLs at once: columns of URLs judged by columns of robots.txt files, and lists of URLs.

It knows `core`, `policy` and `experimental`, so that an answer here is the answer in a crawl.
`judge` needs no other package, `judge_arrow` needs pyarrow.
Source: as `core` and `policy`.
"""

from .arrow import judge_arrow as judge_arrow
from .judging import judge as judge
