# SPDX-License-Identifier: GPL-2.0-only
"""Where a worker builds a mutant and lets the judges look at it: a copy of the tree.

What the build has made of the unchanged source is kept, and put back after each mutant,
so that only what includes the changed file is compiled.
"""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

PARTS = ("native", "dxk/engine", "uapi")
NATIVE = "build/native"


@dataclass
class Judge:
    """A program that notices a mutant by ending with anything but 0, or not at all"""
    name: str
    command: list       # relative to the build directory of its variant
    variant: str = ""
    barriers: bool = False  # looks at changed barriers only

    def program(self):
        return os.path.join(NATIVE + ("-" + self.variant if self.variant else ""),
                            self.command[0])


# In the order in which they are asked; the simulator takes as many steps as in the check
# (native.sh). One whose program is not built, and has no rule in native/Makefile, is left out.
JUDGES = (
    Judge("suites", ["suites", "--brief"]),
    Judge("simulator", ["sim", "--brief", "--steps", "6e7"]),
    Judge("suites-asan", ["suites", "--brief"], "asan"),
    Judge("simulator-asan", ["sim", "--brief", "--steps", "6e6"], "asan"),
    Judge("suites-tsan", ["suites", "--brief"], "tsan", barriers=True),
    Judge("simulator-tsan", ["sim", "--brief", "--steps", "1e6"], "tsan", barriers=True),
)

# A mutant hangs that takes this many times the processor's time of the source, and this
# many seconds of it, or all of whose threads sleep so many times in a row, twice a second.
PATIENCE = 5
LEAST_PATIENCE = 2
ASLEEP = 6
MEMORY = 4 << 30
OUTPUT = 16 << 20


def limit(judge, patience):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    if patience:
        resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + 1))
    # the sanitizer wants address space that it never uses
    if not judge.variant:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def stat(path):
    """State, process group, processor's time; those of nobody when it is gone"""
    try:
        with open(path, encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[2]), fields[11], fields[12]


def all_sleep(group):
    """What the group's threads have used of the processor; None when one is awake"""
    members = [p for p in glob.glob("/proc/[0-9]*") if stat(f"{p}/stat")[1] == group]
    used = sorted((t, stat(t)) for p in members for t in glob.glob(f"{p}/task/*/stat"))
    return used if all(s[0] == "S" for _, s in used) else None


def outlast(process):
    """Its status; None when it sleeps for ever"""
    asleep, before = 0, None
    while asleep < ASLEEP:
        try:
            return process.wait(0.5)
        except subprocess.TimeoutExpired:
            now = all_sleep(process.pid)
            asleep = asleep + 1 if now and now == before else 0
            before = now
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return None


@dataclass
class Verdict:
    mutant: object
    verdict: str        # not compiled, same code, noticed, hang, survived
    judge: str = ""
    detail: str = ""
    seconds: float = 0.0


