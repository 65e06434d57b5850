#!/usr/bin/env python3
"""Runs every tool on bad input and checks how it fails.

    run.py --bin build/bin --flatc flatc [--only REGEX] [--list] [--keep]
           [--markdown docs/bad-input.md]

Each case of cases.py runs in a folder of its own that holds only the case's
files. It passes when the tool ends within TIME_LIMIT by itself with the status
that the case names (never 0, never a signal), its message matches the case's
expression and is short, no sanitizer and no LLVM crash handler spoke up,
memory stayed below MEMORY_LIMIT, and the folder holds what it held before: no
output, no temporary file. The folder of temporary files ends up empty, too.

--markdown writes the table of all cases with the message that each got.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

import cases as table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIME_LIMIT = 10  # Seconds.
MEMORY_LIMIT = 2 << 30  # Bytes; drivers and LLVM alone take 300 MB.
LINE_LIMIT = 25  # Lines of a message.

# What only a defect prints.
CRASH = re.compile(
    r"Sanitizer|runtime error:|LLVM ERROR|PLEASE submit a bug report|"
    r"terminate called|Assertion|core dumped"
)


def mount_full_disk(path):
    """Mounts a disk of one page on PATH, seen by this process alone; False
    where that isn't allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x00020000) != 0:  # CLONE_NEWNS
        return False
    for command in (["mount", "--make-rprivate", "/"],
                    ["mount", "-t", "tmpfs", "-o", "size=4k", "none", path]):  # fmt: skip
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            return False
    return True


