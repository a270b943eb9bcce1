"""Bytes -> a Dictionary of RFC 9651 ("Structured Field Values for HTTP"), as far as preferences need it.

The whole grammar is checked, since bytes that break it are no Dictionary and say nothing. Only Tokens are returned as
values, and no parameters. The reader takes one pass and raises nothing, whatever the bytes.
"""

from __future__ import annotations

import re
from typing import Final

_MAX_BYTES: Final = 65_536  # servers send shorter header lines, and lines of a robots.txt are much shorter

_KEY: Final = re.compile(rb"[a-z*][a-z0-9_.*-]*")  # 3.1.2
_TOKEN: Final = re.compile(rb"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*")  # 3.3.4
_OTHER: Final = re.compile(  # the other bare items; the first character tells which one it is
    rb"-?[0-9]{1,12}\.[0-9]{1,3}(?![0-9])"  # Decimal, 3.3.2
    rb"|@?-?[0-9]{1,15}(?![0-9.])"  # Integer, 3.3.1, and Date, 3.3.7
    rb'|"(?:[ !#-\[\]-~]|\\["\\])*"'  # String, 3.3.3
    rb"|:[A-Za-z0-9+/=]*:"  # Byte Sequence, 3.3.5
    rb"|\?[01]"  # Boolean, 3.3.6
    rb'|%"(?:[ !#$&-~]|%[0-9a-f]{2})*"'  # Display String, 3.3.8
)
_SPACES: Final = re.compile(rb" *")
_WHITE_SPACE: Final = re.compile(rb"[ \t]*")


class _NotDictionaryError(Exception):
    """The bytes break the grammar."""


def read_dictionary(value: bytes) -> dict[bytes, bytes | None] | None:
    """Return the members of a Dictionary (RFC 9651 4.2.2), None if `value` is no Dictionary.

    The value of a member is its Token, or None for anything else. If a key occurs twice, the last one counts.
    """
    if len(value) > _MAX_BYTES:
        return None
    try:
        return _Reader(value.strip(b" ")).dictionary()
    except _NotDictionaryError:
        return None


class _Reader:
    """Reads `text` once, from left to right. `at` is the place of the next byte."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def take(self, pattern: re.Pattern[bytes]) -> bytes:
        """Take the bytes that `pattern` matches here. Raises if it does not match."""
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _NotDictionaryError
        self.at = found.end()
        return found[0]

    def takes(self, char: bytes) -> bool:
        """Take `char` if it is the next byte. Return whether it was."""
        if not self.text.startswith(char, self.at):
            return False
        self.at += 1
        return True

    def dictionary(self) -> dict[bytes, bytes | None]:
        members: dict[bytes, bytes | None] = {}
        while self.at < len(self.text):
            key = self.take(_KEY)
            value = self.member() if self.takes(b"=") else None
            self.parameters()
            members[key] = value
            self.take(_WHITE_SPACE)
            if self.at < len(self.text):
                if not self.takes(b","):
                    raise _NotDictionaryError
                self.take(_WHITE_SPACE)
                if self.at == len(self.text):  # a comma at the end
                    raise _NotDictionaryError
        return members

    def member(self) -> bytes | None:
        if not self.takes(b"("):
            return self.bare_item()
        self.take(_SPACES)  # an Inner List, 4.2.1.2
        while not self.takes(b")"):
            self.bare_item()
            self.parameters()
            if not self.take(_SPACES) and self.text[self.at : self.at + 1] != b")":
                raise _NotDictionaryError
        return None

    def bare_item(self) -> bytes | None:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            self.take(_OTHER)
            return None
        self.at = found.end()
        return found[0]

    def parameters(self) -> None:
        while self.takes(b";"):
            self.take(_SPACES)
            self.take(_KEY)
            if self.takes(b"="):
                self.bare_item()
