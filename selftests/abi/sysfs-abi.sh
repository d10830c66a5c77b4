#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Documentation/ABI against the running module: every file below /sys/kernel/dxk is
# documented, every documented one exists from the time on that it is to be there, is the
# owner's, has the mode and one value, and is gone with its context (DX-8, DX-113,
# DX-115). What the values are is for other tests.
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
exec python3 - "$root/Documentation/ABI/testing/sysfs-kernel-dxk" <<'EOT'
import fcntl, itertools, os, re, struct, sys, time

TOP = "/sys/kernel/dxk"
tests = 0
failed = False


def ok(wrong, text):
    global tests, failed
    tests += 1
    failed |= bool(wrong)
    for line in wrong:
        print("#", line)
    print("not ok" if wrong else "ok", tests, text)


# --- the document -----------------------------------------------------------

FORM = re.compile(r"(What:\t\t\S+\n)+Date:\t\t\w+ 20\d\d\nKernelVersion:\t\S+\n"
                  r"Contact:\t\S.*\nDescription:\t\S.*\n((\t\t.*)?\n)*\Z")


def table(text, name):
    """The first column, and the rest, of the table that has this heading."""
    found = re.search(rf"^=[= ]+\n{name} *\n=[= ]+\n(.*?)^=[= ]+$", text, re.M | re.S)
    rows = re.findall(r"^(\w+) +(.*)", found.group(1) if found else "", re.M)
    return dict(rows)


def braces(path):
    """a{b,c} -> ab, ac"""
    parts = re.split(r"\{([^}]*)\}", path)
    choices = [p.split(",") if i % 2 else [p] for i, p in enumerate(parts)]
    return ["".join(c) for c in itertools.product(*choices)]


def documented(text):
    """path -> may it be written? What is left in angle brackets is any name."""
    files = {}
    for entry in re.split(r"\n\n(?=What:)", text):
        body = re.sub(r"^\t\t", "", entry, flags=re.M)
        for what in re.findall(r"^What:\t\t(.*)", entry, re.M):
            rows = {"": ""}
            for name in re.findall(r"<(\w+)>", what):
                rows = table(body, name) or rows
            for row, rest in rows.items():
                path = re.sub(r"<\w+>$", row, what) if row else what
                for p in braces(path):
                    files[p] = rest.startswith("RW") or "(RW)" in body
    return files


with open(sys.argv[1]) as f:
    text = f.read()
entries = re.split(r"\n\n(?=What:)", text.rstrip("\n"))
files = documented(text)
ok([e.split("\n")[0] for e in entries if not FORM.match(e + "\n")] +
   [f"{p} has no table" for p in files if re.search("<(field|counter)>", p)],
   "the entries have the form that the kernel wants")

# --- a context, new, running, stopped, closed -------------------------------

UID, GID, MODE = 1, 2, 0o640
# A word or number, and a newline. A name may be empty.
ONE_VALUE = re.compile(r"[^\s,:=]*\n\Z")
# A list may have commas.
LIST = "policy/cpus"
# What has no names to make directories of has lines of pairs; here there is none.
LISTINGS = ("waiting", "keys", "instruments", "labels")
LATER = ("pools", "lanes", "stats")


def call(fd, nr, fmt, *values):
    size = struct.calcsize(fmt)
    data = bytearray(struct.pack(fmt, size, *values))
    fcntl.ioctl(fd, 0xd800 | nr, data)
    return struct.unpack(fmt, data)


ctl = os.open("/dev/dxk", os.O_RDWR | os.O_CLOEXEC)
_, _, ctx, ident, *_ = call(ctl, 0x02, "=IIiIIIII32s", 1, 0, 0, UID, GID, MODE, 0, b"")
own = f"{TOP}/{ident}"


def files_now(*tops):
    return {os.path.join(where, name)
            for where, _, names in itertools.chain(*map(os.walk, tops)) for name in names}


def read(path):
    with open(path) as f:
        return f.read()


def state():
    return read(f"{own}/state").strip()


new = files_now(own)
ok([f"{len(new)} files"] * (not 0 < len(new) <= 58) +
   [d for d in LATER if os.path.exists(f"{own}/{d}")] +
   [state()] * (state() != "new"), f"a new context has {len(new)} files")

call(ctx, 0x10, "=II", 0)		# Start
ok([state()] * (state() != "running"), "the context runs")
paths = files_now(f"{TOP}/executors", own)
there = {path: os.stat(path) for path in paths}
contents = {path: read(path) for path in paths}

# --- the comparison ---------------------------------------------------------

def pattern(path):
    parts = re.split(r"<\w+>", path)
    return re.compile("[^/]+".join(map(re.escape, parts)) + r"\Z")


patterns = {p: pattern(p) for p in files if not p.endswith("/")}
found = {path: [p for p in patterns if patterns[p].match(path)] for path in there}
ok([path for path in there if not found[path]], f"all {len(there)} files are documented")
ok([p for p in patterns if not any(p in f for f in found.values())],
   f"all {len(patterns)} documented files exist")
ok([path for path, st in there.items()
    if found[path] and files[found[path][0]] != bool(st.st_mode & 0o222)],
   "those and only those that are told to be RW can be written")
ok([path for path, f in found.items() if len(f) > 1], "no file is documented twice")
ok([f"{path} {st.st_uid}:{st.st_gid} {st.st_mode:o}" for path, st in there.items()
    if path.startswith(f"{own}/") and
    ((st.st_uid, st.st_gid) != (UID, GID) or st.st_mode & 0o777 & ~0o200 != 0o440)],
   "the files of the context are its owner's, with its mode")
ok([f"{path}: {text!r}" for path, text in contents.items()
    if text and os.path.basename(path) in LISTINGS or
    os.path.basename(path) not in LISTINGS and
    not ONE_VALUE.match(text.replace(",", "") if path.endswith(LIST) else text)],
   "each file has one value")
ok([p for p in patterns if p.startswith(f"{TOP}/<context>/") and
    p.split("/")[5] not in LATER + ("threads",) and
    not any(patterns[p].match(f) for f in new)], "all others were there before the Start")

call(ctx, 0x11, "=IIQQIIII", 2, 0xffffffffffffffff, 0, 0, 0, 0, 0)	# Stop
left = {path for path in paths if path.startswith(f"{own}/") and "/threads/" not in path}
ok(sorted(left ^ {p for p in files_now(own) if "/threads/" not in p}) +
   [state()] * (state() != "stopped"), "a stopped context keeps them")
os.close(ctx)
deadline = time.monotonic() + 10
while os.path.exists(own) and time.monotonic() < deadline:
    time.sleep(0.01)
ok([own] * os.path.exists(own), "a closed one has none")
print(f"1..{tests}")
sys.exit(failed)
EOT
