# SPDX-License-Identifier: Apache-2.0
"""again.py WORKER: what worker.py does when a recording fails with cuDNN's search on: it starts itself again, from the
current workload on and with the search off. The recorder and the GPU are stand-ins that print what they are asked."""
import array
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile


def play(path, crowded):
    """The process that is started again: worker.py with stand-ins. The second workload fails while the search is on,
    and the third always. `crowded`: what it allocates finds no memory, and the first fails."""
    import torch
    spec = importlib.util.spec_from_file_location("worker", path)
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)

    class Library:
        @staticmethod
        def assay_lift_has_no_memory():
            return crowded

        @staticmethod
        def assay_lift_failed(stage, text):
            print("failed", text.decode())

    class Lift:
        def __init__(self, library, build):
            self.library = Library

        def open(self, descriptors):
            print("open", *(os.pread(fd, 8, 0).decode() for fd in descriptors))
            for fd in descriptors:
                os.close(fd)

    def lift_workload(lift, module, workload, timed):
        print("workload", workload, "timed" if timed else "")
        sys.stdout.flush()
        if crowded:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if workload == "second":
            torch.backends.cudnn.benchmark = True
            if torch.backends.cudnn.benchmark:
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if workload == "third":  # always, with the search on or off
            torch.backends.cudnn.set_flags(_benchmark=True)
            raise RuntimeError("it will not")
        return True

    worker.Lift, worker.lift_workload, worker.prepare = Lift, lift_workload, lambda: None
    worker.lift("library", "build")


def file_of(text):
    fd = os.memfd_create("test")
    os.write(fd, text.encode())
    return fd


def run(how):
    """(candidate's file, the finished process)."""
    judge, child = socket.socketpair()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as candidate:
        candidate.write("class ModelNew:\n    pass\n")
        candidate.flush()
        order = {"candidate": candidate.name, "defines": [], "workloads": ["first", "second", "third"]}
        files = [file_of(json.dumps(order)), *(file_of(str(i)) for i in range(12))]
        judge.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])

        def third():
            os.dup2(child.fileno(), 3)
            os.set_inheritable(3, True)
        done = subprocess.run([sys.executable, "-B", __file__, sys.argv[1], how], preexec_fn=third, close_fds=False,
                              capture_output=True, text=True, env=dict(os.environ, TMPDIR="/tmp"), check=False)
    return f"{os.path.basename(candidate.name)}:1:1", done


def compare(done, wanted, again):
    if done.returncode != 0 or done.stdout.splitlines() != wanted or ("recorded again" in done.stderr) != again:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}\nwanted\n" + "\n".join(wanted))


def main():
    place, done = run("play")
    compare(done, ["open 0 1 2 3", "workload first timed", "open 4 5 6 7", "workload second ",
                   "open 4 5 6 7", "workload second ", "open 8 9 10 11", "workload third ",
                   f"failed {place}: error: RuntimeError: it will not"], True)
    print("started again once, from the second workload on")
    place, done = run("crowded")
    compare(done, ["open 0 1 2 3", "workload first timed",
                   f"failed {place}: error: the device has no memory left for what it allocates while it is recorded, and "
                   "without that it raised RuntimeError: CUDA error: an illegal memory access was encountered"], False)
    print("what fails for want of memory is said to")


if __name__ == "__main__":
    if sys.argv[2:]:
        play(sys.argv[1], sys.argv[2] == "crowded")
    else:
        main()
