#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time that `assay make` takes for many streams at once: bench/make_streams.py ASSAY [--streams 64] [--rate 50]
[--seconds 10] [--json FILE]

The script is a server that streams prose to every request: --rate tokens a second, an event each of some 320 bytes, as
hosted models send them, for so many seconds. There is no code in the replies, so that all that is measured is the client.
The same number of replies without a word shows what the program takes without streams.
"""
import argparse
import asyncio
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

EVENT = {"id": "chatcmpl-9f2b6c1e8a7d4f53b0c1d2e3f4a5b6c7", "object": "chat.completion.chunk", "created": 1763900000,
         "model": "scripted-model-2026-01-01", "service_tier": "default", "system_fingerprint": "fp_0123456789ab",
         "choices": [{"index": 0, "delta": {"content": " word"}, "logprobs": None, "finish_reason": None}]}


def event(**delta):
    one = json.loads(json.dumps(EVENT))
    one["choices"][0].update(delta)
    return f"data: {json.dumps(one)}\n\n".encode()


WORD = event()
END = event(delta={}, finish_reason="stop") + b"data: " + json.dumps(
    {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 500}}).encode() + b"\n\ndata: [DONE]\n\n"


ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ["--prompts", str(ROOT / "prompts"), "--prices", str(ROOT / "prices.txt")]  # wherever the programs are


def environment_of(store):
    return {**os.environ, "ASSAY_STORE": store, "ASSAY_TASKS": str(ROOT / "tasks"), "ASSAY_INCLUDE": str(ROOT / "include")}


class Listener:
    """Serves on a port of this machine, in a thread of its own, with self.answer(reader, writer)."""

    def __init__(self):
        self.most, self.open, self.ready = 0, 0, threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True).start()
        self.ready.wait()

    async def run(self):
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await server.serve_forever()

    async def read_request(self, reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))


class Server(Listener):
    def __init__(self, streams, rate, seconds):
        self.streams, self.rate, self.count = streams, rate, int(rate * seconds)
        super().__init__()

    async def answer(self, reader, writer):
        await self.read_request(reader)
        self.open += 1
        self.most = max(self.most, self.open)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        start = time.monotonic()
        for i in range(self.count):
            writer.write(WORD)
            await writer.drain()
            await asyncio.sleep(max(0, start + (i + 1) / self.rate - time.monotonic()))
        writer.write(END)
        await writer.drain()
        writer.close()
        self.open -= 1


def measure(assay, streams, rate, seconds):
    server = Server(streams, rate, seconds)
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(f"{folder}/store.sqlite")
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [assay, "make", "kernelbench/1/19", "--device", "cpu", "--no-timing", "--workload", "small", "--attempts",
             str(streams), "--parallel", str(streams), "--model", "m", "--run", "streams", "--no-final", "--json",
             *FILES, "--endpoint", f"http://127.0.0.1:{server.port}/v1"], env=environment, capture_output=True, check=False)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(done.stdout)
    if summary["calls"] != streams or server.most < streams and server.count:
        sys.exit(f"{summary['calls']} calls, at most {server.most} at once: {done.stderr.decode()[-500:]}")
    return {"user_s": round(after.ru_utime - before.ru_utime, 3), "system_s": round(after.ru_stime - before.ru_stime, 3),
            "wall_s": round(wall, 2), "events": streams * server.count, "most_at_once": server.most}


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("assay")
    arguments.add_argument("--streams", type=int, default=64)
    arguments.add_argument("--rate", type=float, default=50)
    arguments.add_argument("--seconds", type=float, default=10)
    arguments.add_argument("--json")
    a = arguments.parse_args()
    assay = os.path.abspath(a.assay)
    whole, streamed = measure(assay, a.streams, a.rate, 0), measure(assay, a.streams, a.rate, a.seconds)
    cpu = sum(streamed[k] - whole[k] for k in ("user_s", "system_s"))
    result = {"command": f"bench/make_streams.py ASSAY --streams {a.streams} --rate {a.rate:g} --seconds {a.seconds:g}",
              "date": time.strftime("%Y-%m-%d"), "cpus": os.cpu_count(), "without_streams": whole, "streams": streamed,
              "cpu_s": round(cpu, 3), "us_an_event": round(1e6 * cpu / streamed["events"], 1),
              "part_of_a_core": round(cpu / a.seconds, 3)}
    print(f"{a.streams} streams of {a.rate:g} events/s for {a.seconds:g} s: {cpu:.2f} s of processor, "
          f"{100 * cpu / a.seconds:.1f} % of one core, {result['us_an_event']} us an event; "
          f"{sum(whole[k] for k in ('user_s', 'system_s')):.2f} s without the streams")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
