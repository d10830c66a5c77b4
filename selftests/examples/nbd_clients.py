# SPDX-License-Identifier: GPL-2.0-only
"""Clients of dxnbd that no tool is: wrong, half, eager and sudden ones.

    nbd_clients.py PORT SIZE CASE[,ARGUMENT]...

SIZE is that of the export. Prints a line for each case: "CASE: ok", or what is wrong. Exit status
0 if all are.
"""
import os
import random
import select
import socket
import struct
import sys
import time

LATE = 60
READ, WRITE, DISC, FLUSH, TRIM, ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1
EPERM, EIO, EINVAL, ENOSPC = 1, 5, 22, 28
OPTION, OPTION_REPLY = 0x49484156454F5054, 0x3E889045565A9
UNSUP, INVALID, UNKNOWN = 0x80000001, 0x80000003, 0x80000006
MAX = 32 << 20


class Client:
    """A connection, before its options or ready for requests."""

    def __init__(self, port, go=True, flags=3):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=LATE)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert self.take(18) == b"NBDMAGICIHAVEOPT\0\3", "greeting"
        self.s.sendall(struct.pack(">I", flags))
        if go:
            replies = self.option(7, self.info(b""))
            assert [r[0] for r in replies] == [3, 1], replies
            kind, self.size, self.flags = struct.unpack(">HQH", replies[0][1])
            assert kind == 0

    @staticmethod
    def info(name, *items):
        return struct.pack(f">I{len(name)}sH{len(items)}H", len(name), name, len(items), *items)

    def take(self, n):
        data = bytearray()
        while len(data) < n:
            more = self.s.recv(min(n - len(data), 1 << 20))
            assert more, f"ended {n - len(data)} bytes early"
            data += more
        return bytes(data)

    def option(self, number, data=b"", length=None):
        """The (type, data) of each reply to an option."""
        length = len(data) if length is None else length
        self.s.sendall(struct.pack(">QII", OPTION, number, length) + data)
        replies = []
        while True:
            magic, option, kind, length = struct.unpack(">QIII", self.take(20))
            assert magic == OPTION_REPLY and option == number, (hex(magic), option)
            replies.append((kind, self.take(length)))
            if kind not in (2, 3):
                return replies

    def send(self, command, offset, length, data=b"", cookie=7, flags=0, magic=0x25609513):
        self.s.sendall(struct.pack(">IHHQQI", magic, flags, command, cookie, offset, length) + data)

    def reply(self, length=0):
        """The cookie, the error, and the data of the next reply; @length: a number, or by cookie"""
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698, hex(magic)
        if not isinstance(length, int):
            length = length[cookie]
        return cookie, error, b"" if error else self.take(length)

    def ask(self, command, offset, length, data=b"", flags=0):
        self.send(command, offset, length, data, flags=flags)
        cookie, error, data = self.reply(length if command == READ else 0)
        assert cookie == 7, cookie
        return error or data

    def is_over(self):
        """The server has ended it, with or without a word."""
        try:
            while True:
                if not self.s.recv(65536):
                    return True
        except ConnectionResetError:
            return True

    def works(self):
        data = os.urandom(1000)
        assert self.ask(WRITE, 5000, 1000, data) == b""
        assert self.ask(READ, 5000, 1000) == data, "what was written is not read"


