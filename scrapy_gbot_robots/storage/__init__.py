"""Storages for the entries of origins: memory, one SQLite file, or a Redis.

An entry describes the robots.txt of an origin and its last failures. SQLite and Redis keep entries
between runs. A storage that fails raises `StorageError` and no other exception. This package
imports `core`, `policy` and the drivers.
Source: our own interface, the class `storage.base.Storage`.
"""
