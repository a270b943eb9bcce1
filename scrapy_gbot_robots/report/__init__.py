"""What a crawl leaves behind: the summary in the log, a page, an archive of robots.txt files, the proof in its items.

It listens to signals and reads stats, and its memory is bounded. Provenance adds a field to items;
the rest changes nothing.
Source: our own.
"""
