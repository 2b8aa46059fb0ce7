#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py COLUMNS COMMAND...: runs it on a terminal of that width, prints all that it writes, with its exit code."""
import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0))
    os.environ["TERM"] = "xterm"
    os.environ.pop("COLUMNS", None)
    os.execvp(sys.argv[2], sys.argv[2:])
written = b""
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:
        break
    if not some:
        break
    written += some
sys.stdout.buffer.write(written.replace(b"\r\n", b"\n"))
sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
