#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What odd and huge replies cost `assay make`: bench/make_replies.py ASSAY [--parallel 64] [--json FILE]

The script is a server whose replies are whole or streamed, of 50 MB, slow, packed, with bytes that are no text, in chunks with
trailers, redirected. Each kind is asked once and --parallel times at once; printed are the outcome of every request, the
largest memory and number of open files of the process, and the wall clock. Memory is to stay near that of a small reply."""
import argparse
import asyncio
import gzip
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import time

import make_streams

MB = 10**6
KINDS = {}
PACKED = gzip.compress(b'{"choices":[{"message":{"content":"' + b"x" * 50 * MB + b'"},"finish_reason":"stop"}]}', 1)


def kind(f):
    KINDS[f.__name__.replace("_", " ")] = f
    return f


def head(kind="text/event-stream", more="", status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}\r\n".encode()


def chunk(text):
    return f'data: {json.dumps({"choices": [{"delta": {"content": text}}]})}\n\n'.encode()


END = (b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
       b'data: {"choices":[],"usage":{"prompt_tokens":3000,"completion_tokens":50}}\n\ndata: [DONE]\n\n')


async def put(w, data, times=1):
    for _ in range(times):
        w.write(data)
        await w.drain()


@kind
async def small(w):
    await put(w, head() + chunk("A loop.") + END)


@kind
async def streamed_50_MB(w):
    await put(w, head())
    await put(w, chunk("x" * 1000), 50 * MB // 1000)
    await put(w, END)


@kind
async def whole_50_MB(w):
    await put(w, head("application/json") + b'{"choices":[{"message":{"content":"')
    await put(w, b"x" * 10000, 50 * MB // 10000)
    await put(w, b'"},"finish_reason":"stop"}]}')


@kind
async def one_event_of_50_MB(w):
    await put(w, head() + b'data: {"choices":[{"delta":{"content":"')
    await put(w, b"x" * 10000, 50 * MB // 10000)
    await put(w, b'"}}]}\n\n' + END)


@kind
async def thoughts_of_50_MB(w):
    await put(w, head())
    await put(w, f'data: {json.dumps({"choices": [{"delta": {"reasoning_content": "x" * 1000}}]})}\n\n'.encode(), 50 * MB // 1000)
    await put(w, chunk("A loop.") + END)


@kind
async def packed_50_MB(w):
    await put(w, head("application/json", "Content-Encoding: gzip\r\n") + PACKED)


@kind
async def error_of_50_MB(w):
    await put(w, head("text/html", status="400 Bad Request"))
    await put(w, b"<p>no</p>\n" * 1000, 50 * MB // 10000)


@kind
async def drip_of_a_byte(w):
    await put(w, head())
    for b in (chunk("A loop.") + END):
        await put(w, bytes([b]))
        await asyncio.sleep(0.01)


@kind
async def NULs_CRLF_and_no_text(w):
    body = (chunk("A\0 loop.\r\n") + b'data: {"choices":[{"delta":{"content":"\xff\xfe\xc3(\\ud800"}}]}\n\n' + END)
    await put(w, head() + b"\xef\xbb\xbf" + body.replace(b"\n\n", b"\r\n\r\n"))


@kind
async def chunks_with_trailers(w):
    await put(w, head(more="Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n"))
    for b in (chunk("A loop."), END):
        await put(w, f"{len(b):x};a=b\r\n".encode() + b + b"\r\n")
    await put(w, b"0\r\nX-Sum: 1\r\n\r\n")


@kind
async def packed_in_pieces(w):
    await put(w, head(more="Content-Encoding: gzip\r\n"))
    packed = gzip.compress(chunk("A loop.") * 50 + END)
    for i in range(0, len(packed), 7):
        await put(w, packed[i:i + 7])


@kind
async def redirected(w):
    await put(w, head("text/plain", "Location: http://127.0.0.1:1/stolen\r\n", "307 Temporary Redirect"))


class Server(make_streams.Listener):
    reply = staticmethod(small)

    async def answer(self, reader, writer):
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await self.read_request(reader)
            await self.reply(writer)
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client had enough
        self.open -= 1


def measure(assay, server, answer, n):
    server.reply, server.most, memory, files = answer, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store.sqlite"
        start = time.monotonic()
        p = subprocess.Popen(
            [assay, "make", "kernelbench/1/19", "--device", "cpu", "--no-timing", "--workload", "small", "--attempts", str(n),
             "--parallel", str(n), "--model", "m", "--run", "r", "--no-final", *make_streams.FILES, "--endpoint",
             f"http://127.0.0.1:{server.port}/v1"],
            env=make_streams.environment_of(store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while p.poll() is None:
            try:
                lines = pathlib.Path(f"/proc/{p.pid}/status").read_text().splitlines()
                memory = max([memory] + [int(line.split()[1]) for line in lines if line.startswith("VmHWM")])
                files = max(files, len(os.listdir(f"/proc/{p.pid}/fd")))
            except OSError:
                pass
            time.sleep(0.01)
        wall = time.monotonic() - start
        with sqlite3.connect(store) as db:
            came = dict(db.execute("SELECT outcome || ', ' || finish, count(*) FROM step GROUP BY 1").fetchall())
            why = [d for d, in db.execute("SELECT DISTINCT detail FROM step WHERE outcome = 'no_reply' AND detail <> ''")]
    return {"memory_MB": round(memory / 1024, 1), "files": files, "wall_s": round(wall, 1), "most_at_once": server.most,
            "came": came, "why": [w.split(": ", 1)[-1] for w in why][:2], "exit": p.returncode}


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("assay")
    arguments.add_argument("--parallel", type=int, default=64)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--json")
    a = arguments.parse_args()
    server, rows = Server(), {}
    for name, answer in KINDS.items():
        if a.only not in name:
            continue
        rows[name] = {str(n): measure(os.path.abspath(a.assay), server, answer, n) for n in (1, a.parallel)}
        for n, r in rows[name].items():
            print(f"{name}, {n} at once: {r['memory_MB']} MB, {r['files']} files, {r['wall_s']} s, {r['came']}"
                  f"{': ' + r['why'][0] if r['why'] else ''}", flush=True)
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps({"command": "bench/make_replies.py ASSAY", "cpus": os.cpu_count(),
                                                    "date": time.strftime("%Y-%m-%d"), "replies": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
