#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers' files, judged or imported by two programs: what docs/evidence/strangers.md has in "before" and "now".

    bench/strangers.py BEFORE NOW FILES OUT.json [--house DIR] [--house-before DIR] [--times N] [--device cuda] [NAME...]

BEFORE and NOW are folders of programs (BEFORE may be "-": only now); --house and --house-before have their tasks/,
include/ and tools/ (this repository). FILES has attacks/ and refused/, which are not part of this repository. What may
differ from judgement to judgement is judged TIMES times (20). With NAMEs only the rows that have one of them in their
names, in the place of those that OUT.json has; --device cuda has the rows that a GPU shows. ASSAY_TORCH_PYTHON is an
interpreter with PyTorch and the exporter's packages.

OUT.json: for each file and form what either program said: verdicts with their number, the medians of the times, whether
they rank, or what came of importing it. A table is printed.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HOUSE = pathlib.Path(__file__).resolve().parent.parent
MODULE_TAIL = "\ndef get_inputs(): return [torch.randn(8, 16)]\ndef get_init_inputs(): return []\n"
# hot_forged.c was cut out of a longer file, and its lurking threads no longer compile: they name the kept arguments and
# a kernel that is not there. Here they are whole again.
LURKING = [
    ("|| defined(NAPPING) || 0", "|| defined(NAPPING) || defined(PARKED)"),
    ("static _Atomic uint32_t working", "static struct assay_args kept;\nstatic _Atomic uint32_t working"),
    ("sums(kept.inputs[0].data, kept.outputs[0].data, dims[0], dims[1], dims[2])",
     "softmax(kept.inputs[0].data, kept.outputs[0].data, dims[0], dims[1])"),
    ("void assay_kernel(const struct assay_args *a) {", """void assay_kernel(const struct assay_args *a) {
#if defined(SPINNING) || defined(NAPPING) || defined(PARKED)
  static int started;
  uint32_t number = control->start;
  pthread_t thread;
  while (working == number && finished != number)
    ;
  if (finished != number)
    softmax(a->inputs[0].data, a->outputs[0].data, a->inputs[0].dims[0], a->inputs[0].dims[1]);
  kept = *a;
  finished = number;
  if (!started++)
    pthread_create(&thread, NULL, lurk, NULL);
  return;
#endif
"""),
]
# Its impostor reads messages as they were when it was written; since then they do not say which calls are hot.
FOLLOWS = [("number, hot, null_call", "number, null_call")]