def snapshot(folder):
    """What lies in FOLDER: names, kinds and contents."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(base, name)
            mode = os.lstat(path).st_mode
            content = None
            if stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, folder)] = (stat.S_IFMT(mode), content)
    return found


class Runner:
    def __init__(self, binaries, folder):
        self.binaries = binaries
        self.folder = folder
        self.full = os.path.join(folder, "full")
        os.makedirs(self.full)
        self.has_full_disk = mount_full_disk(self.full)
        self.full_disk_lock = threading.Lock()

    def write_files(self, case, folder):
        for name, content in case.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if content is table.FOLDER:
                os.mkdir(path)
            elif content is table.PIPE:
                os.mkfifo(path)
            else:
                data = content.encode() if isinstance(content, str) else content
                with open(path, "wb") as file:
                    file.write(data)

    def prepare_child(self, case):
        """Runs in the child before the tool does."""

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if case.full_disk and not self.has_full_disk:
                # The nearest that a process can do to itself.
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        return prepare

    def run(self, case):
        """The defects of CASE, and what the tool printed."""
        with self.full_disk_lock if case.full_disk else contextlib.nullcontext():
            return self.run_alone(case)

    def run_alone(self, case):
        folder = tempfile.mkdtemp(prefix="case-", dir=self.folder)
        work = os.path.join(folder, "work")
        temporary = os.path.join(folder, "tmp")
        os.mkdir(work)
        os.mkdir(temporary)
        self.write_files(case, work)
        if case.full_disk:
            os.symlink(self.full, os.path.join(work, "full"))
        before = snapshot(work)

        environment = {
            **os.environ,
            "TMPDIR": temporary,
            "XDG_CACHE_HOME": os.path.join(self.folder, "cache"),
            "LP_NUM_THREADS": "0",
            "NO_COLOR": "1",
            # Only poot's own code is instrumented, and LLVM keeps what it
            # allocates for options and registries until the end.
            "ASAN_OPTIONS": "exitcode=99:detect_leaks=0:detect_container_overflow=0:"
            "allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
            **case.environment,
        }
        command = [os.path.join(self.binaries, case.tool), *case.arguments]
        error_path = os.path.join(folder, "stderr")
        output_path = case.stdout or os.path.join(folder, "stdout")
        with tempfile.TemporaryFile() as source, open(error_path, "wb") as error, open(
            output_path, "wb"
        ) as output:
            source.write(case.stdin)
            source.seek(0)
            process = subprocess.Popen(
                command, cwd=work, env=environment, stdin=source, stdout=output,
                stderr=error, preexec_fn=self.prepare_child(case),
            )  # fmt: skip
            status, usage = self.wait(process)
        with open(error_path, encoding="utf-8", errors="replace") as file:
            message = file.read().replace(self.binaries + os.sep, "")

        defects = []
        if status is None:
            defects.append(f"ran longer than {TIME_LIMIT} s")
        elif status < 0:
            defects.append(f"was ended by {signal.Signals(-status).name}")
        elif status != case.status:
            defects.append(f"ended with status {status}, not {case.status}")
        if CRASH.search(message):
            defects.append("crashed")
        if not re.search(case.pattern, message, re.DOTALL):
            defects.append(f"message doesn't match {case.pattern!r}")
        if message.count("\n") > LINE_LIMIT:
            defects.append(f"message of {message.count(chr(10))} lines")
        if usage and usage.ru_maxrss * 1024 > MEMORY_LIMIT:
            defects.append(f"took {usage.ru_maxrss >> 10} MiB")
        after = snapshot(work)
        for name in sorted(before.keys() ^ after.keys()):
            defects.append(("left " if name in after else "removed ") + name)
        for name in sorted(before.keys() & after.keys()):
            if before[name] != after[name]:
                defects.append("changed " + name)
        if os.listdir(temporary):
            defects.append(f"left temporary files {os.listdir(temporary)}")
        if case.full_disk and os.listdir(self.full):
            defects.append(f"left {os.listdir(self.full)} on the full disk")
            for name in os.listdir(self.full):
                os.remove(os.path.join(self.full, name))
        return defects, message

    @staticmethod
    def wait(process):
        """Status and usage; no status for a process that had to be killed."""
        deadline = time.monotonic() + TIME_LIMIT
        while True:
            found, status, usage = os.wait4(process.pid, os.WNOHANG)
            if found:
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode, usage
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                return None, None
            time.sleep(0.005)


def full_name(case):
    return f"{case.group}: {case.name}"


def shown(case):
    """The command as a user would type it."""
    words = [case.tool, *case.arguments]
    text = " ".join(w if re.fullmatch(r"[\w./=:@%+,-]+", w) else f"'{w}'" for w in words)
    text += " < input" if case.stdin else ""
    return text + (f" > {case.stdout}" if case.stdout else "")


def cell(text):
    text = re.sub(r"[^\x20-\x7e\u2026]", "?", text)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def code(text):
    text = text if len(text) <= 100 else text[:97] + "..."
    text = re.sub(r"[^\x20-\x7e]", "?", text)
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def markdown(results):
    lines = [
        "<!-- Made by `test/bad-input/run.py --bin build/bin --flatc flatc "
        "--markdown docs/bad-input.md`. -->",
        "",
        "# What bad input gets",
        "",
        f"{len(results)} cases, as `test/bad-input/run.py` runs them in every build: "
        "each ends by itself with the status and a message as below, within "
        f"{TIME_LIMIT} seconds, and leaves no file behind. Status 1 is an error, "
        "2 a mistake on the command line where the tool tells the two apart. Names "
        "of devices are those of the machine that made this page.",
    ]
    group = None
    for case, message in results:
        if case.group != group:
            group = case.group
            lines += ["", f"## {group}", "", "| input | command | status | message |",
                      "|---|---|---|---|"]  # fmt: skip
        text = " ".join(line.strip() for line in message.strip().split("\n")[:3])
        text = text if len(text) <= 300 else text[:297] + "..."
        lines.append(
            f"| {cell(case.name)} | {code(shown(case))} | {case.status} | {cell(text)} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="folder of the tools")
    parser.add_argument("--flatc", default="flatc", help="the FlatBuffers compiler")
    parser.add_argument("--only", default="", help="cases whose name matches")
    parser.add_argument("--list", action="store_true", help="print the cases alone")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    parser.add_argument("--verbose", action="store_true", help="print every message")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--markdown", help="write the table to this file")
    options = parser.parse_args()
    if options.markdown and options.only:
        parser.error("--markdown needs all cases")

    folder = tempfile.mkdtemp(prefix="poot-bad-input-")
    try:
        runner = Runner(os.path.abspath(options.bin), folder)
        schema = os.path.join(ROOT, "bundle", "schema", "bundle.fbs")
        every = table.all_cases(runner.binaries, options.flatc, schema, folder)
        names = [full_name(case) for case in every]
        for name in set(names):
            if names.count(name) > 1:
                sys.exit(f"two cases are called {name!r}")
        chosen = [case for case in every if re.search(options.only, full_name(case))]
        if not chosen:
            sys.exit("no case matches")
        if options.list:
            for case in chosen:
                print(f"{full_name(case)}: {shown(case)}")
            return 0
        failed, results = 0, []
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for case, (defects, message) in zip(chosen, pool.map(runner.run, chosen)):
                results.append((case, message))
                failed += bool(defects)
                if defects or options.verbose:
                    print(f"{'FAIL' if defects else 'ok'}: {full_name(case)}")
                    print(f"  {shown(case)}")
                    for defect in defects:
                        print(f"  -> {defect}")
                    print("  | " + message[:2000].strip().replace("\n", "\n  | "))
        disk = "a tmpfs" if runner.has_full_disk else "a limit on file sizes"
        print(f"{len(chosen)} cases, {failed} failed; the full disk was {disk}")
        if options.markdown and not failed:
            with open(options.markdown, "w", encoding="utf-8") as file:
                file.write(markdown(results))
        return 1 if failed else 0
    finally:
        subprocess.run(["umount", os.path.join(folder, "full")], stderr=subprocess.DEVNULL)
        if options.keep:
            print(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
