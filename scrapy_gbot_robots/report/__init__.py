"""What a crawl leaves behind: summary, page, archive of robots.txt files.

It listens to signals and reads stats, and its memory is bounded. It changes nothing in the crawl.
Source: our own.
"""