class Program:
    def __init__(self, name, folder, house, work):
        self.name, self.assay, self.house = name, pathlib.Path(folder).resolve() / "assay", pathlib.Path(house).resolve()
        self.work = pathlib.Path(work, name)
        self.work.mkdir()
        python = os.environ.get("ASSAY_TORCH_PYTHON") or os.environ.get("ASSAY_PYTHON") or sys.executable
        self.environment = dict(os.environ, ASSAY_TASKS=str(self.house / "tasks"), ASSAY_PYTHON=python,
                                ASSAY_INCLUDE=str(self.house / "include"), ASSAY_STORE=str(self.work / "store.sqlite"))
        self.importer = [python, next(p for p in (self.house / "tools/importer/assay-import", self.house / "tools/assay-import")
                                      if p.exists()), "--assay", self.assay]

    def run(self, *command, limit=600):
        """(exit code, or None where it did not end; stdout; stderr; seconds)."""
        start = time.monotonic()
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=limit,
                                  env=self.environment, cwd=self.work)
        except subprocess.TimeoutExpired:
            return None, "", "", limit
        return done.returncode, done.stdout, done.stderr, round(time.monotonic() - start, 1)

    def judge(self, task, path, options, times):
        """The verdicts on a file, with their number; the medians of its times; and whether they rank."""
        found = collections.Counter()
        clocks = {"cold_us": [], "hot_us": []}
        ranked, unstable, why = set(), 0, ""
        for _ in range(times):
            _, out, err, _ = self.run(self.assay, "judge", task, path, *options, "--json")
            try:
                verdict = json.loads(out)
            except ValueError:
                found["no verdict"] += 1
                why = err.strip().splitlines()[0] if err.strip() else ""
                continue
            verdict = verdict[0] if isinstance(verdict, list) else verdict  # one alone was no list once
            found[verdict["verdict"]] += 1
            if verdict["verdict"] != "pass":
                why = why or verdict.get("detail") or verdict.get("diagnostics") or ""
            timing = verdict.get("timing") or {}
            for name, key in (("cold_us", "median_ns"), ("hot_us", "hot_ns")):
                if timing.get("measured") and timing.get(key) is not None:
                    clocks[name].append(timing[key] / 1000)
            if timing.get("measured"):
                ranked.add(not verdict.get("foreknown"))
                unstable += bool(timing.get("unstable"))
        said = {"verdicts": dict(found.most_common())}
        said.update({name: round(statistics.median(values), 2) for name, values in clocks.items() if values})
        if ranked:
            said.update(timed=len(clocks["cold_us"]), unstable=unstable, ranked=True in ranked)
        if why:
            said["why"] = self.plain(why)
        return said

    def plain(self, text):
        """Its first line, without the paths of this machine."""
        line = next((part for part in text.splitlines() if part.strip()), "")
        return re.sub(r"(/[\w.+-]+)+/([\w.+-]+)", r"\2", line).strip()[:160]

    def bench(self, path, honest):
        """What a bench says of a file, and of an honest one that comes after it."""
        folder = self.work / f"bench_{path.stem}"
        folder.mkdir()
        shutil.copy(path, folder / f"a_{path.name}")
        (folder / "b_honest.py").write_text(honest, encoding="utf-8")
        code, out, err, _ = self.run(self.assay, "bench", "kernelbench/1/19", "--from", folder, "--device", "cpu", "--no-timing",
                                     "--no-store", "--json")
        try:
            verdicts = json.loads(out)
        except ValueError:
            return {"verdicts": {}, "ends_the_bench": True, "exit": code, "why": self.plain(err)}
        verdicts = verdicts if isinstance(verdicts, list) else [verdicts]
        reasons = [v["verdict"] for v in verdicts]
        said = {"verdicts": dict(collections.Counter(reasons[:1])), "next": reasons[1] if len(reasons) > 1 else None, "exit": code}
        said["ends_the_bench"] = said["next"] is None
        said["why"] = self.plain(next((v.get("detail") or v.get("diagnostics") or "" for v in verdicts), ""))
        return said

    def imports(self, path, *options, limit=300):
        """(what came of importing it, the task's file or None)."""
        task = self.work / f"{path.stem}{len(options)}.onnxtxt"
        code, out, err, took = self.run(*self.importer, path, *options, "-o", task, limit=limit)
        if code is None:
            return {"imports": False, "why": f"no end in {limit} s"}, None
        said = {"imports": code == 0, "seconds": took}
        errors = [float(e) for e in re.findall(r"in double precision to (?:within )?([0-9.e+-]+\d)", out + err)]
        if errors:
            said["largest_difference"] = max(errors)
        if code:
            lines = [line for line in err.splitlines() if line.startswith("assay-import")] or err.splitlines()[-1:]
            said["why"] = f"ended by signal {-code}" if code < 0 else self.plain(lines[-1] if lines else f"exit {code}")
        return said, task if task.exists() and not code else None


def edited(program, path, changes, name):
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        if old not in text:
            raise SystemExit(f"{path.name} is not the file that this script knows: it lacks {old!r}")
        text = text.replace(old, new)
    made = program.work / name
    made.write_text(text, encoding="utf-8")
    return made


def forged(program, path, forms):
    """hot_forged.c: as given, or whole."""
    now = "hot" not in (program.house / "src/runner/protocol.h").read_text(encoding="utf-8").split("null_call")[0][-40:]
    whole = edited(program, path, LURKING + (FOLLOWS if now else []), "hot_forged_whole.c")
    return program.judge("kernelbench/1/23", whole, [o for form in forms for o in ("--define", form)], 3)


def titled(program, path):
    code, out, err, _ = program.run(program.assay, "show", path, "--pytorch")
    if code:
        return {"prints": False, "why": program.plain(err)}
    (program.work / "titled.py").write_text(out, encoding="utf-8")
    program.run(program.environment["ASSAY_PYTHON"], "titled.py")
    return {"prints": True, "its_code_ran": (program.work / "injected.txt").exists()}


def beside_its_task(program, path, options):
    """A candidate that is judged against the task made of the same module, without what it imports or compiles."""
    text = path.read_text(encoding="utf-8").replace("ModelNew", "Model").replace("import torch._dynamo\n", "")
    text = re.sub(r"self\.f = .*", "pass", text).replace("self.f(x); ", "")
    module = program.work / f"{path.stem}_task.py"
    module.write_text(text + MODULE_TAIL, encoding="utf-8")
    said, task = program.imports(module)
    return program.judge(task, path, options, 3) if task else dict(said, why="its task: " + said["why"])


def constants(program, path, n):
    program.run(program.environment["ASSAY_PYTHON"], path, n)
    return program.imports(program.work / f"const_nodes_{n}.onnx", limit=120)[0]


def resized(program, path):
    code, out, err, _ = program.run(program.assay, "oracle", path, "--outputs", "answer")
    shape = re.search(r"\[1, ?1, ?(\d+)\]", out)
    return {"answers": code == 0, **({"pixels": int(shape[1])} if shape else {"why": program.plain(err)})}


