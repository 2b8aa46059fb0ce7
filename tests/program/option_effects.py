# SPDX-License-Identifier: Apache-2.0
"""What each option of each command changes: for options.py.

EFFECTS: {COMMAND: {option: (words without it, words that are it)}}. ELSEWHERE: options whose effect a test of another file
shows, with a pattern that must stand in that file.
"""
import pathlib
import sys

source = pathlib.Path(sys.argv[2]).resolve()
TASK, RELU, SIGMOID = "kernelbench/1/19", str(source / "tests/cases/relu.c"), str(source / "tests/cases/sigmoid.c")
NOWHERE = "/dev/null/x"
QUIET = ["--no-timing", "--no-probes", "--no-store", "--seed=1", "--secret=2", "--workload=M=3, N=5"]
DRAWN = ["--no-timing", "--no-store", "--seed=1", "--secret=2", "--workload=M=3, N=5"]
TIMED_SIZES = "--workload=M=512, N=1024"  # of 3 x 5 a call may take no longer than one without a kernel: no time
TIMED = ["--no-probes", "--no-store", "--seed=1", "--secret=2", TIMED_SIZES, "--samples=20"]
KEPT = [word for word in QUIET if word != "--no-store"]
J = [TASK, RELU]
LOGS = source / "tests/tuning/logs"
ABOUT = ["--task=fusedops/matmul/fp32_matmul", "--workload=ragged1"]
CL = str(source / "tests/opencl/relu.cl")

JUDGE = {
    "histogram": (J + TIMED, ["--histogram"]), "workload": (J + QUIET + ["--json"], ["--workload=M=4, N=5"]),
    "seed": (J + QUIET + ["--json"], ["--seed=3"]), "secret": (J + DRAWN + ["--json"], ["--secret=3"]),
    "threads": (J + QUIET + ["--json"], ["--threads=1"]), "device": (J + QUIET, ["--device=opencl"]),
    "toolchain": (J + QUIET + ["--json"], ["--toolchain=nvcc"]),
    "device-index": (J + QUIET + ["--json"], ["--device-index=1"]),
    "mode": (J + QUIET + ["--json"], ["--mode=process"]), "compiler": (J + QUIET, ["--compiler", "/nowhere/cc"]),
    "as-published": (J + QUIET + ["--json"], ["--as-published"]), "weights": (J + QUIET, ["--weights", NOWHERE]),
    "contract": (J + QUIET + ["--json"], ["--contract=tf32"]), "rule": (J + QUIET + ["--json"], ["--rule=allclose"]),
    "shapes": (J + DRAWN + ["--json"], ["--shapes=judged"]), "no-probes": (J + DRAWN + ["--json"], ["--no-probes"]),
    "hold-out": (J + DRAWN + ["--json"], ["--hold-out=3"]), "no-timing": (J + TIMED, ["--no-timing"]),
    "checks": (J + DRAWN + ["--json"], ["--checks=9"]), "samples": (J + TIMED + ["--json"], ["--samples=11"]),
    "verified": (J + TIMED + ["--json"], ["--verified=12"]), "timeout": (J + QUIET + ["--json"], ["--timeout=9"]),
    "budget": (J + QUIET + ["--json"], ["--budget=77"]), "memory": (J + QUIET + ["--json"], ["--memory=99"]),
    "define": (J + QUIET, ["--define=IDENTITY"]), "baseline": (J + TIMED, ["--baseline", SIGMOID]),
    "no-store": (J + KEPT + ["--store", NOWHERE], ["--no-store"]), "tasks": (J + QUIET, ["--tasks", NOWHERE]),
    "store": (J + KEPT, ["--store", NOWHERE]), "json": (J + QUIET, ["--json"]), "color": (J + QUIET, ["--color=always"]),
    "progress": (J + QUIET, ["--progress=lines"]), "csv": (J + QUIET, ["--csv"]), "markdown": (J + QUIET, ["--markdown"]),
    "junit": (J + QUIET, ["--junit"])}


