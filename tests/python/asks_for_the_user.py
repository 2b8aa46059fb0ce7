# assay: task kernelbench/1/19
# assay: twin SOCKET expect forbidden_call -- a socket all the same
# assay: twin PROGRAM expect raised -- a program; the message says what to do instead
"""What libraries do as they are imported: ask who the user is and what the machine is called, make a folder for a cache
or do without, open /dev/null in every way, try whether there is IPv6, start threads, set signal handlers, import
torch._dynamo."""
import concurrent.futures
import contextlib
import getpass
import locale
import multiprocessing
import os
import pathlib
import platform
import pwd
import signal
import socket
import tempfile
import threading
import uuid

import torch
import torch._dynamo

os.makedirs(os.environ["TMPDIR"], exist_ok=True)
assert pwd.getpwuid(os.getuid()).pw_name == pwd.getpwnam(getpass.getuser()).pw_name == "assay"
home = os.path.expanduser("~")
assert home == os.environ["HOME"] == str(pathlib.Path.home()) and tempfile.gettempdir() == os.environ["TMPDIR"]
for path in os.path.join(home, ".cache", "library"), os.path.join(home, "library"):
    try:
        os.makedirs(path, exist_ok=True)
        raise AssertionError("a folder was made")
    except OSError:
        pass
try:
    open(os.path.join(home, "cache.json"), "w")
    raise AssertionError("a file was made")
except OSError:
    pass

for mode in "r", "rb", "w", "wb", "a", "r+", "w+b":  # dill looks at the types of these
    with open(os.devnull, mode) as nothing:
        if nothing.writable():
            nothing.write(b"nothing" if "b" in mode else "nothing")
type(open(os.devnull, "rb", buffering=0)), type(open(os.devnull, "wb", buffering=0))
with pathlib.Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
    print("this is not seen")

if socket.has_ipv6:  # urllib3 asks
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
platform.node(), platform.platform(), socket.gethostname(), os.uname(), uuid.uuid4(), locale.getpreferredencoding()
os.cpu_count(), os.getpid(), os.environ.get("PATH"), multiprocessing.current_process().name
lock, answers = threading.Lock(), []
thread = threading.Thread(target=lambda: answers.append(1))
thread.start()
thread.join()
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    assert pool.submit(len, "ab").result() == 2 and answers == [1]
signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = torch.compile(torch.relu, backend="eager")

    def forward(self, x):
        if "SOCKET" in globals():
            socket.socket(socket.AF_UNIX)
        if "PROGRAM" in globals():
            import subprocess
            subprocess.run(["true"], check=True)
        return self.relu(x)
