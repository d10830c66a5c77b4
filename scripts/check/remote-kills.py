#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The part of remote.sh that runs in a guest for "kills" and "cluster": two posting hosts, two
serving ones, each a dxkd of its own, and what breaks at times that a seed decides. A line
"host: ACTION" asks remote.sh for something.

  remote-kills.py MODULES [--kills N] [--seed S] [--cluster NODES [--limit SECONDS]]

Everything is checked once: each request is answered once, "none exists" is never said early,
without PXR_REDO a request is begun at most once, with it at most redo_max times, which for
requests whose importer is killed, too, is redo_max of both contexts multiplied. An application
that gets no answer while the broker is there and all are awake hangs, after BOUND seconds.
"""
import argparse
import collections
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

BOUND = 45          # s: two heartbeats, the longest delay before a new connection, grace, and
                    # an emulated CPU
CHUNK = 100         # requests of one run of an application: half of them with PXR_REDO
REDO = 50
REDO_MAX = 3
HEARTBEAT = 3
TREE = os.getcwd()
WORK = "/tmp/kills"
PROGRAMS = {name: f"{TREE}/build/{name}" for name in
            ("tools/dxkd", "tools/dxkctl", "selftests/dxkd_peer")}
DXKD, PEER = PROGRAMS["tools/dxkd"], PROGRAMS["selftests/dxkd_peer"]


def say(text):
    print(text, flush=True)


def answers(node):
    """Does a broker do so there? It refuses a version that it does not know, with its own."""
    try:
        with socket.create_connection(node, 2) as s:
            s.settimeout(2)
            s.sendall(b"AMQP\0\0\0\1")
            return s.recv(4) == b"AMQP"
    except OSError:
        return False


def config(name, user, nodes, sections):
    with open(f"{name}.conf", "w", encoding="ascii") as f:
        f.write("[broker farm]\nnodes = " + " ".join(f"amqp://{h}:{p}" for h, p in nodes) +
                f"\nplain = yes\nuser = {user}\npassword_file = {WORK}/password\n"
                f"heartbeat = {HEARTBEAT}\n")
        for section, lines in sections:
            f.write(f"[{section}]\nbroker = farm\n" + "".join(f"{x}\n" for x in lines))


class Process:
    """A program that is started again after a kill."""
    def __init__(self, name, argv, log):
        self.name, self.argv, self.log = name, argv, log
        self.start()

    def start(self):
        self.p = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=self.log,
                                  stderr=self.log, start_new_session=True)

    def restart(self):
        self.p.wait()
        self.start()


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []


class Host:
    """One that serves: a namespace of IPC has names of contexts of its own, as a host has."""
    def __init__(self, name, service, log, worker_us):
        self.name, self.log = name, log
        self.service, self.us = service, worker_us
        self.space = subprocess.Popen(["unshare", "--ipc", "sleep", "infinity"])
        while not os.path.exists(f"/proc/{self.space.pid}/ns/ipc") or \
                os.readlink(f"/proc/{self.space.pid}/ns/ipc") == os.readlink("/proc/self/ns/ipc"):
            time.sleep(0.05)
        enter = ["nsenter", f"--ipc=/proc/{self.space.pid}/ns/ipc"]
        self.serve = Process(f"{name}: workers", enter + [
            PEER, "serve", service, "4", str(worker_us), f"{WORK}/begun"], log)
        self.dxkd = Process(f"{name}: dxkd", enter + [
            DXKD, "--status", f"{name}.json", "export.conf"], log)

    def power_off(self):
        """All of it at once: its context ends with them."""
        workers = children(self.serve.p.pid)
        for pid in [self.dxkd.p.pid, self.serve.p.pid] + workers:
            kill(pid, signal.SIGKILL)
        self.serve.restart()
        self.dxkd.restart()


def kill(pid, sig):
    try:
        os.kill(pid, sig)
        return True
    except ProcessLookupError:
        return False


class Application:
    """Posts CHUNK requests, and CHUNK others when these are answered, and so on."""
    def __init__(self, context, first, redo_times):
        self.context, self.first, self.next = context, first, first
        self.redo_times = redo_times
        self.p, self.stop = None, False
        self.moved = time.monotonic()
        self.results = collections.Counter()
        self.chunks, self.bad, self.longest = 0, [], 0.0

    def start(self):
        self.p = subprocess.Popen(
            [PEER, "app", self.context, str(CHUNK), "32", str(REDO), "work", str(self.next)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.next += CHUNK

    def run(self):
        if self.p and self.p.poll() is not None:
            out = self.p.communicate()[0].strip()
            self.p = None
            got = dict(re.findall(r"(\w+)=(\d+)", out.splitlines()[-1] if out else ""))
            self.results.update({k: int(v) for k, v in got.items()})
            self.chunks += 1
            now = time.monotonic()
            self.longest = max(self.longest, now - self.moved)
            self.moved = now
            if got.get("back") != str(CHUNK) or got.get("none") != "1" or \
                    any(got.get(k) != "0" for k in ("other", "wrong", "twice", "early")):
                self.bad.append(f"from {self.next - CHUNK} on: {out}")
        if not self.p and not self.stop and self.has_context():
            self.start()

    def has_context(self):
        """Does its importer say so? Before, there may be one that has not been started."""
        try:
            with open(f"{self.context}.json", encoding="ascii") as f:
                return all("context_error" not in s for s in json.load(f)["services"])
        except FileNotFoundError:
            return False

    def idle(self):
        return self.p is None


class Watch:
    """What was begun, and the longest time in which nothing was"""
    def __init__(self):
        self.size, self.since, self.longest = 0, time.monotonic(), 0.0

    def nr(self):
        """How many, about: a line has 2 to 11 bytes"""
        return self.size // 8

    def run(self):
        size = os.stat("begun").st_size
        now = time.monotonic()
        if size != self.size:
            self.longest = max(self.longest, now - self.since)
            self.size, self.since = size, now

    def cut(self):
        """That since the last call of this"""
        now = time.monotonic()
        longest = max(self.longest, now - self.since)
        self.longest, self.since = 0.0, now
        return longest


class Run:
    def __init__(self, args, nodes):
        self.args, self.nodes = args, nodes
        self.rand = random.Random(args.seed)
        self.counts = collections.Counter()
        self.failed = []
        self.thaws = []           # (when, pid)
        self.excused_until = 0.0  # a broker is away, or somebody sleeps
        self.history = collections.deque(maxlen=20)
        log = open("log", "a", encoding="ascii")
        service = "killsq" if args.cluster else "kills"
        kind = ["queue = quorum"] if args.cluster else []
        config("export", "worker", nodes, [(f"export {service}", [
            "clients = poster", "grace = 2", "lane3 = 4", f"redo_max = {REDO_MAX}"] + kind)])
        for name in ("fragile", "steady"):
            config(name, "poster", nodes, [(f"import {service}", [
                "workers = worker", f"context = {name}", "window = 16", "mode = 777"] + kind)])
        self.hosts = [Host(n, service, log, 5000) for n in ("one", "two")]
        self.imports = {n: Process(f"import {n}", [DXKD, "--status", f"{n}.json", f"{n}.conf"],
                                   log) for n in ("fragile", "steady")}
        # what its importer's death does to a request the context of this one counts, too
        self.apps = [Application("fragile", 1000000001, REDO_MAX * REDO_MAX),
                     Application("steady", 1, REDO_MAX)]
        self.watch = Watch()

    # --- what breaks ---

    def kill_import(self):
        p = self.imports["fragile"]
        kill(p.p.pid, signal.SIGKILL)
        p.p.wait()
        if os.path.exists("fragile.json"):
            os.unlink("fragile.json")
        p.restart()

    def kill_export(self):
        p = self.rand.choice(self.hosts).dxkd
        kill(p.p.pid, signal.SIGKILL)
        p.restart()

    def kill_worker(self):
        workers = children(self.rand.choice(self.hosts).serve.p.pid)
        if workers:
            kill(self.rand.choice(workers), signal.SIGKILL)

    def kill_host(self):
        self.rand.choice(self.hosts).power_off()

    def freeze(self):
        p = self.rand.choice([h.dxkd for h in self.hosts] + list(self.imports.values()))
        # the longer ones are taken for dead meanwhile
        seconds = self.rand.choice([0.3, 1, 2, 3 * HEARTBEAT])
        kill(p.p.pid, signal.SIGSTOP)
        now = time.monotonic()
        self.thaws.append((now + seconds, p.p.pid))
        self.excused_until = max(self.excused_until, now + seconds)

    def reset(self):
        say(f"host: reset {self.rand.randrange(1000)}")

    def silence(self):
        seconds = self.rand.choice([1, 3 * HEARTBEAT])
        say(f"host: silence {self.rand.randrange(1000)} {seconds}")
        self.excused_until = max(self.excused_until, time.monotonic() + seconds)

    def restart_broker(self):
        say("host: restart")
        self.broker_away()

    def broker_away(self):
        """Until it is there again; others break meanwhile."""
        end = time.monotonic() + 20
        while all(answers(n) for n in self.nodes) and time.monotonic() < end:
            self.step()
        end = time.monotonic() + 120
        begin = time.monotonic()
        others = self.rand.randrange(3)
        while not all(answers(n) for n in self.nodes):
            self.excused_until = time.monotonic() + 0.1
            if time.monotonic() > end:
                self.failed.append("the broker has not come back")
                return
            if others and time.monotonic() - begin > 2:
                others -= 1
                self.one(self.rand.choice([self.kill_import, self.kill_export, self.kill_worker]))
            self.pause(0.3)

    # --- the run ---

    def step(self):
        now = time.monotonic()
        for when, pid in [t for t in self.thaws if t[0] <= now]:
            kill(pid, signal.SIGCONT)
        self.thaws = [t for t in self.thaws if t[0] > now]
        self.watch.run()
        for app in self.apps:
            app.run()
            since = max(app.moved, self.excused_until)
            if not app.idle() and now - since > BOUND and not self.failed:
                self.failed.append(f"{app.context}: no progress for {now - since:.0f} s, "
                                   f"requests from {app.next - CHUNK} on")
        time.sleep(0.02)

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.failed:
            self.step()

    def after(self, requests, seconds):
        """Until about so many more were begun, but no longer than that"""
        size, end = self.watch.nr(), time.monotonic() + seconds
        while self.watch.nr() - size < requests and time.monotonic() < end and not self.failed:
            self.step()

    def one(self, what):
        name = what.__name__
        self.counts[name] += 1
        self.history.append(f"{time.monotonic():.1f} {name}")
        what()

    def warm_up(self):
        end = time.monotonic() + 120
        while not all(a.chunks for a in self.apps) and time.monotonic() < end:
            self.step()
        if not all(a.chunks for a in self.apps):
            self.failed.append("no application got its answers, before anything broke")

    def kills(self):
        # Each twenty have all kinds, in an order of their own.
        deck = [self.kill_import] * 4 + [self.kill_export] * 4 + [self.kill_worker] * 3 + \
            [self.kill_host] * 2 + [self.freeze] * 3 + [self.reset] * 2 + \
            [self.silence, self.restart_broker]
        hand = []
        while sum(self.counts.values()) < self.args.kills and not self.failed:
            if not hand:
                hand = deck[:]
                self.rand.shuffle(hand)
                nr = sum(self.counts.values())
                say(f"# {nr} of {self.args.kills} kills, "
                    f"{sum(a.chunks for a in self.apps) * CHUNK} requests")
            self.one(hand.pop())
            self.after(self.rand.randrange(1, 60), 6)

    def cluster(self):
        for i in range(self.args.kills):
            self.pause(self.rand.uniform(1, 3))
            self.watch.cut()
            self.counts["kill_leader"] += 1
            say("host: leader")
            end = time.monotonic() + 60
            while all(answers(n) for n in self.nodes) and time.monotonic() < end:
                self.pause(0.1)
            self.pause(8)
            gap = self.watch.cut()
            say(f"# leader {i + 1} killed: longest time without a request begun {gap:.1f} s")
            self.gaps.append(gap)
            while not all(answers(n) for n in self.nodes) and not self.failed:
                self.pause(0.5)
            # who has come back takes part again
            self.pause(3)
            if self.failed:
                return

    def finish(self):
        for app in self.apps:
            app.stop = True
        while not all(a.idle() for a in self.apps) and not self.failed:
            self.step()
        for app in self.apps:
            if app.p:
                app.p.kill()
        for _, pid in self.thaws:
            kill(pid, signal.SIGCONT)

    def begun(self):
        """(worst times without, with PXR_REDO per application, complaints)"""
        nr = collections.Counter(int(x) for x in open("begun", encoding="ascii"))
        bad, worst = [], collections.Counter()
        for app in self.apps:
            for param in range(app.first, app.next):
                redo = (param - app.first) % CHUNK < REDO
                most = app.redo_times if redo else 1
                key = f"{app.context}{' redo' if redo else ''}"
                worst[key] = max(worst[key], nr[param])
                if nr[param] > most:
                    bad.append(f"{param} of {app.context}, {'' if redo else 'without '}REDO: "
                               f"begun {nr[param]} times")
        return worst, bad

    def stop(self):
        stuck = []
        daemons = list(self.imports.values()) + [h.dxkd for h in self.hosts]
        for p in daemons:
            kill(p.p.pid, signal.SIGTERM)
        for p in daemons:
            try:
                if p.p.wait(30):
                    stuck.append(f"{p.name}: status {p.p.returncode}")
            except subprocess.TimeoutExpired:
                stuck.append(f"{p.name} does not end")
        for h in self.hosts:
            for pid in [h.serve.p.pid] + children(h.serve.p.pid) + [h.space.pid]:
                kill(pid, signal.SIGKILL)
        return stuck


class Report:
    def __init__(self):
        self.n, self.failed = 0, False

    def __call__(self, good, text, why=()):
        self.n += 1
        say(f"{'ok' if good else 'not ok'} {self.n} {text}")
        if not good:
            self.failed = True
            for line in why:
                say(f"#   {line}")


def dump(run):
    say("host: queues")
    for line in run.history:
        say(f"#   {line}")
    for name in ("fragile", "steady", "one", "two"):
        try:
            with open(f"{name}.json", encoding="ascii") as f:
                for s in json.load(f)["services"]:
                    say(f"#   {name}: {json.dumps(s)}")
        except (OSError, ValueError, KeyError) as e:
            say(f"#   {name}: {e}")
    for name in ("fragile", "steady"):
        out = subprocess.run([PROGRAMS["tools/dxkctl"], "show", name], capture_output=True,
                             text=True, check=False).stdout
        for line in out.splitlines()[:30]:
            say(f"#   {line}")
    with open("log", encoding="utf-8", errors="replace") as f:
        for line in f.readlines()[-60:]:
            say(f"#   {line.rstrip()}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("modules")
    parser.add_argument("--kills", type=int, default=int(os.environ.get("DXK_KILLS") or 40))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("DXK_SEED") or
                                                        random.SystemRandom().randrange(10**6)))
    parser.add_argument("--cluster", type=int, default=0)
    parser.add_argument("--limit", type=float, default=3)
    args = parser.parse_args()
    modules = os.path.realpath(args.modules)
    os.makedirs(WORK, exist_ok=True)
    os.chdir(WORK)
    os.environ["LD_LIBRARY_PATH"] = f"{TREE}/build/lib"
    for where, _, files in os.walk(modules):
        if "dxk.ko" in files:
            subprocess.run(["insmod", f"{where}/dxk.ko"], check=True)
    os.chmod("/dev/dxk", 0o666)
    with open("password", "w", encoding="ascii") as f:
        f.write("secret")
    os.chmod("password", 0o600)
    open("begun", "w", encoding="ascii").close()
    say(f"# {args.kills} kills, seed {args.seed}: DXK_KILLS={args.kills} DXK_SEED={args.seed}")

    run = Run(args, [(f"10.0.2.{100 + i}", 5672) for i in range(args.cluster or 1)])
    run.gaps = []
    begin = time.monotonic()
    run.warm_up()
    if not run.failed:
        (run.cluster if args.cluster else run.kills)()
    run.finish()
    say("# " + ", ".join(f"{k} {v}" for k, v in sorted(run.counts.items())) +
        f" in {time.monotonic() - begin:.0f} s")
    report = Report()
    report(not run.failed, f"no application waits for more than {BOUND} s while the broker is "
           f"there (longest chunk of {CHUNK}: " +
           ", ".join(f"{a.context} {a.longest:.1f} s" for a in run.apps) + ")", run.failed)
    if run.failed:
        dump(run)
    for app in run.apps:
        got = app.results
        report(not app.bad and app.chunks, f"{app.context}: {app.chunks * CHUNK} requests, each is "
               f"answered once, {got['dead']} with EOWNERDEAD", app.bad)
    worst, bad = run.begun()
    report(not bad, "without REDO a request is begun at most once, with it at most redo_max times ("
           + ", ".join(f"{k}: {v}" for k, v in sorted(worst.items())) + ")", bad[:20])
    if args.cluster:
        report(run.gaps and max(run.gaps) <= args.limit,
               f"service goes on within {args.limit:g} s of the leader's death ("
               + ", ".join(f"{g:.1f}" for g in run.gaps) + ")")
    stuck = run.stop()
    report(not stuck, "all end when they are told to", stuck)
    say(f"1..{report.n}")
    return report.failed


if __name__ == "__main__":
    sys.exit(main())
