"""Where entries are kept between runs: memory, one SQLite file, or a Redis.

It knows `core`, `policy` and its driver; a storage in trouble raises `StorageError` and nothing
else.
Source: our own contract, `storage.base.Storage`.
"""