def options(port, size):
    """Options that are wrong or unknown, and all ways to begin."""
    c = Client(port, go=False)
    assert c.option(8) == [(UNSUP, b"")] and c.option(0x7FFFFFFF, b"x" * 4000) == [(UNSUP, b"")]
    assert c.option(7, Client.info(b"nobody"))[0][0] == UNKNOWN
    assert c.option(7, b"\0\0")[0][0] == INVALID
    assert c.option(7, struct.pack(">IH", 0xFFFFFFFF, 0))[0][0] == INVALID
    assert c.option(7, Client.info(b"", 3) + b"\0\0")[0][0] == INVALID
    assert c.option(3, b"x")[0][0] == INVALID
    assert c.option(3) == [(2, b"\0\0\0\4disk"), (1, b"")]
    kinds = c.option(6, Client.info(b"disk", 3, 3))
    assert struct.unpack(">HIII", kinds[1][1]) == (3, 1, 4096, MAX) and len(kinds) == 3, kinds
    assert c.option(2) == [(1, b"")] and c.is_over()

    c = Client(port, go=False)
    c.s.sendall(struct.pack(">QII4s", OPTION, 1, 4, b"disk"))
    assert struct.unpack(">QH", c.take(10))[0] == size
    c.works()
    c = Client(port, go=False, flags=1)
    c.s.sendall(struct.pack(">QII", OPTION, 1, 0))
    assert c.take(134)[10:] == bytes(124)
    c.works()
    c = Client(port, go=False)
    c.s.sendall(struct.pack(">QII6s", OPTION, 1, 6, b"nobody"))
    assert c.is_over()


def garbage(port, _size):
    """What is no handshake, and no request."""
    c = Client(port, go=False, flags=0xFFFFFFFF)
    assert c.is_over()
    for data in (b"GET / HTTP/1.1\r\n\r\n" * 4, struct.pack(">QII", OPTION, 7, 0xFFFFFFFF)):
        c = Client(port, go=False)
        c.s.sendall(data)
        assert c.is_over()
    c = Client(port)
    c.send(READ, 0, 512, magic=0x25609514)
    assert c.is_over()
    rng = random.Random(1)
    for _ in range(20):
        c = Client(port, go=rng.random() < .5)
        c.s.sendall(rng.randbytes(rng.randrange(16, 3000)))
        c.s.shutdown(socket.SHUT_WR)
        assert c.is_over()


def wrong(port, size):
    """Requests that are refused: the reply says why, and the connection goes on."""
    c = Client(port)
    assert c.size == size
    data = b"x" * 4096
    assert c.ask(99, 0, 0) == EINVAL
    assert c.ask(5, 0, 512) == EINVAL
    assert c.ask(READ, 0, 512, flags=0x8000) == EINVAL
    assert c.ask(READ, 0, MAX + 1) == EINVAL
    assert c.ask(READ, size - 511, 512) == EINVAL
    assert c.ask(READ, 2**64 - 512, 1024) == EINVAL
    assert c.ask(WRITE, size - 4095, 4096, data) == ENOSPC
    assert c.ask(WRITE, 2**64 - 1, 4096, data) == ENOSPC
    assert c.ask(TRIM, size, 1) == EINVAL
    assert c.ask(ZEROES, size - 1, 2) == ENOSPC
    assert c.ask(WRITE, 0, MAX + 5, bytes(MAX + 5)) == EINVAL
    assert c.ask(WRITE, 0, 0) == b"" and c.ask(READ, size, 0) == b"" and c.ask(TRIM, 0, 0) == b""
    c.works()
    c.send(DISC, 0, 0)
    assert c.is_over()


def read_only(port, _size):
    """An export that is not written."""
    c = Client(port)
    assert c.flags & 2 and not c.flags & 0x60, hex(c.flags)
    assert c.ask(WRITE, 0, 512, b"x" * 512) == EPERM and c.ask(TRIM, 0, 512) == EPERM
    assert c.ask(ZEROES, 0, 512) == EPERM and c.ask(FLUSH, 0, 0) == b""
    assert len(c.ask(READ, 0, 512)) == 512


