#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""zsh_completes.py FUNCTIONS LINE: what zsh makes of LINE and a tab, with completions from that folder: the line as it stands
then, with #end after it, and what zsh lists."""
import os
import pty
import re
import select
import shutil
import sys
import tempfile
import time

functions, line = sys.argv[1:]


def read(terminal, until, seconds=60):
    """What is written until it matches."""
    got, end = "", time.monotonic() + seconds
    while not re.search(until, got) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            got += os.read(terminal, 65536).decode(errors="replace")
    return got


home = tempfile.mkdtemp()
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", COLUMNS="200", HOME=home, ZDOTDIR=home)
    os.execvp("zsh", ["zsh", "-f", "-i"])
try:
    os.write(terminal, (f"fpath=({functions!r} $fpath); autoload -U compinit; compinit -u; PS1=; LISTMAX=1000; "
                        "zstyle ':completion:*' insert-tab false; zle-line-init() { print -n read''y; }; zle -N zle-line-init\n").encode())
    read(terminal, "ready")  # zsh has the terminal now
    os.write(terminal, (line + "\t#end").encode())  # what is typed after the tab is taken when it has done its work
    shown = read(terminal, "#end")
    print(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07|\r|.\x08", "", shown))
finally:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    shutil.rmtree(home, ignore_errors=True)
