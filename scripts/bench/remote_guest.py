#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The part of remote.sh that runs in a guest.

  remote_guest.py MODULES PAIRS COUNT
"""
import os
import re
import subprocess
import sys
import time

TREE, WORK = os.getcwd(), "/tmp/bench"
DXKD, REMOTE = f"{TREE}/build/tools/dxkd", f"{TREE}/build/bench/remote"
SIZE, WINDOW, WORKERS = 256, 64, 4
IDLE = 60


def say(text):
    print(text, flush=True)


def mark(name):
    """The broker has nothing to do before and after it"""
    time.sleep(1)
    say(f"mark {name}")
    time.sleep(1)


def config(name, section, lines):
    with open(f"{name}.conf", "w", encoding="ascii") as f:
        f.write("[broker farm]\nnodes = amqp://10.0.2.100\nplain = yes\nuser = me\n"
                f"password_file = {WORK}/password\n[{section}]\nbroker = farm\n"
                + "".join(f"{x}\n" for x in lines))


def cpu(pids):
    """(user, system) of these, in us: their sum to the ns, which ticks divide"""
    user = system = total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        user += int(fields[11])
        system += int(fields[12])
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0]) / 1000
    return total * user / max(user + system, 1), total * system / max(user + system, 1)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(x) for x in f.read().split()]


def status(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(rf"^{field}:\s+(\d+)", f.read(), re.M).group(1))


def serve(name):
    p = subprocess.Popen([REMOTE, "serve", name, str(WORKERS)], stdout=subprocess.PIPE)
    p.stdout.readline()
    return p


def run(words):
    out = subprocess.run([REMOTE] + words, capture_output=True, text=True, check=False)
    if out.returncode:
        sys.exit(f"{words}: {out.stderr}")
    return out.stdout.strip()


def app(name, context, count, others):
    """others: name: pids, whose processor time is told as well"""
    before = {k: cpu(v) for k, v in others.items()}
    mark("begin")
    said = run(["app", context, str(count), str(SIZE), str(WINDOW)])
    mark("end")
    line = f"{name} {said}"
    for k, v in others.items():
        user, system = (a - b for a, b in zip(cpu(v), before[k]))
        line += f" {k}-user {user / count:.1f} {k}-system {system / count:.1f}"
    say(line)


def main():
    modules, pairs, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for where, _, files in os.walk(os.path.realpath(modules)):
        if "dxk.ko" in files:
            subprocess.run(["insmod", f"{where}/dxk.ko"], check=True)
    os.makedirs(WORK, exist_ok=True)
    os.chdir(WORK)
    os.environ["LD_LIBRARY_PATH"] = f"{TREE}/build/lib"
    with open("password", "w", encoding="ascii") as f:
        f.write("secret")
    os.chmod("password", 0o600)
    config("export", "export bench", ["clients = me", f"lane3 = {WINDOW}"])
    config("import", "import bench", ["workers = me", f"window = {WINDOW}", "mode = 777"])
    server, local = serve("bench"), serve("local")
    daemons = {}
    for name in ("export", "import"):
        daemons[name] = subprocess.Popen([DXKD, "--status", f"{name}.json", f"{name}.conf"],
                                         stderr=open(f"{name}.log", "w", encoding="ascii"))
        while "requests: up" not in open(f"{name}.log", encoding="ascii").read():
            time.sleep(0.1)
    # dxkd has to see that somebody serves it
    while '"served":true' not in open("import.json", encoding="ascii").read():
        time.sleep(0.5)
    others = {name: [p.pid] for name, p in daemons.items()}
    others["workers"] = children(server.pid)
    for i in range(pairs + 1):
        name = "warm-" if not i else ""
        mark("begin")
        said = run(["raw", "10.0.2.100", "5672", str(count), str(SIZE), str(WINDOW)])
        mark("end")
        say(f"{name}raw {said}")
        app(f"{name}dxkd", "bench@farm", count, others)
        app(f"{name}local", "local", count, {"workers": children(local.pid)})
    for name, p in daemons.items():
        before = status(p.pid, "voluntary_ctxt_switches")
        say(f"{name} rss_kib {status(p.pid, 'VmRSS')} anon_kib {status(p.pid, 'RssAnon')} "
            f"peak_kib {status(p.pid, 'VmHWM')}")
        time.sleep(IDLE)
        say(f"{name} idle_seconds {IDLE} wakeups "
            f"{status(p.pid, 'voluntary_ctxt_switches') - before}")
    for p in list(daemons.values()) + [server, local]:
        p.terminate()


main()
