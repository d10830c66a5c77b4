# SPDX-License-Identifier: GPL-2.0-only
"""What tests of the tools have python for: a request a line on standard input, "yes" or
"no" is the answer, in a line of its own, after what else there is to say.

    open NAME MODE WORKERS [FIELD=VALUE]...
                        a process with a context (tools_load.py), its standard input
                        and output being the pipes "to" and "from"
    nobody COMMAND      as that user; what it prints goes to the files "out" and "err",
                        its exit status is told in a line "status N"
    churn               a process that makes contexts and closes them
    json CONDITION      of v, the value in the file "out"; L are those of its lines
    rates               of "out", by dxkstat: what they say happened is what happened
    trace NAME=VALUE... about trace.json (tools_trace.py)
    tmux COMMAND        for a tmux of its own; what it answers goes to the file "out"

A process that is started is told in a line "child PID".
"""
import json
import os
import sys

import tools_load
import tools_trace


def redirect(*files):
    for path, flags, fds in files:
        fd = os.open(path, flags)
        for to in fds:
            os.dup2(fd, to)
        os.close(fd)


def child(main, *args, pipes):
    pid = os.fork()
    if pid:
        return print("child", pid)
    try:
        redirect(*pipes)
        sys.stdin = open(0)
        main(*args)
    except BaseException as e:
        print(repr(e), flush=True)
    finally:
        os._exit(1)


def start(*args):
    for path in "to", "from":
        if os.path.exists(path):
            os.unlink(path)
        os.mkfifo(path)
    child(tools_load.main, *args,
          pipes=[("to", os.O_RDONLY, [0]), ("from", os.O_WRONLY, [1, 2])])


def churn():
    child(tools_load.churn, pipes=[("/dev/null", os.O_RDWR, [0, 1])])


def nobody(*command):
    pid = os.fork()
    if not pid:
        try:
            redirect(("/dev/null", os.O_RDONLY, [0]), ("out", os.O_WRONLY, [1]),
                     ("err", os.O_WRONLY, [2]))
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def values():
    with open("out") as f:
        text = f.read()
    try:
        v = json.loads(text)
    except ValueError:
        v = None
    lines = v is None or "\n" not in text[:-1]
    return text, v, [json.loads(l) for l in text.splitlines()] if lines else None


def check_json(condition):
    text, v, L = values()
    if not eval(condition, {"v": v, "L": L}):
        return [f"not so: {condition}", text[:400].replace("\n", " ")]


def rates():
    L = values()[2]
    total = [l["contexts"][0]["total"]["posts"] for l in L]
    said = sum(b["contexts"][0]["per_second"]["posts"] * (b["time"] - a["time"])
               for a, b in zip(L, L[1:]))
    happened = total[-1] - total[0]
    if total != sorted(total) or not abs(said - happened) <= 0.3 * happened + 5:
        return [f"rates sum up to {said}, counters to {happened}: {total}"]


terminal = None


def tmux(command):
    global terminal
    if not terminal:
        # not above: only one test needs what is slow to load
        import subprocess
        os.environ.pop("TMUX", None)
        terminal = subprocess.Popen(
            ["tmux", "-S", "terminal", "-f", "/dev/null", "-C", "new-session",
             "read forever"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(command, file=terminal.stdin, flush=True)
    begin = None
    with open("out", "w") as out:
        for line in terminal.stdout:
            word, *rest = line.split(" ")
            if not begin:
                # the last figure tells what was asked for by this client
                begin = word == "%begin" and rest[2] == "1\n" and rest
            elif word == "%end" and rest == begin:
                break
            elif word == "%error" and rest == begin:
                return [f"tmux: no {command}"]
            else:
                out.write(line)


for line in sys.stdin:
    request, _, rest = line.strip().partition(" ")
    try:
        if request in ("json", "tmux"):
            wrong = {"json": check_json, "tmux": tmux}[request](rest)
        else:
            wrong = {"open": start, "nobody": nobody, "churn": churn, "rates": rates,
                     "trace": tools_trace.check}[request](*rest.split())
    except Exception as e:
        wrong = [f"{request}: {e!r}"]
    for text in (wrong or [])[:5]:
        print(text)
    print("no" if wrong else "yes", flush=True)
