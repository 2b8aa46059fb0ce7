#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Candidates for KernelBench's level 4 that are the models of the package transformers themselves.

    bench/gpu/level4.py FOLDER                             a file for each of the twenty: kernelbench_4_11.py, ...
    bench/gpu/level4.py FOLDER --judge ASSAY OUT.json      and judges them, each alone on a GPU, the smallest first
                        [--workload NAME] [--device D] [--gpus N] [--seconds S] [--limit S] [--only NUMBER,...]
                        [--after OTHER.json]

A model is made of its published configuration (tools/tasks/originals/level4.py), in evaluation, without trained weights,
and computes with those that the judge draws. So a verdict at `full` on a GPU is a comparison of the task with
transformers at the published size. The Python that judges needs transformers. BigBird's table of positions has whole
blocks of 64 there, so that its model fits at `full` alone.

--judge: one declared draw, no probes, no times. --limit (400) seconds for a model; after --seconds (540) none is begun, and
what is at work has half a minute. OUT.json is written after every verdict, and the same command goes on where it ends:
what passed or was refused is not judged again; what found no time or no memory is, after those that no call has reached.
Last come those that passed in OTHER.json, such as one of another model of GPU. A row has the seconds of the steps
(`steps`), or, where there is no verdict, where the judge stood. ASSAY_PYTHON names the Python.
"""
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

import common

HOUSE = pathlib.Path(__file__).resolve().parents[2]
ORIGINALS = HOUSE / "tools" / "tasks" / "originals" / "level4.py"
CANDIDATE = '''# assay: task kernelbench/4/{number}
import unittest.mock

import torch
import transformers

{settings}

class ModelNew(torch.nn.Module):
    """Parts have the names that the task's weights have; what no logit depends on is no parameter."""

    def __init__(self, sizes):
        super().__init__()
        config = CONFIGURATIONS["{name}"](sizes)
        for token in ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "decoder_start_token_id"):
            if isinstance(getattr(config, token, None), int):
                setattr(config, token, min(getattr(config, token), sizes["V"] - 1))
        drawn = dict(normal_=lambda x, *_, **__: x, uniform_=lambda x, *_, **__: x)  # the judge draws weights
        with unittest.mock.patch.multiple(torch.Tensor, **drawn):
            model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="{attention}").eval()
        parameters = {{name.removeprefix("model.").replace(".", "_"): (name, parameter)
                      for name, parameter in model.named_parameters(remove_duplicate=False)}}
        for own, (name, parameter) in parameters.items():
            if own == "lm_head_bias" and "lm_head_decoder_bias" not in parameters:
                model.lm_head.decoder.bias = parameter  # Reformer's, which some versions make and do not use
            if own in UNUSED or CROSS in own:
                place, _, last = name.rpartition(".")
                place = model.get_submodule(place)
                del place._parameters[last]
                place.register_buffer(last, parameter.detach())
        for name, part in model.named_children():
            self.add_module(name, part)
        self.whole = [model]  # in a list: its parameters have names already

    def forward(self, ids):
        return self.whole[0](ids).logits


def get_init_inputs({dimensions}):
    return [dict({pairs})]