def kinds(port, size):
    """Every command, at edges of blocks, ranges and the export."""
    c = Client(port)
    for offset, length in ((0, 512), (4095, 2), (1 << 20, 1 << 20), ((1 << 20) - 1, 3),
                           (size - 1, 1), (size - 70001, 70001), (4096, 3 << 20)):
        data = os.urandom(length)
        assert c.ask(WRITE, offset, length, data, flags=FUA) == b""
        assert c.ask(READ, offset, length) == data, (offset, length)
    assert c.ask(FLUSH, 0, 0) == b""
    for command in (ZEROES, TRIM):
        assert c.ask(WRITE, 0, 1 << 20, b"x" * (1 << 20)) == b""
        assert c.ask(command, 4096, 100000, flags=FUA) == b""
        data = c.ask(READ, 0, 1 << 20)
        assert data[:4096] == b"x" * 4096 and data[104096:].count(b"x") == len(data) - 104096
        assert not any(data[4096:104096]) or command == TRIM
    # Longer than any READ may be, in pieces
    length = min(size, 0xFFFFFFFF)
    assert c.ask(WRITE, length - 4096, 4096, b"x" * 4096) == b""
    assert c.ask(ZEROES, 0, length) == b""
    assert not any(c.ask(READ, length - 4096, 4096)) and not any(c.ask(READ, 0, 1 << 20))


def many(port, size, nr=300):
    """More requests at once than are taken, unread for a while: each has its reply, and its data."""
    nr = int(nr)
    c = Client(port)
    block = 8192
    assert nr * block <= size
    written = [os.urandom(block) for _ in range(nr)]
    for i, data in enumerate(written):
        c.send(WRITE, i * block, block, data, cookie=i)
    c.send(FLUSH, 0, 0, cookie=nr)
    got = sorted(c.reply() for _ in range(nr + 1))
    assert [g[:2] for g in got] == [(i, 0) for i in range(nr + 1)], got
    # More than the sockets take
    for i in range(nr):
        c.send(READ, i % (nr - 8) * block, 8 * block, cookie=i)
    time.sleep(.3)
    left = set(range(nr))
    for _ in range(nr):
        cookie, error, data = c.reply(8 * block)
        i = cookie % (nr - 8)
        assert not error and data == b"".join(written[i:i + 8]), (cookie, error)
        left.remove(cookie)


def overlap(port, _size, nr=60):
    """Writes of one place by two clients at once: a read sees one of them, whole."""
    nr = int(nr)
    clients = [Client(port), Client(port), Client(port)]
    length = 300000
    where = (1 << 20) - 100000
    clients[0].ask(WRITE, where, length, b"0" * length)
    for i in range(nr):
        for n, c in enumerate(clients[:2]):
            c.send(WRITE, where, length, bytes([48 + n]) * length)
        clients[2].send(READ, where, length)
        data = clients[2].reply(length)[2]
        assert data == data[:1] * length, f"round {i}: {data.count(b'0')} of {length}"
        for c in clients[:2]:
            assert c.reply()[1] == 0


def half(port, _size):
    """Who goes in the middle of something; a write that did not come as a whole is none."""
    whole = Client(port)
    before = os.urandom(1 << 20)
    assert whole.ask(WRITE, 0, 1 << 20, before) == b""
    socket.create_connection(("127.0.0.1", port)).close()
    for data in (b"\0", struct.pack(">QI", OPTION, 7), struct.pack(">QII", OPTION, 7, 100) + b"x"):
        c = Client(port, go=False)
        c.s.sendall(data)
        c.s.close()
    for data in (b"\x25\x60", struct.pack(">IHHQQI", 0x25609513, 0, WRITE, 1, 0, 1 << 20),
                 struct.pack(">IHHQQI", 0x25609513, 0, WRITE, 1, 0, 1 << 20) + b"x" * 300000):
        for how in (0, 1):
            c = Client(port)
            c.s.sendall(data)
            if how:
                c.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.s.close()
    assert whole.ask(READ, 0, 1 << 20) == before, "half a write was written"


def pieces(port, _size):
    """A request byte by byte."""
    c = Client(port)
    for byte in struct.pack(">IHHQQI", 0x25609513, 0, WRITE, 7, 100, 30) + b"y" * 30:
        c.s.send(bytes([byte]))
    assert c.reply()[:2] == (7, 0) and c.ask(READ, 99, 32)[1:31] == b"y" * 30


