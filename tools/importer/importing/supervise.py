# SPDX-License-Identifier: Apache-2.0
"""What is imported runs in a child process, with a limit of time and of memory: it may never end, end the process, or break
it, and each of these is to be said. Nothing here needs more than Python."""
import contextlib
import ctypes
import linecache
import os
import pathlib
import resource
import select
import signal
import sys
import tempfile
import time

FIRST_NOTE = 60  # seconds; then after twice as many, and so on
PATIENCE = 3  # seconds for the child to say where it is
MOST = 1 << 16  # bytes of what it says


def place(frame, roots):
    """ " at line 4: while True:" of the innermost frame of a file below one of the roots, or ""."""
    while frame:
        name = frame.f_code.co_filename
        if any(name == root or name.startswith(root + os.sep) for root in roots):
            line = linecache.getline(name, frame.f_lineno).strip()[:120]
            return f" at line {frame.f_lineno}" + (f": {line}" if line else "")
        frame = frame.f_back
    return ""


def free_memory():
    """Bytes that a program may take now without taking them all, or None."""
    try:
        text = pathlib.Path("/proc/meminfo").read_text()
        return (int(text.split("MemAvailable:")[1].split()[0]) << 10) // 4 * 3
    except (OSError, ValueError, IndexError):
        return None


def begin_child(out, roots):
    """Asked by a signal it says where it is. Of the machine's memory it is the first to go, and takes no more than is free."""
    os.setpgid(0, 0)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: when its parent is killed
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # nobody answers what it asks
    signal.signal(signal.SIGUSR1, lambda _, frame: os.write(out, b"at" + place(frame, roots).encode()[:MOST // 2] + b"\n"))
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
    free = free_memory()
    if free:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = free if soft == resource.RLIM_INFINITY else min(free, soft)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


class Child:
    """pid, and the lines that it writes to a pipe: "at ..." where it is, "end N" before it ends with code N."""

    def __init__(self, pid, pipe):
        self.pid, self.pipe, self.text, self.closed = pid, pipe, b"", False

    def ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def line(self, seconds):
        """The next line, "" when it has ended, or None after these seconds. Imported code may close the pipe and go on, and
        end while workers of its own hold it open."""
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            left = end - time.monotonic()
            if left <= 0:
                return None
            if self.closed:
                if self.ended():
                    return ""
                time.sleep(min(left, 0.1))
            elif select.select([self.pipe], [], [], min(left, 1))[0]:
                more = os.read(self.pipe, MOST)
                self.closed = not more
                self.text = (self.text + more)[-MOST:]
            elif self.ended() and not select.select([self.pipe], [], [], 0)[0]:
                return ""
        line, _, self.text = self.text.partition(b"\n")
        return line.decode(errors="replace")

    def where(self):
        os.kill(self.pid, signal.SIGUSR1)
        said = self.line(PATIENCE)
        return said[2:] if said and said.startswith("at") else ""

    def kill(self):
        for end in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                end(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # its folder goes next
            os.waitpid(self.pid, 0)

    def result(self):
        """What to exit with: its own code, or why there is none."""
        status = os.waitpid(self.pid, 0)[1]
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            more = " (perhaps for want of memory)" if number == signal.SIGKILL else ""
            return f"what is imported ended the program: signal {number}, {signal.strsignal(number)}{more}"
        return f"what is imported ends the program (exit code {os.WEXITSTATUS(status)})"


def watch(child, limit):
    """The code that the child says, or a text: why it said none."""
    begin, next_note = time.monotonic(), FIRST_NOTE
    while True:
        spent = time.monotonic() - begin
        if spent >= limit:
            return f"it took longer than {limit:g} s (--limit SECONDS)," + (child.where() or " in a call that does not come back")
        line = child.line(min(limit, next_note) - spent)
        if line == "":
            return child.result()
        if line and line.startswith("end "):
            return int(line[4:])
        if line is None and next_note < limit and time.monotonic() - begin >= next_note:
            print(f"assay-import: {next_note:g} s so far,{child.where() or ' working'}", file=sys.stderr, flush=True)
            next_note *= 2


def supervised(work, limit, model):
    """work() in a child: exits with what it exits with, or returns why that is not known."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryDirectory(prefix="assay-import-") as folder:
        pipe, out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(pipe)
            tempfile.tempdir = os.environ["TMPDIR"] = folder
            path = pathlib.Path(model).resolve()
            begin_child(out, [folder, os.path.realpath(folder), str(path if path.is_dir() else path.parent), str(model)])
            code = exit_code(work)
            sys.stdout.flush()
            sys.stderr.flush()
            os.write(out, b"end %d\n" % code)
            os._exit(code)  # whatever threads it has left
        os.close(out)
        child = Child(pid, pipe)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        try:
            found = watch(child, limit)
        finally:  # also after an interrupt: nothing goes on without its parent
            child.kill()
    if isinstance(found, int):
        sys.exit(found)
    return found


def exit_code(work):
    """What a program that does this work exits with."""
    try:
        work()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        import traceback
        traceback.print_exc()
        return 1
    return 0
