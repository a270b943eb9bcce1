"""What a crawl reports at its end: the summary in the log, and a page.

It listens to signals and reads stats; it changes nothing, and its memory is bounded.
Source: our own.
"""
