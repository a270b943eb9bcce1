"""What may change with drafts: preferences of sites about the use of their content.

Everything here may change between minor versions. It may import `core` and `meta`. Few places of the house know it: verdicts
do not; `RobotsTxt.preferences`, lint and the comparison of versions ask it about lines that `core` keeps as written; the
middleware, the settings and the command know what a crawl is for.
Source: the drafts that `preferences` names.
"""