def of_judge(words, leave=()):
    """The options that a command shares with judge, after other words; `leave` stands for options that it has not."""
    return {name: (words + [w for w in without[len(J):] if w not in leave], it) for name, (without, it) in JUDGE.items()}


B = ["kernelbench/1", "--from", str(source / "tests/cases"), "--only=relu.c"]
BENCH = of_judge(B) | {
    "from": (["kernelbench/1"] + QUIET, B[1:3] + ["--only=relu.c"]), "only": (["kernelbench/1", "--from=TWO", "--no-timing", "--no-probes", "--no-store"], ["--only=relu.c"]),
    "run": (B + KEPT, ["--run=x"]), "again": (B + ["--no-timing", "--no-probes", "--run=r", "--json"], ["--again=pass"]),
    "twins": (B + QUIET, ["--twins"]), "workload": (B + QUIET + ["--json"], ["--workload=M=4, N=5"]),
    "color": (["nosuch"] + B[1:], ["--color=always"])}

SIZES = "--workload=M=8, N=8, K=8"
TIMED_PRODUCT = "--workload=M=64, N=64, K=64"


def of_product(words):
    """The sizes of a product in place of the rectifier's."""
    return [(TIMED_PRODUCT if w == TIMED_SIZES else SIZES) if w.startswith("--workload") else w for w in words]


TT = of_product(w for w in TIMED if w not in ("--no-store", "--secret=2"))
TQ = of_product(KEPT)
T = ["fusedops/matmul/fp32_matmul", "TUNED", "--trials=1", "--run=t"]
MAKES = ["fusedops/matmul/fp32_matmul", "--with=files:TUNED"]
BY_TUNE = [MAKES[0], "--with=tune:TUNED", "--no-probes", "--checks=1", "--samples=11", TIMED_PRODUCT, "--seed=1", "--secret=2"]


def sized(rows):
    return {name: (of_product(w for w in without if w != "--no-store"), it) for name, (without, it) in rows.items()}


M = [TASK, "--attempts=1", "--run=m", "--endpoint=exec:cat REPLY"]
URL = [TASK, "--attempts=1", "--run=m", "--endpoint=SERVER", "--model=a"] + KEPT
WRONG = [TASK, "--attempts=1", "--run=m", "--endpoint=exec:cat WRONG"] + KEPT
MAKE = of_judge(M, ["--no-store"]) | {
    "method": (M + KEPT, ["--method=refine"]), "endpoint": ([TASK] + KEPT, ["--endpoint=exec:cat REPLY"]),
    "api": (URL, ["--api=messages"]), "key-env": (URL, ["--key-env=NO_SUCH_KEY"]), "key-file": (URL, ["--key-file", NOWHERE]),
    "no-stream": (URL, ["--no-stream"]), "field": (URL, ["--field=top_k=40"]), "model": (URL[:-len(KEPT) - 1] + KEPT, ["--model=b"]),
    "temperature": (URL, ["--temperature=0.5"]), "max-tokens": (URL, ["--max-tokens=77"]), "form": (M + KEPT, ["--form=pytorch"]),
    "attempts": (M + KEPT, ["--attempts=2"]), "turns": (WRONG + ["--method=refine"], ["--turns=1"]),
    "feedback": (WRONG + ["--method=refine", "--turns=2"], ["--feedback=code"]),
    "method-seed": (URL, ["--method-seed=5"]), "no-final": (M + KEPT, ["--no-final"]), "dry-run": (M + KEPT, ["--dry-run"]),
    "replay": (M + KEPT, ["--replay"]), "prompts": (M + KEPT, ["--prompts", NOWHERE]), "run": (M + KEPT, ["--run=other"]),
    "out": (M + KEPT, ["--out=made_here"]), "reply-timeout": ([TASK, "--attempts=1", "--run=m", "--endpoint=exec:sleep 3; cat REPLY"] + KEPT,
                                                          ["--reply-timeout=1"]),
    "budget-calls": (M + KEPT + ["--attempts=3"], ["--budget-calls=1"]), "budget-tokens": (M + KEPT + ["--attempts=3"], ["--budget-tokens=10"]),
    "budget-usd": (M + KEPT, ["--budget-usd=1"]), "prices": (M + KEPT, ["--prices", NOWHERE]),
    "budget-seconds": (M + KEPT + ["--attempts=3"], ["--budget-seconds=0.001"]),
    "budget-cpu-seconds": (M + KEPT + ["--attempts=3"], ["--budget-cpu-seconds=0.001"]),
    "patience": (WRONG + ["--attempts=4"], ["--patience=1"]), "color": (["nosuch"] + M[1:], ["--color=always"]),
    "json": (M + KEPT, ["--json"]), "progress": (M + KEPT, ["--progress=none"]), "workload": (M + KEPT, ["--workload=M=4, N=5"])}

