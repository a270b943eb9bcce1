"""Judge many URLs at once, and read lists of URLs.

This package uses the same code as a crawl (`core` and `policy`), so its answers are the answers of
a crawl. `judge` does not need another package; `judge_arrow` needs pyarrow.
Source: the sources of `core` and `policy`.
"""

from .arrow import judge_arrow as judge_arrow
from .judging import judge as judge