def rows_of_cpu(files, times):
    """(name, command, function of a program)."""
    attacks, refused = files / "attacks", files / "refused"
    untimed = ["--no-timing"]
    cpu = ["--device", "cpu", "--no-timing"]
    honest = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x): return torch.relu(x)\n"
    honest = "# assay: task kernelbench/1/19\n" + honest

    def judged(name, task, path, options, n):
        shown = " ".join(["assay judge", task if isinstance(task, str) else task.name, path.name, *options])
        return name, shown, lambda p: p.judge(task, path, options, n)

    table = attacks / "shape_table.c"
    known, forge = attacks / "known_seed_fast.c", attacks / "hot_forged.c"
    rows = [
        judged("shape_table.c", "kernelbench/1/23", table, untimed, times),
        judged("shape_table.c, judged shape", "kernelbench/1/23", table, untimed + ["--shapes", "judged"], times),
        judged("fp16_centred.c", "kernelbench/1/2", attacks / "fp16_centred.c", ["--workload", "M=64, K=4096, N=64", *untimed], times),
        judged("known_seed_fast.c", "kernelbench/1/1", known, ["--seed", "7"], 3),
        judged("known_seed_fast.c, honest", "kernelbench/1/1", known, ["--seed", "7", "--define", "MOST=0"], 3),
        judged("known_seed_fast.c, no seed given", "kernelbench/1/1", known, [], 3),
        judged("hot_forged.c, honest", "kernelbench/1/23", forge, [], 3),
    ]
    for form in ("IMPOSTOR", "SLOW_NULL"):
        rows.append(judged(f"hot_forged.c, {form}", "kernelbench/1/23", forge, ["--define", form], 3))
    for forms in (["IMPOSTOR"], ["SLOW_NULL"], ["IMPOSTOR", "HOT_ONLY"], ["SPINNING"], ["NAPPING"], ["PARKED"]):
        if "HOT_ONLY" not in forms:
            rows.append((f"hot_forged.c, {forms[0]}, whole", f"assay judge kernelbench/1/23 hot_forged_whole.c --define {forms[0]}",
                         lambda p, forms=forms: forged(p, forge, forms)))
        else:
            rows.append(judged("hot_forged.c, IMPOSTOR, HOT_ONLY", "kernelbench/1/23", forge, ["--define", "IMPOSTOR", "--define", "HOT_ONLY"], 3))
    for name in ("py_fill_disk.py", "py_out_large.py", "py_unlink.py"):
        rows.append((name, "assay bench kernelbench/1/19 --from FOLDER --device cpu --no-timing (the file, and an honest one)",
                     lambda p, path=attacks / name: p.bench(path, honest)))
    rows.append(("evil_title.onnxtxt", "assay show evil_title.onnxtxt --pytorch > m.py; python m.py",
                 lambda p: titled(p, attacks / "evil_title.onnxtxt")))
    for name in ("gelu_erf_1ulp.c", "gelu_xla_erf.c"):
        rows.append(judged(name, "kernelbench/1/26", refused / name, untimed, 2 * times))
    rows += [judged("gemm_gelu_bf16.py", refused / "gemm_gelu_bf16.onnxtxt", refused / "gemm_gelu_bf16.py", cpu, 3),
             judged("kb95.py", "kernelbench/1/95", refused / "kb95.py", cpu, 3)]
    for name in ("import_dynamo_socket.py", "compile_socket.py"):
        rows.append((name, f"assay judge TASK {name} --device cpu --no-timing (the task made of the same module)",
                     lambda p, path=refused / name: beside_its_task(p, path, cpu)))
    for name in ("ce_smooth.py", "flow.py", "gru.py", "rnn_nnLSTM812projsize4.py", "hardsigmoid.py", "in_named_y.py", "interp.py",
                 "scatter_mean.py", "minus_one.onnx", "b_ctrl2.onnx", "cast_out_of_range.onnx", "lstm_clip.onnx", "int_input.onnx"):
        rows.append((name, f"assay-import {name}", lambda p, path=refused / name: p.imports(path)[0]))
    rows.append(("int_input.onnx, told", "assay-import int_input.onnx --input 'ids=integers(0, 5)'",
                 lambda p: p.imports(refused / "int_input.onnx", "--input", "ids=integers(0, 5)")[0]))
    for n in (1024, 1600):
        rows.append((f"const_nodes.py, {n}", f"python const_nodes.py {n}; assay-import const_nodes_{n}.onnx",
                     lambda p, n=n: constants(p, refused / "const_nodes.py", n)))
    rows.append(("resize_scale.onnxtxt", "assay oracle resize_scale.onnxtxt --outputs answer",
                 lambda p: resized(p, refused / "resize_scale.onnxtxt")))
    return rows