EFFECTS = {
    "tasks": {"lint": ([TASK], ["--lint"]), "as-published": (["kernelbench/1/100"], ["--as-published", "--json"]),
              "workload": ([TASK], ["--workload=M=3, N=5"]), "tasks": ([TASK], ["--tasks", NOWHERE]),
              "store": ([TASK], ["--store", NOWHERE]), "json": ([TASK], ["--json"]),
              "color": (["nosuch"], ["--color=always"]), "progress": ([TASK, "--lint"], ["--progress=lines"])},
    "show": {"as-published": (["kernelbench/1/100"], ["--as-published"]), "workload": ([TASK], ["--workload=M=3, N=5"]),
             "pytorch": ([TASK], ["--pytorch"]), "baseline": ([TASK], ["--baseline=torch.eager"]),
             "contract": ([TASK, "--baseline=torch.eager"], ["--contract=tf32"]),
             "tasks": ([TASK], ["--tasks", NOWHERE]), "store": ([TASK], ["--store", NOWHERE]),
             "json": ([TASK], ["--json"]), "color": (["nosuch"], ["--color=always"])},
    "oracle": {"inputs": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--inputs", NOWHERE]), "outputs": ([TASK, "--seed=5", "--workload=M=3, N=5"], ["--outputs=o"]),
               "workload": ([TASK, "--outputs=o", "--seed=5"], ["--workload=M=3, N=5"]),
               "probe": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--probe=zero_mean"]),
               "seed": ([TASK, "--outputs=o", "--workload=M=3, N=5", "--seed=6"], ["--seed=5"]),
               "as-published": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--as-published"]),
               "tasks": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--tasks", NOWHERE]),
               "json": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--json"]),
               "color": (["nosuch", "--outputs=o"], ["--color=always"])},
    "judge": JUDGE, "bench": BENCH,
    "make": MAKE,
    "tune": {name: (T + TT, it) for name, (_, it) in of_judge(T).items()} | {
        "run": (T[:3] + TT, ["--run=x"]), "out": (T + TT, ["--out=kept"]), "trials": (T + TT, ["--trials=2"]), "no-probes": (T + [w for w in TT if w != "--no-probes"], ["--no-probes"]),
        "workload": (T + TT, ["--workload=M=9, N=8, K=8"]), "define": (T + TT, ["--define=IDENTITY"]),
        "store": (T + TT, ["--store", NOWHERE]),
        "baseline": (T + TT, ["--baseline", NOWHERE]),
        "color": (["nosuch", "TUNED"], ["--color=always"]),
        "device": (T + TT, ["--device=opencl"])},
    "trials": {"read": ([], ["--read", str(LOGS / "helion.csv")] + ABOUT),
               "format": (["--read", str(source / "README.md")], ["--format=helion"]),
               "run": (["--read", str(LOGS / "helion.csv")] + ABOUT, ["--run=x"]),
               "task": (["--read", str(LOGS / "helion.csv")] + ABOUT, ["--task=a"]),
               "workload": (["--read", str(LOGS / "helion.csv")] + ABOUT, ["--workload=b"]),
               "device": (["--read", str(LOGS / "helion.csv")] + ABOUT, ["--device=c"]),
               "baseline": (["--read", str(LOGS / "published_results.csv"), "--summary"], ["--baseline=inductor_max"]),
               "summary": (["--read", str(LOGS / "helion.csv")] + ABOUT, ["--summary"]),
               "store": ([], ["--store", NOWHERE]), "json": (["--read", str(LOGS / "helion.csv")] + ABOUT, ["--json"]),
               "color": (["nosuch"], ["--color=always"])},
    "score": {"baseline": (["t"], ["--baseline=nosuch"]), "stable": (["u"], ["--stable"]), "of": (["r"], ["--of=kernelbench/1"]),
              "by": (["r"], ["--by=operator_kind"]), "plot": (["u"], ["--plot=distribution", "x.svg"]),
              "compare": (["r"], ["--compare", str(source / "README.md")]), "against": (["r"], ["--against=s"]),
              "deviance": (["r"], ["--deviance"]), "rounds": (["r", "s"], ["--rounds"]), "devices": (["r"], ["--devices"]),
              "published": (["r"], ["--published"]), "corpus": ([], ["--corpus", NOWHERE]),
              "level": (["r"], ["--level=2", "--compare", str(source / "README.md")]), "store": (["r"], ["--store", NOWHERE]),
              "json": (["r"], ["--json"]), "color": (["nosuch"], ["--color=always"]), "csv": (["r"], ["--csv"]),
              "markdown": (["r"], ["--markdown"]), "junit": (["r"], ["--junit"])},
    "runs": {"compact": (["export", "r", "f"], ["--compact"]), "yes": (["delete", "r"], ["--yes"]), "store": ([], ["--store", NOWHERE]),
             "json": ([], ["--json"]), "color": (["delete", "nosuch"], ["--color=always"])},
    "compare": {"store": (["t", "u"], ["--store", NOWHERE]), "json": (["t", "u"], ["--json"]), "color": (["nosuch", "s"], ["--color=always"])},
    "compare --with": sized(of_judge(MAKES)) | {
        "with": (MAKES + TQ, ["--with=files:TUNED,tune:TUNED"]), "run": (MAKES + TQ, ["--run=x"]),
        "scorecard": (MAKES + TQ, ["--scorecard"]), "stored": (MAKES + TQ, ["--stored"]), "tuning-seeds": (BY_TUNE, ["--tuning-seeds=2"]), "workload": (MAKES + TQ, ["--workload=M=9, N=8, K=8"]),
        "color": (["nosuch"] + MAKES[1:], ["--color=always"]), "progress": (MAKES + TQ, ["--progress=none"]),
        "store": (MAKES + TQ, ["--store", NOWHERE])},
    "report": {"html": ([], ["--html=h"]), "sources": (["--html=h"], ["--sources", NOWHERE]), "tasks": (["--html=h"], ["--tasks", NOWHERE]),
               "store": (["--html=h"], ["--store", NOWHERE]), "json": (["--html=h"], ["--json"]),
               "color": (["--html", NOWHERE], ["--color=always"]), "progress": (["--html=h"], ["--progress=lines"])},
    "export": {"to": (["r"], ["--to=o"]), "format": (["r", "--to=o"], ["--format=kernelbenchx"]),
               "task": (["--to=o", "--format=gpu-mode"], ["--task", TASK]), "name": (["r", "--to=o"], ["--name=x"]),
               "level": (["r", "--to=o"], ["--level=2"]), "baseline": (["r", "--to=o"], ["--baseline=nosuch"]),
               "tasks": (["--to=o", "--format=gpu-mode", "--task", TASK], ["--tasks", NOWHERE]), "store": (["r", "--to=o"], ["--store", NOWHERE]),
               "json": (["r", "--to=o"], ["--json"]), "color": (["nosuch", "--to=o"], ["--color=always"])},
    "doctor": {"tasks": ([], ["--tasks", NOWHERE]), "store": ([], ["--store", NOWHERE]), "json": ([], ["--json"]),
               "color": ([], ["--color=always"])},
    "plan save": {"out": ([TASK, CL], ["--out=p"]), "workload": ([TASK, CL, "--out=p"], ["--workload=M=3, N=5"]),
                  "as-published": (["kernelbench/1/100", CL], ["--as-published", "--target=x"]),
                  "contract": (["fusedops/softmax/bf16_softmax", CL, "--out=p"], ["--contract=tf32"]), "define": ([TASK, CL, "--out=p"], ["--define=IDENTITY"]),
                  "budget": ([TASK, CL, "--out=p"], ["--budget=0.001"]),
                  "tasks": ([TASK, CL, "--out=p"], ["--tasks", NOWHERE]), "color": (["nosuch", CL, "--out=p"], ["--color=always"])},
    "plan show": {"json": (["PLAN"], ["--json"]), "color": ([NOWHERE], ["--color=always"])},
    "plan check": {"target": (["PLAN"], ["--target=sm_90"]), "color": ([NOWHERE], ["--color=always"])},
    "plan export": {"to": (["PLAN"], ["--to=o"]), "color": ([NOWHERE], ["--color=always"])},
    "plan replay": {"seed": (["PLAN"], ["--seed=9"]), "device-index": (["PLAN"], ["--device-index=9"]),
                    "timeout": (["PLAN"], ["--timeout=0.0001"]), "color": ([NOWHERE], ["--color=always"])},
    "serve": {"tasks": (["--port=0", "--token-file", NOWHERE], ["--tasks", NOWHERE]),
              "store": (["--port=0", "--token-file", NOWHERE], ["--store", NOWHERE]),
              "color": (["--port=0", "--token-file", NOWHERE], ["--color=always"])},
}
# One parser reads what commands share with judge and bench. Of the others these show that it goes on to their judgements; all
# of them do where a command is named (options.py ASSAY SOURCE make).
SHOWN = {"seed", "device", "timeout", "define", "no-timing", "no-probes", "json", "rule"}
LATER = {f"{command} {name}" for command in ("make", "tune", "compare --with") for name, row in JUDGE.items()
         if name not in SHOWN and EFFECTS[command].get(name, ([], []))[1] == row[1]}
