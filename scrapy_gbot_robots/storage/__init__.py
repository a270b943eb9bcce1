"""The storages that keep entries between runs: memory, one SQLite file, or a Redis.

This package imports `core`, `policy` and the drivers. A storage that fails raises `StorageError`
and no other exception.
Source: our own contract, `storage.base.Storage`.
"""
