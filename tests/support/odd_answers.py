"""Make odd HTTP responses at random.

For example, their lengths are wrong, their chunks have no end, they have content codings, or
several headers contradict one another. The bodies have the same rules, which forbid /page, or no
rules. So a crawl that has read such a response crawls only /free, or everything, or nothing.
"""

import gzip
import zlib
from random import Random

from .http2 import Reply2

PAGE, FREE, ELSEWHERE, NOWHERE = "/page", "/free", "/elsewhere.txt", "/nowhere.txt"

_NAME = b"Transfer-Encoding: "
CODINGS = [[_NAME + b"chunked"]] * 8
CODINGS += [
    [_NAME + b"chunked", _NAME + b"chunked"],
    [b"Content-Length: 7", _NAME + b"chunked"],
    [b"TRANSFER-ENCODING:CHUNKED "],
    [b"Transfer-Encoding:\r\n chunked"],
    *([_NAME + coding] for coding in (b"gzip, chunked", b"gzip", b"identity", b"")),
]
ODD_HEADERS = [
    b"X-Test: 1", b"no colon", b"X-Test : blank", b": no name", b" folded: into the one before", b"X-Test: a\r\n folded",
    b"X-Test: \xff\xfe", b"X-\xff: name", b"X-Test: a\rTransfer-Encoding: gzip", b"X-Long: " + b"x" * 10_000,
    b"Connection: close", b"cf-mitigated: challenge",
]  # fmt: skip
ODD_HEADERS_2 = [b"transfer-encoding: chunked", b"connection: close", b"cf-mitigated: challenge"]


def odd_answer(chance: Random, number: int) -> bytes:
    """Return the bytes of a response. `number` is written into the body, so that it is unique."""
    body = _body(chance, number)
    status, headers = _status(chance)
    body, coding = _coded(chance, body)
    headers += coding
    framing, body = _framed(chance, body)
    headers += framing
    if chance.random() < 0.3:
        headers.insert(chance.randrange(len(headers) + 1), chance.choice(ODD_HEADERS))
    end = b"\n" if chance.random() < 0.1 else b"\r\n"
    version = b"HTTP/1.0 " if chance.random() < 0.05 else b"HTTP/1.1 "
    before = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" if chance.random() < 0.05 else b""
    head = end.join([version + status.encode(), *headers, b"", b""])
    answer = before + head + body
    if chance.random() < 0.1:  # The response ends too early.
        answer = answer[: chance.randrange(1, len(answer))]
    return answer


def odd_reply2(chance: Random, number: int) -> Reply2:
    """Return a response for HTTP/2. Its frames end the body, and headers may repeat its length."""
    body = _body(chance, number)
    status, location = _status(chance)
    body, coding = _coded(chance, body)
    headers = [*location, *coding]
    size = len(body)
    if chance.random() < 0.5:
        # If the length is wrong, it depends on the packets whether a client gets the status first.
        sizes: tuple[str, ...] = (f"{size}",) * 5
        if status.startswith("2"):
            sizes += (f"{size + 1}", f"{size // 2}", "0", "x", f"{size}, {size}")
        headers.append(f"content-length: {chance.choice(sizes)}".encode())
    if chance.random() < 0.1:
        headers.append(chance.choice(ODD_HEADERS_2))
    fields = [line.decode().partition(": ")[::2] for line in headers]
    # It also depends on the packets whether a client gets the status before a reset or close.
    end = chance.choice(("",) * 9 + ("reset", "close")) if status.startswith("2") else ""
    return Reply2(int(status[:3]), body, [(name.lower(), value) for name, value in fields], end)


def _body(chance: Random, number: int) -> bytes:
    rules = f"# {number}\nuser-agent: *\ndisallow: {PAGE}\n".encode()
    return rules + b"#" * chance.choice((0, 9, 3_000))


def _status(chance: Random) -> tuple[str, list[bytes]]:
    """Return a status, and its headers. A redirect has one or two Location headers."""
    if chance.random() < 0.9:
        statuses = ("404 Not Found", "503 Ill", "204 No", "206 Part", "403", "429 Slow")
        return chance.choice(("200 OK",) * 14 + statuses), []
    locations = [f"Location: {ELSEWHERE}".encode()]
    if chance.random() < 0.5:
        locations.insert(chance.randrange(2), f"Location: {NOWHERE}".encode())
    return chance.choice(("301 Go", "302 Go", "307 Go")), locations


def _coded(chance: Random, body: bytes) -> tuple[bytes, list[bytes]]:
    """Return a body and its Content-Encoding headers, which may be wrong."""
    codings = ("gzip", "deflate", "none", "utf-8", "x-strange", "gzip", "cut", "lie")
    coding = chance.choice(("",) * 8 + codings)
    if coding == "":
        return body, []
    if coding == "deflate":
        return zlib.compress(body), [b"Content-Encoding: deflate"]
    if coding == "cut":
        return gzip.compress(body)[: chance.choice((0, 5, 30, -1))], [b"Content-Encoding: gzip"]
    if coding == "lie":
        return body, [b"Content-Encoding: gzip"]
    if coding == "gzip":
        body = gzip.compress(body)
    return body, [b"Content-Encoding: " + coding.encode()]


def _framed(chance: Random, body: bytes) -> tuple[list[bytes], bytes]:
    """Return headers that declare where the body ends, rightly or wrongly, and the body as sent."""
    kind = chance.randrange(5)
    if kind == 0:
        return [], body
    if kind in {1, 2}:
        size = len(body)
        values = (f"{size}",) * 4 + (f"{size + 1}", f"{size + 5_000}", f"{size // 2}", "0", f"+{size}", f"-{size}", "x",
                                     "", f"{size}, {size}", f"{size}, 9", f" {size}\t", f"0x{size:x}", f"{size}.0", "9" * 30)  # fmt: skip
        headers = [f"Content-Length: {chance.choice(values)}".encode()]
        if chance.random() < 0.1:
            headers.append(f"content-length: {chance.choice((size, size + 1))}".encode())
        return headers, body
    return chance.choice(CODINGS), _chunks(chance, body)


def _chunks(chance: Random, body: bytes) -> bytes:
    """Return a body in chunked encoding, in which one chunk may be odd."""
    pieces = []
    while body:
        size = chance.randrange(1, len(body) + 1)
        line = chance.choice((b"%x", b"%x", b"%X", b"%04x", b"%x;a=b", b'%x;a="b c"')) % size
        pieces.append(line + b"\r\n" + body[:size] + b"\r\n")
        body = body[size:]
    oddity = chance.randrange(12)
    if pieces and oddity < 6:
        place = chance.randrange(len(pieces))
        odd = pieces[place]
        pieces[place] = (
            odd.replace(b"\r\n", b" \r\n", 1),
            odd[:-2],
            odd.replace(b"\r\n", b"\n", 1),
            b"+" + odd,
            b"-1\r\n" + odd,
            b"ffffff" + odd,
        )[oddity]
    odd_ends = (b"", b"0\r\n", b"0\r\nA: b\r\n\r\n", b"0;x\r\n\r\n", b"00\r\n\r\nmore", b"0")
    return b"".join(pieces) + chance.choice((b"0\r\n\r\n",) * 5 + odd_ends)
