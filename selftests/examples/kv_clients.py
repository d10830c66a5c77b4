# SPDX-License-Identifier: GPL-2.0-only
"""Clients of dxkv that no tool is: with a model, in pieces, mad, killed amid.

    kv_clients.py PORT WHAT [ARGUMENT]...

Exit status 0 and no line, or a line that says what is wrong.
"""
import random
import socket
import sys
import threading

LATE = 60


class Client:
    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=LATE)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.f = self.s.makefile("rb")

    def send(self, *args):
        self.s.sendall(request(*args))

    def reply(self):
        line = self.f.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            if rest == b"-1":
                return None
            data = self.f.read(int(rest) + 2)
            assert data.endswith(b"\r\n"), f"a bulk string without its end: {data[-20:]!r}"
            return data[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        assert kind in b"+-", f"no reply: {line!r}"
        return line[:-2]

    def ask(self, *args):
        self.send(*args)
        return self.reply()

    def is_ended(self):
        return self.f.read(1) == b""


def request(*args):
    args = [a if isinstance(a, bytes) else str(a).encode() for a in args]
    return b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args)


def same(a, b, what=""):
    assert a == b, f"{what!r:.200}: {a!r:.200} instead of {b!r:.200}"


# --- a model --------------------------------------------------------------------------

class Model(dict):
    def GET(self, k):
        return self.get(k)

    def SET(self, k, v):
        self[k] = v
        return b"+OK"

    def MGET(self, *keys):
        return [self.get(k) for k in keys]

    def MSET(self, *kv):
        self.update(zip(kv[::2], kv[1::2]))
        return b"+OK"

    def DEL(self, *keys):
        return sum(self.pop(k, None) is not None for k in keys)

    def EXISTS(self, *keys):
        return sum(k in self for k in keys)

    def INCR(self, k):
        v = self.get(k, b"0")
        if str(int(v)).encode() != v if v.lstrip(b"-").isdigit() else True:
            return b"-ERR value is not an integer or out of range"
        self[k] = str(int(v) + 1).encode()
        return int(v) + 1

    def DBSIZE(self):
        return len(self)

    def PING(self):
        return b"+PONG"


def some_command(rnd, prefix):
    def key():
        return prefix + bytes([rnd.randrange(256)]) * rnd.choice([0, 1, 1, 1, 300])

    def value():
        return rnd.choice([b"", b"\r\n", b"%d" % rnd.randrange(100), b"\0\xff" * 50,
                           b"x" * rnd.choice([10, 5000, 70000])])
    name = rnd.choice("GET GET SET SET SET MGET MSET DEL EXISTS INCR PING".split())
    nr = rnd.randrange(1, 6)
    args = {"GET": lambda: [key()], "SET": lambda: [key(), value()], "INCR": lambda: [key()],
            "PING": lambda: [], "MSET": lambda: [x for _ in range(nr) for x in (key(), value())]}
    return [name.encode()] + args.get(name, lambda: [key() for _ in range(nr)])()


def model(port, seed, rounds):
    """What each command gives is what a dictionary gives; one at a time, and many."""
    rnd = random.Random(int(seed))
    c, m = Client(port), Model()
    for i in range(int(rounds)):
        many = [some_command(rnd, b"m") for _ in range(rnd.choice([1, 1, 5, 40]))]
        c.s.sendall(b"".join(request(*a) for a in many))
        for a in many:
            same(c.reply(), getattr(m, a[0].decode())(*a[1:]), a)
    for k in list(m):
        same(c.ask("DEL", k), 1)


def pieces(port):
    """A request that comes byte by byte, and one in the middle of which another client asks."""
    c, other = Client(port), Client(port)
    text = request("SET", "piece", "by piece") + request("MGET", "piece", "none") + b"PING\r\n"
    for i in range(len(text)):
        c.s.sendall(text[i:i + 1])
        if i == 20:
            same(other.ask("EXISTS", "piece"), 0)
    same([c.reply() for _ in range(3)], [b"+OK", [b"by piece", None], b"+PONG"])
    same(c.ask("DEL", "piece"), 1)


def order(port, nr):
    """Replies are in the order of the requests, whatever those need."""
    c = Client(port)
    nr = int(nr)
    c.send("DEL", "n")
    same(c.reply() in (0, 1), True)
    kinds = [("INCR", "n"), ("GET", "n"), ("MGET", "n", "none"), ("ECHO", "e"), ("EXISTS", "n")]
    c.s.sendall(b"".join(request(*a) for _ in range(nr) for a in kinds))
    for i in range(1, nr + 1):
        n = b"%d" % i
        same([c.reply() for _ in kinds], [i, n, [n, None], b"e", 1], i)
    c.send("DEL", "n")


