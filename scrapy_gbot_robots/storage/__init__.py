"""Storages for robots.txt files: in memory, in one SQLite file, or in a Redis database.

A storage has one *entry* for each origin, such as "https://example.com". An entry contains a copy
of the robots.txt, and describes the failures of the last fetches. SQLite and Redis keep the entries
for the next run. If a storage fails, it raises `StorageError` and no other exception.
Source: the class `storage.base.Storage`, which defines the interface.
"""
