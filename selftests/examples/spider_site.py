#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A site for dxspider to walk through, of two servers, and one of them.

  spider_site.py URL PAGES OWN-PAGES ADDRESS...
      makes pages in directory a, which somebody serves at URL, and pages in b, which it serves
      itself, and odd things below /odd/, at each of the addresses. They link to each other.
      Prints the port, which is the same at all addresses. Each request is a line of log:
      address, method, path, and how many there were at that address then
"""
import http.server
import os
import random
import sys
import threading
import urllib.parse

NAMES = ["page", "with space", "größe", "a+b", "50%", "q&a", "semi;colon", "tilde~"]
BIG = 100 << 20


def serve(addresses):
    lock = threading.Lock()
    now = dict.fromkeys(addresses, 0)
    meeting = threading.Barrier(2)
    never = threading.Event()
    out = open("log", "w", buffering=1)

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        counts = 0

        def __init__(self, *args):
            super().__init__(*args, directory="b")

        # Who has the head of an answer may ask for the next thing.
        def end_headers(self):
            self.leave()
            super().end_headers()

        def leave(self):
            with lock:
                now[self.server.server_address[0]] -= self.counts
            self.counts = 0

        def log_message(self, *args):
            pass

        def handle_one_request(self):
            try:
                super().handle_one_request()
            except OSError:
                self.close_connection = True

        def whole(self, text, status=200, kind="text/html", fields=()):
            self.send_response(status)
            for name, value in (("Content-Type", kind), ("Content-Length", len(text)), *fields):
                self.send_header(name, str(value))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)

        def redirect(self, to, status=302):
            self.whole(b"", status, fields=(("Location", to),))

        def big(self, kind, begin, piece):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(BIG))
            self.end_headers()
            if self.command == "HEAD":
                return
            sent = 0
            try:
                while sent < BIG:
                    self.wfile.write((piece if sent else begin or piece)[:BIG - sent])
                    sent += len(piece)
            finally:
                print("big", self.path, sent, file=out)

        def odd(self, name, query):
            if name == "gone":
                self.redirect("/odd/missing%20page", 301)
            elif name in ("loop", "pool"):
                self.redirect("/odd/" + name[::-1])
            elif name == "chain":
                self.redirect(f"chain?{int(query or 0) + 1}")
            elif name == "to":
                self.redirect(urllib.parse.unquote(query))
            elif name == "status":
                self.whole(b'<a href="/odd/behind an error">', int(query))
            elif name == "never":
                never.wait()
            elif name == "half":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"<html>")
                self.close_connection = True
            elif name == "nonsense":
                self.wfile.write(os.urandom(500))
                self.close_connection = True
            elif name == "only-get":
                self.whole(b"", 405 if self.command == "HEAD" else 200)
            elif name == "binary":
                self.whole(random.Random(1).randbytes(300000))
            elif name == "big":
                self.big("application/octet-stream", b"", bytes(1 << 16))
            elif name == "big.html":
                self.big("text/html", b'<a href="/odd/at-the-begin">', b"<p>" + b"words " * 9000)
            elif name == "tag.html":
                self.big("text/html", b'<a href="', b"x" * (1 << 16))
            elif name == "links.html":
                self.big("text/html", b"<base href='" + b"y" * 2000 + b"/'>",
                         b"".join(b"<a href=%x>" % i for i in range(9000)))
            elif name == "meet":
                # Two of them at a time, or none
                try:
                    meeting.wait(float(query.partition("=")[2]))
                    self.whole(b"met")
                except threading.BrokenBarrierError:
                    meeting.reset()
                    self.whole(b"alone", 500)
            else:
                self.whole(b'<a href="/odd/behind an error">', 404)

        def do_GET(self):
            address = self.server.server_address[0]
            path, _, query = self.path.partition("?")
            self.counts = 1
            with lock:
                now[address] += 1
                print(address, self.command, self.path, now[address], file=out)
            try:
                if path.startswith("/odd/"):
                    self.odd(path[5:], query)
                elif self.command == "HEAD":
                    super().do_HEAD()
                else:
                    super().do_GET()
            finally:
                self.leave()

        do_HEAD = do_GET

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *args):
            pass

    port = 0
    for a in addresses:
        server = Server((a, port), Handler)
        port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return port


def names(pages):
    """The paths of a tree's pages: in directories within each other"""
    for i in range(pages):
        deep = [f"d{i % 3}", f"sub {i % 2}", "e"][:i % 4]
        yield "/".join(deep + [f"{NAMES[i % len(NAMES)]}{i}.html"])