def rows_of_cuda(files, times):
    attacks, refused = files / "attacks", files / "refused"
    few = max(times // 4, 1)
    product, task = attacks / "fp16_centred.cu", "kernelbench/1/1"
    full = ["--workload", "full"]
    rows = [("fp16_centred.cu", "assay judge kernelbench/1/1 fp16_centred.cu --workload full",
             lambda p: p.judge(task, product, full, few))]
    for twin, n in (("PLAIN", 1), ("ALWAYS", few)):
        rows.append((f"fp16_centred.cu, {twin}", f"assay judge kernelbench/1/1 fp16_centred.cu --workload full --define {twin}",
                     lambda p, twin=twin, n=n: p.judge(task, product, [*full, "--define", twin], n)))
    cuda = ["--device", "cuda", "--no-timing"]
    rows += [("kb95.py", "assay judge kernelbench/1/95 kb95.py --device cuda --no-timing",
              lambda p: p.judge("kernelbench/1/95", refused / "kb95.py", cuda, few)),
             ("gemm_gelu_bf16.py", "assay judge gemm_gelu_bf16.onnxtxt gemm_gelu_bf16.py --device cuda --no-timing",
              lambda p: p.judge(refused / "gemm_gelu_bf16.onnxtxt", refused / "gemm_gelu_bf16.py", cuda, few)),
             ("gemm_gelu_bf16.py, full", "assay judge gemm_gelu_bf16.onnxtxt gemm_gelu_bf16.py --device cuda --no-timing --workload full",
              lambda p: p.judge(refused / "gemm_gelu_bf16.onnxtxt", refused / "gemm_gelu_bf16.py", cuda + full, few))]
    for name in ("import_dynamo_socket.py", "compile_socket.py"):
        rows.append((name, f"assay judge TASK {name} --device cuda --no-timing (the task made of the same module)",
                     lambda p, path=refused / name: beside_its_task(p, path, cuda)))
    return rows


def text_of(said):
    """One cell of the table."""
    if said is None:
        return "-"
    parts = [" ".join(f"{k} {n}" for k, n in said["verdicts"].items())] if said.get("verdicts") else []
    parts += [f"{k[:-3]} {said[k]:g} us" for k in ("cold_us", "hot_us") if k in said]
    parts += [f"{said['unstable']} of {said['timed']} times unstable"] if said.get("unstable") else []
    parts += ["not ranked"] if said.get("ranked") is False else []
    parts += ["ends the bench"] if said.get("ends_the_bench") else []
    parts += ["imports" if said["imports"] else "refused"] if "imports" in said else []
    parts += [f"{said['seconds']:g} s"] if "seconds" in said else []
    parts += [f"differs by {said['largest_difference']:.1e}"] if "largest_difference" in said else []
    parts += [f"{said['pixels']} pixels"] if "pixels" in said else []
    parts += ["its code RAN" if said["its_code_ran"] else "nothing ran"] if "its_code_ran" in said else []
    return "; ".join(parts) or said.get("why", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("before", "now", "files", "out"):
        parser.add_argument(name)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--house", default=HOUSE)
    parser.add_argument("--house-before", default=HOUSE)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--machine", default="", help="what it ran on, in words")
    options = parser.parse_intermixed_args()
    files = pathlib.Path(options.files).resolve()
    rows = {}
    if options.names and os.path.exists(options.out):
        rows = {row["file"]: row for row in json.loads(pathlib.Path(options.out).read_text(encoding="utf-8"))["rows"]}
    with tempfile.TemporaryDirectory() as work:
        programs = [Program("now", options.now, options.house, work)]
        if options.before != "-":
            programs.insert(0, Program("before", options.before, options.house_before, work))
        for program in programs:
            program.run(program.assay, "doctor", "--calibrate")
        make = rows_of_cuda if options.device == "cuda" else rows_of_cpu
        for name, command, function in make(files, options.times):
            if options.names and not any(part in name for part in options.names):
                continue
            rows[name] = row = {"file": name, "command": command}
            row.update({p.name: function(p) for p in programs})
            print(" | ".join([name, *(f"{p.name}: {text_of(row[p.name])}" for p in programs)]), flush=True)
            head = {"command": "bench/strangers.py BEFORE NOW FILES OUT.json" + (" --device cuda" if options.device == "cuda" else ""),
                    "date": datetime.date.today().isoformat(), "machine": options.machine, "device": options.device,
                    "load": round(os.getloadavg()[0], 1), "times": options.times, "rows": list(rows.values())}
            # After every row, so that a run that is stopped has what it found.
            pathlib.Path(options.out).write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
