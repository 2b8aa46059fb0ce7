#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leftovers.py ASSAY TASKS: no program leaves temporary folders, however it is ended; what kill -9 leaves, the next removes.

A compiler that waits holds each command where it has folders.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 120
KERNEL = """// assay: task kernelbench/1/19
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  for (int64_t i = 0; i < assay_count(&args->inputs[0]); i++)
    ((float *)args->outputs[0].data)[i] = args->inputs[0].data[i] < 0 ? 0 : args->inputs[0].data[i];
}
"""


def until(what, holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"{PATIENCE_S} s passed: {what}")
        time.sleep(0.01)


class Place:
    """A folder with a kernel, a compiler that waits, and a temporary folder for the commands."""

    def __init__(self, assay, tasks, root):
        self.assay, self.root, self.temporary = assay, root, os.path.join(root, "tmp")
        self.compiler = os.path.join(root, "bin", "slow-cc")
        os.makedirs(self.temporary)
        os.makedirs(os.path.dirname(self.compiler))
        os.makedirs(os.path.join(root, "kernels"))
        with open(self.compiler, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(self.compiler, 0o755)
        with open(os.path.join(root, "kernels", "relu.c"), "w", encoding="utf-8") as file:
            file.write(KERNEL)
        self.environment = {**os.environ, "TMPDIR": self.temporary, "ASSAY_STORE": os.path.join(root, "store.sqlite"),
                            "ASSAY_TASKS": tasks}

    def left(self):
        return sorted(os.listdir(self.temporary))

    def shared(self):
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.temporary], stdout=subprocess.PIPE, text=True, check=True).stdout
        return kind.strip() not in ("tmpfs", "ext2/ext3", "xfs", "btrfs", "overlayfs", "f2fs", "ramfs", "zfs")

    def start(self, *words, ignored=()):
        """The command, once it has made its folders, which its number is in the names of."""
        def signals():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        child = subprocess.Popen([self.assay, *words], cwd=self.root, env=self.environment, preexec_fn=signals,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        until(f"{words} is compiling", lambda: child.poll() is not None or any(
            f"-{child.pid:x}-" in name and "candidate.c" in os.listdir(os.path.join(self.temporary, name))
            for name in self.left()))
        if child.poll() is not None:
            sys.exit(f"{words} ended by itself with {child.returncode}")
        return child

    def ended_by(self, number, *words, times=1):
        child = self.start(*words)
        for _ in range(times - 1):
            child.send_signal(number)
            time.sleep(0.2)  # two that come at once may be one
        child.send_signal(number)
        code = child.wait(PATIENCE_S)
        until(f"{self.left()} left by {words} and {signal.Signals(number).name}", lambda: not self.left())
        return code


def expect(what, wanted, found):
    if wanted != found:
        sys.exit(f"{what}: {found!r}, expected {wanted!r}")


def main():
    with tempfile.TemporaryDirectory() as root:
        place = Place(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), root)
        judge = ("judge", "kernelbench/1/19", "kernels/relu.c", "--compiler", place.compiler)
        bench = ("bench", "kernelbench/1", "--from", "kernels", "--compiler", place.compiler)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            expect(f"exit code of judge by {number}", -number, place.ended_by(number, *judge))
        expect("exit code of bench by a closed terminal", -signal.SIGHUP, place.ended_by(signal.SIGHUP, *bench))
        expect("exit code of bench by a second Ctrl-C", 130, place.ended_by(signal.SIGINT, *bench, times=2))

        # A pipe that is closed early (`| head`): each row is written into one that nobody reads.
        with open(place.compiler, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec gcc \"$@\"\n")
        reader, writer = os.pipe()
        os.close(reader)
        with subprocess.Popen([place.assay, *bench, "--json", "--no-timing"], cwd=root, env=place.environment, stdout=writer,
                              stderr=writer) as child:
            os.close(writer)
        expect("how a bench ends whose reader has gone", -signal.SIGPIPE, child.returncode)
        until("left after a closed pipe", lambda: not place.left())
        with open(place.compiler, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec sleep 1000\n")

        # nohup: a closed terminal is nothing to it.
        child = place.start(*judge, ignored=(signal.SIGHUP,))
        child.send_signal(signal.SIGHUP)
        child.send_signal(signal.SIGTERM)
        expect("what ended a judge that ignores SIGHUP", -signal.SIGTERM, child.wait(PATIENCE_S))
        until("left after nohup", lambda: not place.left())

        if place.shared():
            print("no command leaves temporary folders; what kill -9 leaves stays here, where other machines may write")
            return

        # What kill -9 leaves is removed by the next command; what is another's is not.
        killed = place.start(*judge)
        killed.kill()
        killed.wait(PATIENCE_S)
        old = place.left()
        if not old:
            sys.exit("kill -9 left nothing: the test shows nothing")
        strangers = ["assay-XXXXXX", "assay-1-1-1-abcdef", "assay-notes", old[0] + "x"]
        for name in strangers:
            os.mkdir(os.path.join(place.temporary, name))
        os.symlink(place.root, os.path.join(place.temporary, old[0][:-6] + "linked"))
        strangers.append(old[0][:-6] + "linked")
        one = place.start(*judge)
        of_one = set(place.left()) - set(strangers)
        if of_one & set(old):
            sys.exit(f"{of_one & set(old)} is still there after the next command began")
        other = place.start(*bench)
        if not of_one <= set(place.left()):
            sys.exit("the folders of a process that lives were removed")
        for child in (one, other):
            child.send_signal(signal.SIGHUP)
            child.wait(PATIENCE_S)
        until("only what is another's is left", lambda: place.left() == sorted(strangers))
    print("no command leaves temporary folders")


if __name__ == "__main__":
    main()
