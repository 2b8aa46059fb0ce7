#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the books of `assay make` are true with a server that fails at random: bench/make_chaos.py ASSAY [--attempts 200]
[--parallel 8] [--seed 1] [--json FILE]

Of the requests to the script's server six in ten are answered; the others get, as the seed says, 429 with and without
Retry-After, 529, 503, 500, a page, an empty or broken stream, an error within one, a connection that is cut in the middle or
before anything comes. The same command is run again while the endpoint is given up (exit code 3, or 2 where it refused). Then the
calls in the store must be the requests that the server got, the tokens of replies those that it counted, and every attempt must
have a row.
"""
import argparse
import http.server
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import make_streams

# What a request gets: its weight, then status, type, body (None: by code below).
KINDS = {"good": 56, "slow": 4, "busy": 4, "wait": 4, "overloaded": 4, "loading": 3, "broke": 3, "cut": 4, "short": 3, "closed": 4,
         "malformed": 2, "empty": 2, "error": 3, "page": 2, "refused": 1}
ANSWERS = {"busy": (429, "application/json", b'{"error":{"message":"slow down","type":"rate_limit"}}'),
           "wait": (429, "application/json", b'{"error":{"message":"slow down"}}'),
           "overloaded": (529, "application/json", b'{"error":{"type":"overloaded_error","message":"Overloaded"}}'),
           "loading": (503, "application/json", b'{"error":{"message":"Loading model"}}'),
           "broke": (500, "text/html", b"<html>oops</html>"),
           "malformed": (200, "text/event-stream", b'data: {"choices": [ \n\n'),
           "empty": (200, "text/event-stream", b""),
           "page": (200, "text/html", b"<html>log in</html>"),
           "refused": (400, "application/json", b'{"error":{"message":"Bad luck"}}')}


def event(value):
    return f"data: {json.dumps(value)}\n\n".encode()


def word(text):
    return event({"choices": [{"index": 0, "delta": {"content": text}}]})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    draw, lock = random.Random(1), threading.Lock()
    seen = {"requests": 0, "input": 0, "output": 0}
    kinds = dict.fromkeys(KINDS, 0)

    def log_message(self, *args):
        pass

    def send(self, status, kind, body, length=None, header=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if header:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            kind = self.draw.choices(list(KINDS), list(KINDS.values()))[0]
            tokens = self.draw.randrange(900, 1100), self.draw.randrange(5, 90)
            self.seen["requests"] += 1
            self.kinds[kind] += 1
            if kind in ("good", "slow"):
                self.seen["input"] += tokens[0]
                self.seen["output"] += tokens[1]
        if kind == "slow":
            time.sleep(0.3)
        if kind in ANSWERS:
            return self.send(*ANSWERS[kind], header=("Retry-After", "0.2") if kind == "wait" else None)
        if kind in ("cut", "short", "closed"):
            self.close_connection = True
            return kind == "closed" or self.send(200, "text/event-stream", word("A lo"), 9999 if kind == "short" else 60000)
        if kind == "error":
            return self.send(200, "text/event-stream", word("A l") + event({"error": {"message": "boom", "code": 502}}))
        end = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + event(
            {"choices": [], "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}}) + b"data: [DONE]\n\n"
        return self.send(200, "text/event-stream", word("A loop ") + word(f"of kind {tokens[1]}.") + end)


SUMS = """SELECT sum(calls), coalesce(sum(number >= 0), 0), coalesce(sum(input_tokens * (outcome = 'no_code')), 0),
  coalesce(sum(output_tokens * (outcome = 'no_code')), 0) FROM step"""


def measure(assay, a):
    Handler.draw = random.Random(a.seed)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        store, codes = f"{folder}/store.sqlite", []
        while len(codes) < 30 and (not codes or codes[-1] in (2, 3)):
            done = subprocess.run(
                [assay, "make", "kernelbench/1/19", "--device", "cpu", "--no-timing", "--workload", "small", "--attempts",
                 str(a.attempts), "--patience", "1000000", "--parallel", str(a.parallel), "--model", "m", "--run", "chaos",
                 "--no-final", *make_streams.FILES, "--endpoint", f"http://127.0.0.1:{server.server_address[1]}/v1"],
                env=make_streams.environment_of(store), capture_output=True, check=False)
            codes.append(done.returncode)
        with sqlite3.connect(store) as db:
            calls, steps, tokens_in, tokens_out = db.execute(SUMS).fetchone()
            came = dict(db.execute("SELECT outcome || ', ' || finish, count(*) FROM step GROUP BY 1").fetchall())
    seen = Handler.seen
    return {"attempts": a.attempts, "seed": a.seed, "exit_codes": codes, "calls": calls, "steps": steps, "came": came,
            "tokens": [tokens_in, tokens_out], "server": seen, "kinds": Handler.kinds,
            "true": (calls, steps, tokens_in, tokens_out) == (seen["requests"], a.attempts, seen["input"], seen["output"])}


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("assay")
    arguments.add_argument("--attempts", type=int, default=200)
    arguments.add_argument("--parallel", type=int, default=8)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json")
    a = arguments.parse_args()
    r = measure(os.path.abspath(a.assay), a)
    print(f"{a.attempts} attempts, exit codes {r['exit_codes']}: {r['calls']} calls and {r['tokens']} tokens of replies in the "
          f"books; the server got {r['server']['requests']} requests and counted {[r['server']['input'], r['server']['output']]}: "
          f"{'the same' if r['true'] else 'NOT THE SAME'}")
    print("came:", r["came"])
    if a.json:
        r = {"command": " ".join(["bench/make_chaos.py ASSAY"] + sys.argv[2:]), **r}
        pathlib.Path(a.json).write_text(json.dumps(r, indent=1) + "\n")
    sys.exit(0 if r["true"] else 1)


if __name__ == "__main__":
    main()
