#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's eager execution of tasks: bench/gpu/eager.py [--seconds N] < tasks.json, one JSON line for each.

The input is a list of {"task": NAME, "pytorch": the module that `assay show TASK --json` prints}. Every sample flushes the
L2 cache before it; the time between two events is taken, less that between two events with nothing between them.
Run by bench/gpu/figures.py; needs PyTorch.
"""
import json
import statistics
import sys
import time

import torch

SETTINGS = [("strict", False, False), ("default", False, True), ("tf32", True, True)]  # matmul, convolutions


def between_events(stream_work):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    stream_work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def sampled(work, flush, seconds):
    """Median of cold samples in ms: at least 5, at most 50, for about so many seconds."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    samples, begin = [], time.monotonic()
    while len(samples) < 5 or (len(samples) < 50 and time.monotonic() - begin < seconds):
        flush.zero_()
        torch.cuda._sleep(200000)  # holds the stream until all is queued: the host's gaps stay out
        samples.append(between_events(work))
    return statistics.median(samples), len(samples)


def measure(text, flush, empty, seconds):
    space = {}
    exec(text, space)
    torch.manual_seed(1)
    model = space["Model"](*(space["get_init_inputs"]() if "get_init_inputs" in space else [])).cuda().eval()
    inputs = [x.cuda() if torch.is_tensor(x) else x for x in space["get_inputs"]()]
    found = {}
    with torch.no_grad():
        for name, matmul, convolutions in SETTINGS:
            torch.backends.cuda.matmul.allow_tf32 = matmul
            torch.backends.cudnn.allow_tf32 = convolutions
            median, n = sampled(lambda: model(*inputs), flush, seconds)
            found[name + "_ms"], found["samples"] = median - empty, n
    return found


def main():
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 0.3
    torch.set_default_device("cuda")  # inputs are made where they are used
    flush = torch.empty(256 << 20, dtype=torch.uint8)
    empty = statistics.median(between_events(lambda: None) for _ in range(50))
    for item in json.load(sys.stdin):
        row = {"task": item["task"], "torch": torch.__version__, "events_ms": empty}
        try:
            row.update(measure(item["pytorch"], flush, empty, seconds))
        except Exception as e:  # out of memory, an operator that this version lacks
            row["failed"] = f"{type(e).__name__}: {e}"[:300]
        torch.cuda.empty_cache()
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