def fails(port, _size, command, offset, error):
    """A command whose error is that of the file, after which the connection goes on."""
    c = Client(port)
    data = b"z" * 65536
    got = c.ask(int(command), int(offset), len(data), data if int(command) == WRITE else b"")
    assert (got or 0) == int(error), got
    assert c.ask(READ, 0, 4096) is not None


def bad(port, _size, offset, length):
    """Of what is in flight the requests of a bad part fail, and no other."""
    c = Client(port)
    first, end = int(offset), int(offset) + int(length)
    places = range(first - 65536, end + 65536, 4096)
    for command in (WRITE, READ):
        for i, place in enumerate(places):
            c.send(command, place, 4096, b"b" * 4096 if command == WRITE else b"", cookie=i)
        for _ in places:
            cookie, error, data = c.reply(4096 if command == READ else 0)
            place = places[cookie]
            assert error == (EIO if first <= place < end else 0), (command, place, error)
            assert error or command == WRITE or data == b"b" * 4096, place


def gone(port, _size):
    """The device has gone: the connection stays, and so does the server."""
    c = Client(port)
    assert c.ask(READ, 1 << 20, 4096) == EIO
    assert c.ask(WRITE, 1 << 20, 4096, b"g" * 4096) in (EIO, ENOSPC)
    assert c.ask(99, 0, 0) == EINVAL
    Client(port).send(DISC, 0, 0)


def write_on(port, size, *_):
    """Writes until it is killed."""
    c = Client(port)
    block = b"w" * 262144
    print("writes", flush=True)
    i = 0
    while True:
        c.send(WRITE, i * len(block) % (size - len(block)), len(block), block, cookie=i)
        i += 1
        while select.select([c.s], [], [], 0)[0]:
            assert c.reply()[1] == 0


def flushed(port, _size):
    """Writes block after block; prints how many were flushed, until the server has gone."""
    c = Client(port)
    i = 0
    try:
        while True:
            for _ in range(8):
                c.send(WRITE, i * 4096, 4096, struct.pack(">Q", i) * 512, cookie=i)
                i += 1
            for _ in range(8):
                assert c.reply()[1] == 0
            assert c.ask(FLUSH, 0, 0) == b""
            print(i, flush=True)
    except (OSError, AssertionError):
        pass


def contains(_port, _size, path, nr):
    """Are so many blocks of flushed() in a file?"""
    with open(path, "rb") as f:
        for i in range(int(nr)):
            assert f.read(4096) == struct.pack(">Q", i) * 512, f"block {i} of {nr}"


def drained(port, _size, pid):
    """The server is told to end: what it has taken is answered, and idle clients see its end."""
    idle, busy = Client(port), Client(port)
    for i in range(20):
        busy.send(WRITE, i << 16, 65536, b"d" * 65536, cookie=i)
    assert busy.reply()[1] == 0
    os.kill(int(pid), 15)
    got = 1
    try:
        while True:
            assert busy.reply()[1] == 0
            got += 1
    except (AssertionError, ConnectionResetError):
        pass
    assert idle.is_over() and 1 <= got <= 20, got


def unread(port, size, pid):
    """It is told to end while a client reads nothing."""
    c = Client(port)
    for i in range(64):
        c.send(READ, 0, 1 << 20, cookie=i)
    time.sleep(1)
    os.kill(int(pid), 15)


def main():
    port, size, bad = int(sys.argv[1]), int(sys.argv[2]), 0
    for case in sys.argv[3:]:
        what, *arguments = case.split(",")
        try:
            globals()[what](port, size, *arguments)
            print(f"{what}: ok", flush=True)
        except (AssertionError, OSError) as e:
            print(f"{what}: {type(e).__name__} {e} (line {e.__traceback__.tb_next.tb_lineno})",
                  flush=True)
            bad = 1
    sys.exit(bad)


main()
