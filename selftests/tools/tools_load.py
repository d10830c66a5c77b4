# SPDX-License-Identifier: GPL-2.0-only
"""A context with user workers, for the tests of the tools.

main(NAME, MODE, WORKERS, [FIELD=VALUE]...) prints "id N" when it runs; with "new" for
WORKERS it is not started. Then one command a line on standard input, each answered by a
line:

    post NR LANE MS     requests that take MS milliseconds each
    hold NR LANE        requests that execute until "release"; answered when they all do
    parent              one that posts a child and waits for it until "release"
    family              one that waits for its child, which executes until "release"
    circle              two that wait for each other, for a while again and again
    keyed NR            requests of one key; the first executes until "release"
    wait MS             one, of which collect knows nothing, that waits for a call or for so long
    release             ends what is held
    collect             waits until nothing of this program's exists any more
    addin               an executive of libdxk besides, the add-in "tools-addin"
    close               closes the context and ends
"""
import ctypes as c
import os
import sys
import threading
import time

OWNER, CHILDREN, LONERS = 0x1234, 0x5678, 0x9abc
SLEEP, HOLD, PARENT, FAMILY, CIRCLE = range(5)
NAMED, KEYED, WAITING = 0x400, 0x800, 0x1000
WORKER, REJOIN, WAIT, LANE = 1, 2, 1, {0: 0x10, 1: 0x20, 2: 0x40, 3: 0}

u32, s32, u64 = c.c_uint32, c.c_int32, c.c_uint64


def struct(name, *fields):
    return type(name, (c.Structure,), {"_fields_": [
        (f, t) for t, names in fields for f in names.split()]})


Create = struct("Create", (u32, "size flags"), (s32, "fd"),
                (u32, "id uid gid mode reserved"), (c.c_char * 32, "name"))
Entry = struct("Entry", (u64, "owner executor param data"), (u32, "data_len result_len"),
               (s32, "prio"), (u32, "attrs"), (s32, "fd"), (u32, "reserved"))
Wait = struct("Wait", (u64, "deadline owner state key"), (u32, "wait"), (s32, "prio fd"),
              (u32, "events"))
More = struct("More", (Entry, "post"), (u64, "name expire"), (Wait, "wait"),
              (u64, "key"), (u32, "reentry reserved"))
Work = struct("Work", (u64, "ticket owner executor param"),
              (u32, "data_len result_len"), (s32, "prio"),
              (u32, "attrs inspect_count"), (s32, "fd"),
              (u32, "attempt reserved uid gid pid origin"))
Done = struct("Done", (u64, "ticket data"), (u32, "data_len"), (s32, "status"))
Result = struct("Result", (u64, "executor param"), (s32, "status"), (u32, "attrs"),
                (s32, "prio"), (u32, "inspect_count data_len worker attempts reserved"))

Settings = struct("Settings", (c.c_char_p, "name"), (c.c_int, "argc"), (c.c_void_p, "argv"),
                  (c.c_bool, "addin"), (c.c_char_p, "log context"), (c.c_uint, "mode"),
                  (c.c_void_p, "operations reserved"))

lib = c.CDLL("libdxk.so.1")
lib.MTExecutiveCreate.restype = c.c_void_p
lib.dxk_next.argtypes = [c.c_int, c.c_void_p, c.c_uint, c.c_void_p, c.c_void_p, c.c_uint,
                         c.c_void_p, c.c_size_t, c.c_int64]
lib.dxk_post.argtypes = [c.c_int, c.c_void_p, c.c_uint, c.c_int64, c.c_void_p]
lib.dxk_post_more.argtypes = lib.dxk_post.argtypes
lib.dxk_rejoin.argtypes = [c.c_int, u64, c.c_void_p, c.c_uint, c.c_uint, c.c_void_p,
                           c.c_size_t, c.c_int64, c.c_void_p]
lib.dxk_policy_field_name.restype = c.c_char_p


def must(rc, what):
    if rc < 0:
        sys.exit(f"{what}: {os.strerror(-rc)}")
    return rc


released = threading.Event()
holds = threading.Semaphore(0)


def post(member, nr, lane, op, ms, owner):
    entries = (Entry * nr)()
    for e in entries:
        e.owner, e.executor, e.param = owner, op, ms
        e.prio, e.attrs = 20 + lane, REJOIN | WAIT | LANE[lane]
    return lib.dxk_post(member, entries, nr, -1, None)


def wait(member, ms):
    e = More()
    e.post.owner, e.post.executor, e.post.attrs = LONERS, SLEEP, NAMED | WAITING
    e.name, e.wait.wait = 0x77, 3
    e.wait.deadline = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + ms * 1000000
    return lib.dxk_post_more(member, c.byref(e), 1, -1, None)


def keyed(member, nr):
    entries = (More * nr)()
    for e in entries:
        e.post.owner, e.post.executor, e.post.attrs = OWNER, HOLD, REJOIN | KEYED
        e.key = 0x55
    return lib.dxk_post_more(member, entries, nr, -1, None)


