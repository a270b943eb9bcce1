"""Judge many URLs at once, and read lists of URLs.

To *judge* a URL means to decide whether a crawler may fetch it. This package uses the same code as
a crawl (the packages `core` and `policy`), so the results are the same. `judge_arrow` needs
pyarrow. `judge` needs no other package.
Source: see the modules of `core` and `policy`, which list the sources of the rules.
"""

from .arrow import judge_arrow as judge_arrow
from .judging import judge as judge
