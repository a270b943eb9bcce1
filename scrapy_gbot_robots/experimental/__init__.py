"""Features that follow drafts of standards. They may change with these drafts.

There is one feature: the preferences of sites about the use of their content. Everything here may
change between minor versions of the plugin. This package may import `core` and `meta`. `core` reads
the lines with preferences in a robots.txt, and does not import this package.
Source: the drafts that `preferences` lists.
"""
