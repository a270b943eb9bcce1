"""What a crawl leaves behind: summary, page, archive of robots.txt files, proof in its items.

It listens to signals and reads stats, and its memory is bounded. Provenance adds a field to items;
the rest changes nothing.
Source: our own.
"""