'''


def candidate(path, settings, models):
    text = path.read_text()
    name = next(name for name, short in models.items() if f"_{short}_" in path.name)
    full = re.search(r'"assay.workload.full" : "([^"]*)"', text)[1]
    dimensions = re.findall(r"(\w+)=", full)
    attention = "eager" if any(part in name for part in ("reformer", "bigbird", "neo")) else "sdpa"
    return CANDIDATE.format(number=int(path.name[:3]), settings=settings, name=name, attention=attention,
                            dimensions=", ".join(dimensions), pairs=", ".join(f"{d}={d}" for d in dimensions))


def write(folder):
    text = ORIGINALS.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    settings = text[text.index("GPT2 = "):text.index("MODELS = ")]
    settings += "".join(re.search(rf"^{name} = .*\n", text, re.M)[0] for name in ("UNUSED", "CROSS"))
    names = {}
    exec(text[text.index("MODELS = "):text.index("UNUSED = ")], names)
    for path in sorted((HOUSE / "tasks" / "kernelbench" / "level4").glob("*.onnxtxt")):
        (folder / f"kernelbench_4_{int(path.name[:3])}.py").write_text(candidate(path, settings, names["MODELS"]))


# The smallest first: parameters, then tokens. ELECTRA, GPT-2, Reformer, BigBird, BART, OPT, GPT-Neo.
ORDER = (11, 14, 12, 16, 7, 19, 13, 15, 9, 10, 5, 6, 20, 17, 2, 4, 8, 3, 1, 18)
SPARE = 20  # seconds after its limit, which is the candidate's, that a judge has for itself
AGAIN = ("judge_failed", "out_of_memory", "timeout", "no verdict")


def ask(command, seconds, environment):
    """(what it printed, the last that its bar said, exit code). After `seconds` it is told to end, and its runners with it."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+", errors="replace") as said:
        child = subprocess.Popen(command, env=environment, stdout=out, stderr=said)
        for patience, act in ((seconds, child.terminate), (10, child.kill)):
            try:
                child.wait(patience)
                break
            except subprocess.TimeoutExpired:
                act()
        child.wait()
        out.seek(0)
        said.seek(0)
        lines = [line.removesuffix("\033[K").strip() for line in re.split(r"[\r\n]", said.read())]
        return out.read(), next((line for line in reversed(lines) if line), ""), child.returncode


def verdict(o, gpu, number):
    """What is kept of a verdict."""
    environment, begin = dict(os.environ), time.monotonic()
    if o.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = common.visible(gpu)
    limit = max(10, min(o.limit, o.end + 10 - begin))
    command = [o.assay, "judge", f"kernelbench/4/{number}", str(o.folder / f"kernelbench_4_{number}.py"), "--workload",
               o.workload, "--device", o.device, "--no-probes", "--checks", "1", "--no-timing", "--no-store", "--json",
               "--memory", "200000", "--timeout", str(int(limit)), "--budget", str(int(limit)), "--progress", "bar"]
    out, said, code = ask(command, limit + SPARE, environment)
    row = {"task": f"kernelbench/4/{number}", "workload": o.workload, "seconds": round(time.monotonic() - begin, 1), "call": o.call}
    try:
        v = json.loads(out)[0]
    except (ValueError, IndexError):
        return row | {"verdict": "no verdict", "detail": f"exit {code} after {row['seconds']} s, at: {said[-300:]}"}
    worst = max(v["checks"] or [{}], key=lambda c: (c.get("z_max") or 0) / (c.get("z_limit") or 1))
    steps = {name: round(ns * 1e-9, 1) for name, ns in (v.get("durations_ns") or {}).items() if ns >= 1e8}
    return row | {"verdict": v["verdict"], "mode": v.get("mode"), "z": worst.get("z_max"), "z_limit": worst.get("z_limit"),
                  "steps": steps, "detail": v["detail"][:400]}


def judge(o, result):
    """All that OUT.json lacks."""
    found = {row["task"]: row for row in result["rows"]}
    waiting, lock = queue.Queue(), threading.Lock()
    for number in sorted(ORDER, key=lambda n: (f"kernelbench/4/{n}" in o.passed, f"kernelbench/4/{n}" in found)):
        old = found.get(f"kernelbench/4/{number}")
        if (not o.only or str(number) in o.only) and (not old or old["verdict"] in AGAIN or old["workload"] != o.workload):
            waiting.put(number)

    def work(gpu):
        while time.monotonic() < o.end:
            try:
                row = verdict(o, gpu, waiting.get_nowait())
            except queue.Empty:
                return
            with lock:
                print(f"{row['task']} {row['verdict']} z {row.get('z')} of {row.get('z_limit')} {row['seconds']} s "
                      f"{row.get('mode')} {row['detail'][:200]}", flush=True)
                found[row["task"]] = row
                result["rows"] = sorted(found.values(), key=lambda r: int(r["task"].rpartition("/")[2]))
                o.out.write_text(json.dumps(result, indent=1) + "\n")

    threads = [threading.Thread(target=work, args=(gpu,)) for gpu in range(o.gpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Options:
    def __init__(self, arguments):
        def option(name, default):
            return common.option(arguments, name, default)

        self.device, self.workload, self.limit = option("--device", "cuda"), option("--workload", "full"), float(option("--limit", 400))
        self.gpus = int(option("--gpus", 0)) or (common.gpus_here() if self.device == "cuda" else 1)
        self.end = time.monotonic() + float(option("--seconds", 540))
        self.only = [n for n in option("--only", "").split(",") if n]
        after = option("--after", "")
        rows = json.loads(pathlib.Path(after).read_text())["rows"] if after and os.path.exists(after) else []
        self.passed = [row["task"] for row in rows if row["verdict"] == "pass"]
        self.judged = "--judge" in arguments
        arguments[:] = [a for a in arguments if a != "--judge"]
        if len(arguments) != (3 if self.judged else 1):
            sys.exit(__doc__)
        self.folder = pathlib.Path(arguments[0])
        if self.judged:
            self.assay, self.out = os.path.realpath(arguments[1]), pathlib.Path(arguments[2])


def main():
    o = Options(sys.argv[1:])
    write(o.folder)
    if not o.judged:
        return
    result = json.loads(o.out.read_text()) if o.out.exists() else {
        "what": "KernelBench's level 4, models of transformers judged as candidates: bench/gpu/level4.py", "calls": [], "rows": []}
    o.call = len(result["calls"])
    packages = "import torch, transformers; print(torch.__version__, transformers.__version__)"
    result["calls"].append({"command": " ".join(["bench/gpu/level4.py", *sys.argv[1:]]), "date": time.strftime("%Y-%m-%d"),
                            "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(),
                            "machine": common.machine(), "gpus": o.gpus, "torch and transformers":
                            common.run([os.environ.get("ASSAY_PYTHON", "python3"), "-I", "-c", packages])[2].decode().strip()})
    judge(o, result)


if __name__ == "__main__":
    main()
