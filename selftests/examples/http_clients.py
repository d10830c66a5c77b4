# SPDX-License-Identifier: GPL-2.0-only
"""Clients of dxhttpd that no tool is: slow, eager, silent and mad ones.

    http_clients.py PORT WHAT [ARGUMENT]...

Exit status 0 and no line, or a line that says what is wrong.
"""
import random
import re
import socket
import sys
import time

LATE = 60


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=LATE)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def replies(s, nr=None):
    """The (status, head, body) of each reply, or of the first ones."""
    text = b""
    while nr is None or nr > 0:
        while b"\r\n\r\n" not in text:
            more = s.recv(65536)
            if not more:
                assert not text, f"ended in a head: {text!r}"
                return
            text += more
        head, text = text.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"\r\nContent-Length: (\d+)", head).group(1))
        status = int(head.split()[1])
        if status == 304:
            length = 0
        while len(text) < length:
            more = s.recv(65536)
            assert more, "ended in a body"
            text += more
        yield status, head, text[:length]
        text = text[length:]
        if nr is not None:
            nr -= 1


def get(path, *fields, method="GET", version="1.1"):
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: x", *fields, "", ""]).encode()


def content(path):
    with open(path, "rb") as f:
        return f.read()


def pieces(port, path):
    """A request byte by byte, each a segment."""
    with connect(port) as s:
        for byte in get("/" + path):
            s.send(bytes([byte]))
        status, _, body = next(replies(s, 1))
        assert status == 200 and body == content(path), (status, len(body))


def pipeline(port, *paths):
    """Many requests at once: the answers come in their order, and none is missing."""
    with connect(port) as s:
        s.sendall(b"".join(get("/" + p) for p in paths))
        s.shutdown(socket.SHUT_WR)
        got = list(replies(s))
        assert len(got) == len(paths), len(got)
        for path, (status, _, body) in zip(paths, got):
            assert status == 200 and body == content(path), (path, status, len(body))


def greedy(port, path, nr):
    """Asks for more than it reads for a while: it is not read either, and loses nothing."""
    with connect(port) as s:
        s.settimeout(1)
        one = get("/" + path, "X: " + "y" * 4000)
        sent, text = 0, one * int(nr)
        try:
            while sent < len(text):
                sent += s.send(text[sent:sent + 65536])
        except socket.timeout:
            pass
        assert sent < len(text), "it took everything"
        s.settimeout(LATE)
        s.shutdown(socket.SHUT_WR)
        whole = sent // len(one)
        body = content(path)
        got = 0
        for status, _, b in replies(s):
            assert status == 200 and b == body, status
            got += 1
        assert got == whole, (got, whole)


def loris(port, nr, seconds, path):
    """Heads that never end: others are served, and the server ends them in time."""
    slow = [connect(port) for _ in range(int(nr))]
    begin = time.monotonic()
    for s in slow:
        s.send(b"GET / HTTP/1.1\r\nX: ")
    with connect(port) as s:
        s.sendall(get("/" + path))
        status, _, body = next(replies(s, 1))
        assert status == 200 and body == content(path)
    for s in slow:
        assert s.recv(1) == b""
        assert time.monotonic() - begin > float(seconds) * 0.9
        s.close()


def ranges(port, path):
    """Parts of a file against the file."""
    whole = content(path)
    rng = random.Random(1)
    with connect(port) as s:
        for _ in range(200):
            a, b = sorted(rng.randrange(len(whole)) for _ in range(2))
            for text, want in ((f"{a}-{b}", whole[a:b + 1]), (f"{a}-", whole[a:]),
                               (f"-{b + 1}", whole[-b - 1:]),
                               (f"{a}-{len(whole) + b}", whole[a:])):
                s.sendall(get("/" + path, "Range: bytes=" + text))
                status, head, body = next(replies(s, 1))
                assert status == 206 and body == want, (text, status, len(body))
                assert b"/%d\r\n" % len(whole) in head + b"\r\n", head
        s.sendall(get("/" + path, f"Range: bytes={len(whole)}-"))
        status, head, _ = next(replies(s, 1))
        assert status == 416 and b"bytes */%d\r\n" % len(whole) in head + b"\r\n", head
        for text in ("bytes=5-2", "bytes=1-2,4-5", "lines=1-2", "bytes=", "bytes=-"):
            s.sendall(get("/" + path, "Range: " + text))
            status, _, body = next(replies(s, 1))
            assert status == 200 and body == whole, (text, status)


