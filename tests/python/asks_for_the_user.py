# assay: task kernelbench/1/19
# assay: twin SOCKET expect forbidden_call -- a socket all the same
# assay: twin PROGRAM expect raised -- a program; the message says what to do instead
"""What libraries do as they are imported: ask who the user is, make a folder for a cache, import torch._dynamo."""
import getpass
import os
import pwd

import torch
import torch._dynamo

os.makedirs(os.environ["TMPDIR"], exist_ok=True)
assert pwd.getpwuid(os.getuid()).pw_name == pwd.getpwnam(getpass.getuser()).pw_name == "assay"


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = torch.compile(torch.relu, backend="eager")

    def forward(self, x):
        if "SOCKET" in globals():
            import socket
            socket.socket(socket.AF_UNIX)
        if "PROGRAM" in globals():
            import subprocess
            subprocess.run(["true"], check=True)
        return self.relu(x)