def wrong(port):
    """What is no request, and requests that are wrong."""
    for text, error in ((b"*1\r\n+PING\r\n", b"expected '$'"), (b"*1\r\n$x\r\n", b"bulk length"),
                        (b"*x\r\n", b"multibulk length"), (b"*99999999\r\n", b"multibulk"),
                        (b"*1\r\n$4\r\nPINGxx", b"without its end"),
                        (b"*2\r\n$3\r\nGET\r\n$-5\r\n", b"bulk length"),
                        (b"*2\r\n$3\r\nGET\r\n$99999999999\r\n", b"bulk length"),
                        (b"x" * 70000 + b"\r\n", b"too big inline")):
        c = Client(port)
        c.s.sendall(b"PING\r\n" + text)
        same(c.reply(), b"+PONG")
        reply = c.reply()
        assert reply.startswith(b"-ERR Protocol error") and error in reply, reply
        same(c.is_ended(), True, text)
    c = Client(port)
    for args, error in ((("NONSENSE\r\n", 1), b"unknown command 'NONSENSE  '"),
                        (("GET",), b"wrong number"), (("MSET", 1, 2, 3), b"wrong number"),
                        (("SET", 1, 2, "EX", 3), b"syntax"), (("SELECT", 1), b"DB index"),
                        (("SET", "k" * 513, 1), b"longer than 512"),
                        (("MSET", "ok", 1, "k" * 513, 1), b"longer than 512"),
                        (("MGET", "a", "k" * 513), b"longer than 512")):
        reply = c.ask(*args)
        assert reply.startswith(b"-ERR") and error in reply, reply
    same(c.ask("EXISTS", "ok", "k" * 512), 0)
    same(c.ask("SET", "k" * 512, "v" * 10000), b"+OK")
    same(c.ask("GET", "k" * 512), b"v" * 10000)
    same(c.ask("DEL", "k" * 512), 1)
    c.s.sendall(b"\r\n*0\r\nset  a\tb\r\nGET a\r\nDEL a\r\nQUIT\r\nPING\r\n")
    same([c.reply() for _ in range(4)], [b"+OK", b"b", 1, b"+OK"])
    same(c.is_ended(), True)
    # half a request, and no more
    c = Client(port)
    c.s.sendall(b"*2\r\n$3\r\nGET\r\n$5\r\nab")
    c.s.shutdown(socket.SHUT_WR)
    same(c.is_ended(), True)


def garbage(port, seed, nr):
    """Requests that were changed at random end in a reply, or an end, and in no hang."""
    rnd = random.Random(int(seed))
    for _ in range(int(nr)):
        text = bytearray(b"".join(request(*some_command(rnd, b"g")) for _ in range(3)))
        for _ in range(rnd.randrange(1, 4)):
            at = rnd.randrange(min(len(text), 60))
            text[at:at + rnd.randrange(2)] = bytes([rnd.randrange(256)]) * rnd.randrange(3)
        c = Client(port)
        try:
            c.s.sendall(text)
            c.s.shutdown(socket.SHUT_WR)
            while c.s.recv(65536):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass    # it is ended already


def greedy(port, nr):
    """A client that asks for more than it reads is not served further, and then is."""
    c, nr = Client(port), int(nr)
    value = bytes(range(256)) * 2000
    same(c.ask("SET", "large", value), b"+OK")
    t = threading.Thread(target=lambda: c.s.sendall(request("GET", "large") * nr))
    t.start()
    other = Client(port)
    for _ in range(100):
        same(other.ask("PING"), b"+PONG")
    for _ in range(nr):
        same(c.reply() == value, True)
    t.join()
    c.send("DEL", "large")
    same(c.reply(), 1)


def atomic(port, rounds):
    """MSET is seen whole or not at all, by MGET."""
    keys = ["at%d" % i for i in range(8)]
    done = threading.Event()
    w, r = Client(port), Client(port)

    def writes():
        for i in range(int(rounds)):
            same(w.ask("MSET", *[x for k in keys for x in (k, i)]), b"+OK")
        done.set()
    t = threading.Thread(target=writes)
    t.start()
    seen = set()
    while not done.is_set():
        got = r.ask("MGET", *keys)
        same(len(set(got)), 1, got)
        seen.add(got[0])
    t.join()
    assert len(seen) > 1, "no two states were seen"
    same(r.ask("DEL", *keys), 8)


def count(port, clients, each):
    """Increments of many clients: none is lost."""
    def adds():
        c = Client(port)
        for _ in range(int(each)):
            c.ask("INCR", "count")
    threads = [threading.Thread(target=adds) for _ in range(int(clients))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    c = Client(port)
    same(c.ask("GET", "count"), b"%d" % (int(clients) * int(each)))
    same(c.ask("DEL", "count"), 1)


def store(port, clients, path):
    """SETs until the server dies; those that were acknowledged are noted: a key a line."""
    acked = [[] for _ in range(int(clients))]

    def sets(me):
        try:
            c = Client(port)
            for i in range(10 ** 9):
                if c.ask("SET", "s%d.%d" % (me, i), "v%d" % i) == b"+OK":
                    acked[me].append("s%d.%d v%d" % (me, i, i))
                if len(acked[me]) == 10 and me == 0:
                    print("ready", flush=True)
        except (OSError, EOFError):
            pass
    threads = [threading.Thread(target=sets, args=(i,)) for i in range(int(clients))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    with open(path, "w") as f:
        f.writelines(line + "\n" for lines in acked for line in lines)


def stored(port, path):
    """All that is noted in a file is there."""
    c, nr = Client(port), 0
    for line in open(path):
        key, value = line.split()
        same(c.ask("GET", key), value.encode(), key)
        nr += 1
    assert nr >= 10, f"only {nr} were acknowledged"


def drained(port):
    """Of a server that is told to end: who waits for an answer has it."""
    c = Client(port)
    try:
        for i in range(10 ** 9):
            c.send("SET", "d", i)
            if i == 10:
                print("ready", flush=True)
            same(c.reply(), b"+OK")
            last = i
    except (OSError, EOFError):
        print(last, flush=True)


if __name__ == "__main__":
    try:
        globals()[sys.argv[2]](int(sys.argv[1]), *sys.argv[3:])
    except (AssertionError, OSError, EOFError) as e:
        print(f"{sys.argv[2]}: {type(e).__name__} {e}")
        sys.exit(1)