# How many at once: all that comes out stays as it is.
SAME = {"tune parallel": (T + TT, ["--parallel=2"]), "make parallel": (M + KEPT, ["--parallel=2"]),
        "report threads": (["--html=h"], ["--threads=2"])}
ELSEWHERE = {"compare --with tuning-seconds": ("tests/program/side.sh", "--tuning-seconds"), "compare --with retime": ("tests/program/tune.sh", "--retime")} | {f"tune {option}": ("tests/program/tune.sh", f"--{option}") for option in ("budget-seconds", "give-up", "finalists", "seed", "progress", "retime")} | {
             "serve address": ("tests/program/options.py", "--address="),
             "judge watch": ("tests/program/formats.sh", "--watch"), "doctor calibrate": ("tests/program/cli.sh", "--calibrate"),
             "doctor yes": ("tests/program/faults.sh", "--calibrate --yes"), "plan export name": ("tests/program/cli.sh", "export .* --name"),
             "plan save target": ("tests/program/cli.sh", "save .* --target"), "plan save toolchain": ("tests/program/cli.sh", "save .* --toolchain"),
             "plan save compiler": ("tests/program/cli.sh", "save .* --compiler"),
             "make server-wait": ("tests/program/make_failing.sh", "--server-wait"), "make ask-again": ("tests/program/make_failing.sh", "--ask-again"),
             "make feed-best": ("tests/program/make_swarm.py", "--feed-best"), "make enough": ("tests/program/make.sh", "--enough"),
             "make budget-gpu-seconds": ("tests/program/make.sh", "--budget-gpu-seconds")} | {
    f"serve {option}": ("tests/serve/serve.py", f"--{option}") for option in
    ("builders", "connections", "connections-per-address", "cpu-slots", "devices", "drain", "host", "limit", "live", "port", "queue", "rate", "site", "timeout", "token-file")} | {
    "serve add-token": ("tests/serve/server.py", "--add-token"), "serve run": ("tests/serve/serve_kill.py", "--run")}