def collect(member, owner, ms):
    results, answer = (Result * 64)(), u32()
    while lib.dxk_rejoin(member, owner, results, 64, 1, None, 0, ms * 1000000,
                         c.byref(answer)) > 0:
        pass
    return answer.value


def execute(member, work):
    if work.executor == SLEEP:
        threading.Event().wait(work.param / 1000)
    elif work.executor == HOLD:
        holds.release()
        released.wait()
    elif work.executor == PARENT:
        post(member, 1, 3, SLEEP, 0, CHILDREN)
        while not released.is_set():
            collect(member, CHILDREN, 500)
    elif work.executor == CIRCLE:
        holds.release()
        while not released.is_set():
            collect(member, work.param, 2000)
    elif work.executor == FAMILY:
        post(member, 1, 3, HOLD, 0, CHILDREN)
        collect(member, CHILDREN, -1)


def worker(ctx, started):
    member = must(lib.dxk_member_create(ctx, WORKER, None), "worker")
    started.release()
    # two at a time, if it is given them
    works, dones, nr = (Work * 2)(), (Done * 2)(), 0
    while nr >= 0:
        nr = lib.dxk_next(member, dones, nr, None, works, 2, None, 0, -1)
        for i in range(nr):
            execute(member, works[i])
            dones[i].ticket = works[i].ticket
    os.close(member)


def set_policy(ctx, settings):
    names, policy = {}, (u32 * 64)()    # room for fields to come
    for i in range(64):
        name = lib.dxk_policy_field_name(4 * i)
        if name:
            names[name.decode()] = i
    must(lib.dxk_policy_get(ctx, policy), "policy")
    for setting in settings:
        name, value = setting.split("=")
        policy[names[name]] = int(value)
    bad = u32()
    rc = lib.dxk_policy_set(ctx, policy, c.byref(bad))
    must(rc, lib.dxk_policy_field_name(bad.value) if rc < 0 else "")


def main(name, mode, workers, *settings):
    create = Create(mode=int(mode, 8), name=name.encode())
    ctl = must(lib.dxk_open(), "/dev/dxk")
    ctx = must(lib.dxk_ctx_create_as(ctl, c.byref(create)), "context")
    if workers == "new":
        print(f"id {create.id}", flush=True)
        sys.stdin.readline()
        os._exit(0)
    workers = int(workers)
    set_policy(ctx, (f"max_threads={workers}", *settings))
    must(lib.dxk_ctx_start(ctx), "start")
    client = must(lib.dxk_member_create(ctx, 0, None), "client")
    started = threading.Semaphore(0)
    for _ in range(workers):
        threading.Thread(target=worker, args=(ctx, started), daemon=True).start()
        started.acquire()
    print(f"id {create.id}", flush=True)

    for line in sys.stdin:
        word, *args = line.split()
        args = [int(a) for a in args]
        if word == "post":
            answer = post(client, args[0], args[1], SLEEP, args[2], OWNER)
        elif word == "hold":
            released.clear()
            # One by one: two at a time could go to one worker, which would never
            # begin with the second.
            for _ in range(args[0]):
                answer = post(client, 1, args[1], HOLD, 0, OWNER)
                holds.acquire()
        elif word == "parent":
            released.clear()
            answer = post(client, 1, 2, PARENT, 0, OWNER)
        elif word == "family":
            released.clear()
            answer = post(client, 1, 2, FAMILY, 0, OWNER)
            holds.acquire()
        elif word == "circle":
            released.clear()
            for a, b in (0xa1, 0xa2), (0xa2, 0xa1):
                answer = post(client, 1, 3, CIRCLE, b, a)
                holds.acquire()
        elif word == "keyed":
            released.clear()
            answer = keyed(client, args[0])
            holds.acquire()
        elif word == "wait":
            answer = wait(client, args[0])
        elif word == "release":
            answer = released.set()
        elif word == "collect":
            answer = collect(client, OWNER, -1)
        elif word == "addin":
            settings = Settings(name=b"tools-addin", addin=True, log=b"/dev/null")
            answer = lib.MTExecutiveCreate(c.byref(settings), None, None) or "failed"
        elif word == "count":
            answer = lib.dxk_instrument(client, f"own{args[0]}".encode(), 0, c.c_int64(args[1]))
        elif word == "label":
            answer = lib.dxk_label(client, u64(args[0]), f"job{args[1]}".encode())
        elif word == "quote":
            answer = lib.dxk_label(client, u64(args[0]), b'job"\\')
        elif word == "close":
            break
        else:
            answer = "unknown"
        print(f"done {answer}", flush=True)
    # Not even waiting for the workers: the module takes care of them.
    os._exit(0)


def churn():
    """Contexts that come and go, until it is killed."""
    ctl = must(lib.dxk_open(), "/dev/dxk")
    while True:
        for fd in [lib.dxk_ctx_create(ctl, None) for _ in range(5)]:
            os.close(fd)