def spell(rng, where, to, url):
    """One of the ways in which a page at a path names another one"""
    quoted = urllib.parse.quote(to, safe="/" + rng.choice(["", "+&;~"]))
    there = os.path.relpath(to, os.path.dirname(where) or ".")
    raw = there.replace("%", "%25").replace("&", "&amp;")
    here = "../" * where.count("/")
    return rng.choice([
        "/" + quoted, url + quoted, here + quoted, "./" + here + quoted,
        raw, f"  {raw}\n", raw + "#there", "/x/../" + quoted, here + quoted + "?a=1&amp;b=2",
        url.partition(":")[2] + quoted, here + "../../" + quoted, quoted and "/" + quoted + "#",
    ])


def make(directory, pages, url, other, others):
    rng = random.Random(directory)
    paths = list(names(pages))
    others = list(names(others))
    plain = ['<a href="mailto:x@example.org">', '<a href="#x">', '<a name="x">',
             '<a href="javascript:void(0)">', '<img src="data:image/gif;base64,R0lGODlhAQ==">',
             '<a href="">', "<a href='ftp://127.0.0.9/file'>", '<!-- <a href="/in-a-comment"> -->',
             '<a href="tel:+1">',
             '<link rel=preconnect href="http://127.0.0.9/">']
    for i, where in enumerate(paths):
        links = rng.sample(plain, 3)
        # Each page is found, over several steps
        for k in (2 * i + 1, 2 * i + 2, rng.randrange(len(paths)), rng.randrange(len(paths))):
            if k < len(paths):
                links.append(f'<a class="k" href="{spell(rng, where, paths[k], url)}">k</a>')
        if rng.random() < .4:
            gone = rng.choice(["missing/", "d1/missing/"]) + str(rng.randrange(40))
            links.append(f"<A HREF={spell(rng, where, gone, url).strip()}>")
        if rng.random() < .3:
            gone = f"images/{rng.randrange(9)}.png"
            links.append(f"<img alt='' src='{spell(rng, where, gone, url)}'>")
        if rng.random() < .3:
            to = urllib.parse.quote(rng.choice(others + ["elsewhere/missing"]))
            links.append(f'<iframe src="{other}{to}"></iframe>')
        if rng.random() < .2:
            links.append(rng.choice(["<a href=/d1>", "<a href='/d0/sub 0/'>", "<a href=/empty/>"]))
        rng.shuffle(links)
        os.makedirs(os.path.dirname(f"{directory}/{where}") or ".", exist_ok=True)
        meta = rng.choice(["", "<meta charset=utf-8>"])
        text = f"<!doctype html><html><head>{meta}<title>{i}</title></head><body>\n"
        text += "\n".join(links) + "\n</body></html>\n"
        with open(f"{directory}/{where}", "w", encoding="utf-8") as f:
            f.write(text)
    for d in ("empty", "images", "d1", "d0/sub 0"):
        os.makedirs(f"{directory}/{d}", exist_ok=True)
        with open(f"{directory}/{d}/index.html", "w", encoding="utf-8") as f:
            for p in paths:
                if p.startswith("d1/") and d == "d1":
                    f.write(f"<a href='{urllib.parse.quote(p[3:])}'>{p}</a>\n")
    for i in range(0, 9, 2):
        with open(f"{directory}/images/{i}.png", "wb") as f:
            f.write(rng.randbytes(100 if i else 200000))
    with open(f"{directory}/index.html", "w", encoding="utf-8") as f:
        f.write(f'<a href="{urllib.parse.quote(paths[0])}">begin</a> <a href="{other}">other</a>')


def main(url, pages, own_pages, *addresses):
    port = serve(addresses)
    own = f"http://{addresses[0]}:{port}/"
    make("a", int(pages), url, own, int(own_pages))
    make("b", int(own_pages), own, url, int(pages))
    print(port, flush=True)
    threading.Event().wait()


main(*sys.argv[1:])
