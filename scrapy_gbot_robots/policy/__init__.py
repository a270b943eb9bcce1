"""What an answer to "robots.txt?" means, now and over time.

Pure: it knows `core`; the present time is an argument.
Source: Google's page, "Handling of errors and HTTP status codes" and "Caching"; RFC 9309 2.3.1 and
2.4.
"""
