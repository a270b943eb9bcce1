"""Many URLs at once: verdicts on columns of URLs, and lists of URLs.

The package uses `core`, `policy` and `experimental`, so that an answer here is the answer in a
crawl. `judge` does not need another package; `judge_arrow` needs pyarrow.
Source: the sources of `core` and `policy`.
"""

from .arrow import judge_arrow as judge_arrow
from .judging import judge as judge
