"""What may change with drafts: preferences of sites about the use of their content.

Everything here may change between minor versions. It may import `core` and `meta`. `core` reads the
lines of a robots.txt and knows nothing of this package. Few places know it: bulk and the crawl, the
settings and the command know what a crawl is for; lint is handed what is wrong in such
lines.
Source: the drafts that `preferences` names.
"""
