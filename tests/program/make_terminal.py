#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person sees of `assay make`: make_terminal.py COLUMNS ROWS COMMAND... runs the command on a terminal of that size
and plays what it writes on a screen of its own. Prints the last of the fullest tables that were on the screen, "=====", and
what is left on the screen at the end. Exit code 1: a line was wrapped, or something was written that the screen does not
know."""
import fcntl
import os
import pty
import re
import struct
import sys
import termios

columns, rows = int(sys.argv[1]), int(sys.argv[2])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[3], sys.argv[3:])

screen, row, column, fullest, wrong, finished = [""], 0, 0, [], [], False


def table():
    return [line for line in screen if line.strip()]


def write(text):
    global row, column, fullest, finished
    for token in re.findall(r"\033\[\d*[A-Z]|\r|\n|[^\r\n\033]+|.", text, re.S):
        if token == "\r":
            column = 0
        elif token == "\n":
            row += 1
            screen.extend([""] * (row + 1 - len(screen)))
        elif token.startswith("\033[") and token.endswith("A"):
            row = max(0, row - int(token[2:-1] or 1))
        elif token == "\033[K":
            screen[row] = screen[row][:column]
        elif token == "\033[J":
            screen[row] = screen[row][:column]
            del screen[row + 1:]
            finished = not table()
            if any(line.startswith("task  ") for line in screen) and len(table()) >= len(fullest):
                fullest = table()
        elif token[0] == "\033":
            wrong.append(repr(token))
        else:
            screen[row] = screen[row][:column].ljust(column) + token + screen[row][column + len(token):]
            column += len(token)
            if column >= columns and not finished:
                wrong.append(token)


written = b""
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:
        break
    if not some:
        break
    written += some
write(written.decode(errors="replace"))
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("\n".join(fullest) + "\n=====\n" + "\n".join(table()))
print("\n".join(f"wrong: {w}" for w in wrong), end="", file=sys.stderr)
sys.exit(1 if wrong else code)