def states(port, path):
    """One connection on which most is wrong; it stays, or is closed, as it should be."""
    with connect(port) as s:
        for status, text in (
                (404, get("/none")), (404, get("/../" + path)), (404, get("/%2e%2e/" + path)),
                (404, get("/out")), (404, get("/" + path + "/")), (403, get("/fifo")),
                (301, get("/dir")), (404, get("/dir/")),
                (405, get("/" + path, method="DELETE")), (200, b"\r\n" + get("/" + path)),
                (200, get("http://x/" + path)), (200, get("/" + path + "?query#f")),
                (200, get("/%" + "%".join(f"{ord(c):02x}" for c in path)))):
            s.sendall(text)
            got, head, _ = next(replies(s, 1))
            assert got == status, (text, got)
            assert b"Connection: keep-alive" in head, head
            if status == 301:
                assert b"\r\nLocation: /dir/\r\n" in head + b"\r\n", head
            if status == 405:
                assert b"\r\nAllow: GET, HEAD" in head, head
    for status, text in (
            (400, b"GET\r\n\r\n"), (400, b"GET /\r\n\r\n"), (400, get("no/slash")),
            (400, get("/%zz")), (400, get("/a%00b")), (414, get("/" + "x" * 2000)),
            (505, get("/" + path, version="2.0")), (400, get("/" + path, "no colon")),
            (400, get("/" + path, "space : x")), (400, get("/" + path, "nul: \0")),
            (413, get("/" + path, "Content-Length: 3") + b"abc"),
            (413, get("/" + path, "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
            (405, get("/" + path, "Content-Length: 3", method="POST") + b"abc"),
            (431, get("/" + path, "X: " + "y" * 20000)),
            (200, get("/" + path, "Connection: close")), (200, get("/" + path, version="1.0"))):
        with connect(port) as s:
            s.sendall(text)
            got = list(replies(s))
            assert len(got) == 1 and got[0][0] == status, (text[:40], [g[0] for g in got])
            assert b"Connection: close" in got[0][1], got[0][1]
    with connect(port) as s:
        s.sendall(get("/" + path, "Connection: keep-alive", version="1.0"))
        assert next(replies(s, 1))[0] == 200
        s.sendall(get("/" + path, method="HEAD"))
        s.shutdown(socket.SHUT_WR)
        text = b""
        while more := s.recv(65536):
            text += more
        assert text.endswith(b"\r\n\r\n") and b"Content-Length: %d\r" % len(content(path)) in text


def conditional(port, path):
    with connect(port) as s:
        s.sendall(get("/" + path))
        _, head, _ = next(replies(s, 1))
        when = re.search(rb"Last-Modified: ([^\r]*)", head).group(1).decode()
        s.sendall(get("/" + path, "If-Modified-Since: " + when))
        assert next(replies(s, 1))[0] == 304
        s.sendall(get("/" + path, "If-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT"))
        assert next(replies(s, 1))[0] == 200
        s.sendall(get("/" + path, "If-Modified-Since: yesterday"))
        assert next(replies(s, 1))[0] == 200


def garbage(port, seed, nr, path):
    """Requests changed at random: a reply or an end for each, and others are served."""
    rng = random.Random(int(seed))
    known = [get("/" + path), get("/" + path, "Range: bytes=1-2", "Connection: close"),
             get("/x%20y?z", "If-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT"),
             get("/dir", method="HEAD"), get("/", "Content-Length: 12") + b"hello, world"]
    good = connect(port)
    done = 0
    while done < int(nr):
        many = []
        for _ in range(min(rng.randrange(1, 200), int(nr) - done)):
            text = bytearray(rng.choice(known))
            for _ in range(rng.randrange(4)):
                at = rng.randrange(len(text))
                what = rng.randrange(4)
                if what == 0:
                    text[at] = rng.randrange(256)
                elif what == 1:
                    del text[at:at + rng.randrange(1, 9)]
                    text = text or bytearray(b" ")
                elif what == 2:
                    text[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(9)))
                else:
                    text[at:at] = text[:at]
            many.append(bytes(text))
        done += len(many)
        with connect(port) as s:
            try:
                s.sendall(b"".join(many))
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
        good.sendall(get("/" + path))
        status, _, body = next(replies(good, 1))
        assert status == 200 and body == content(path)


def main():
    port, what = int(sys.argv[1]), sys.argv[2]
    try:
        globals()[what](port, *sys.argv[3:])
    except (AssertionError, OSError) as e:
        print(f"{what}: {type(e).__name__} {e}")
        sys.exit(1)


main()