class Bench:
    def __init__(self, root, work, directory):
        self.work, self.directory = work, os.path.join(work, directory)
        for part in PARTS:
            if os.path.isdir(os.path.join(root, part)):
                shutil.copytree(os.path.join(root, part), os.path.join(work, part))
        # Debug information costs time and would tell mutants of the same code apart.
        self.cc = os.path.join(work, "cc")
        with open(self.cc, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nexec gcc "$@" -g0 -w\n')
        os.chmod(self.cc, 0o755)
        self.judges = [j for j in JUDGES if not j.barriers and self.is_there(j)]
        self.patience = {}
        for judge in self.judges:
            self.check_unchanged(judge)
        self.variants = []
        self.keep()

    def log(self):
        return os.path.join(self.work, "output")

    def check_unchanged(self, judge):
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        outcome, detail = self.ask(judge, None)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        if outcome != "survived":
            raise RuntimeError(f"{judge.name} fails without a mutant: {outcome} {detail}")
        used = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
        self.patience[judge.name] = max(LEAST_PATIENCE, int(PATIENCE * used + 1))

    # --- build ---------------------------------------------------------------

    def make(self, variant, *targets):
        command = ["make", "-s", "-C", os.path.join(self.work, "native"), f"CC={self.cc}",
                   f"BUILD={self.work}/build", f"VARIANT={variant}", *targets]
        with open(self.log(), "w", encoding="ascii") as log:
            return subprocess.run(command, stdout=log, stderr=log,
                                  check=False).returncode == 0

    def build(self, judge):
        target = os.path.join(self.work, judge.program())
        return self.make(judge.variant, target) and os.access(target, os.X_OK)

    def is_there(self, judge):
        """Not if native/Makefile does not know it; one that fails to build is an error"""
        if self.build(judge):
            return True
        with open(self.log(), encoding="utf-8", errors="replace") as log:
            text = log.read()
        if f"No rule to make target '{os.path.join(self.work, judge.program())}'" in text:
            return False
        raise RuntimeError(f"{judge.name} cannot be built: {text[-2000:]}")

    def products(self):
        for directory, _, names in os.walk(os.path.join(self.work, "build")):
            yield from (os.path.join(directory, name) for name in names)

    def keep(self):
        """What was built now is that of the unchanged source."""
        self.kept = {}
        for path in self.products():
            if not path.endswith((".o", ".d")):
                continue
            with open(path, "rb") as file:
                self.kept[path] = file.read(), os.stat(path).st_mtime_ns

    def put_back(self):
        for path in list(self.products()):
            data, when = self.kept.get(path, (None, 0))
            if data is None:
                os.unlink(path)     # else a library would keep the mutant's object
            elif os.stat(path).st_mtime_ns != when:
                with open(path, "wb") as file:
                    file.write(data)
                os.utime(path, ns=(when, when))

    def objects_of(self, file):
        """Those of all judges without a variant that the compiler says include it"""
        name = f"/{os.path.basename(self.directory)}/{file}"
        word = re.compile(re.escape(name).encode() + rb"\s")
        for path, (data, _) in self.kept.items():
            if path.endswith(".d") and f"{NATIVE}/" in path and \
                    word.search(data.split(b"\n\n")[0] + b"\n"):
                yield path[:-2] + ".o"

    def same(self, objects):
        for path in objects:
            with open(path, "rb") as file:
                if file.read() != self.kept[path][0]:
                    return False
        return True

    # --- judge ---------------------------------------------------------------

    def ask(self, judge, patience):
        program = os.path.join(self.work, judge.program())
        log = os.path.join(self.work, "output")
        with open(log, "w", encoding="ascii") as out:
            process = subprocess.Popen(
                [program] + judge.command[1:], stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=lambda: limit(judge, patience))
            status = outlast(process)
        if status is None or status in (-signal.SIGXCPU, -signal.SIGKILL):
            return "hang", ""
        if not status:
            return "survived", ""
        if status < 0:
            return "noticed", signal.Signals(-status).name
        with open(log, encoding="utf-8", errors="replace") as out:
            told = [l.strip() for l in out if re.match(r"not ok|# |.*(ERROR|WARNING)", l)]
        return "noticed", told[0].replace(self.work + "/", "") if told else \
            f"status {status}"

    def judge(self, mutant):
        if mutant.barrier:
            for judge in JUDGES:
                if judge.barriers and judge not in self.variants and \
                        self.is_there(judge):
                    self.variants.append(judge)
                    self.check_unchanged(judge)
                    self.keep()
        begin = time.monotonic()
        path = os.path.join(self.directory, mutant.file)
        with open(path, encoding="ascii") as file:
            text = file.read()
        when = os.stat(path).st_mtime_ns
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(mutant.apply(text))
            verdict = self.trial(mutant)
        finally:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.utime(path, ns=(when, when))
            self.put_back()
        verdict.seconds = time.monotonic() - begin
        return verdict

    def trial(self, mutant):
        """Builds for a judge only what those before have let pass."""
        objects = list(self.objects_of(mutant.file))
        # x86 has for some barriers no instruction: only a sanitizer sees them
        changed = mutant.barrier
        for judge in self.judges + (self.variants if mutant.barrier else []):
            if not self.build(judge):
                return Verdict(mutant, "not compiled")
            if not mutant.barrier and self.same(objects):
                continue
            changed = True
            outcome, detail = self.ask(judge, self.patience[judge.name])
            if outcome != "survived":
                return Verdict(mutant, outcome, judge.name, detail)
        return Verdict(mutant, "survived" if changed else "same code")
