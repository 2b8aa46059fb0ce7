# SPDX-License-Identifier: Apache-2.0
"""KernelBench-X: its tasks as text, and the page's table of all of them, also of those that are not made yet."""
import math
import sys

from task_files import HOUSE, RAGGED_LIMIT, Input, check_limits, task_text, write_files

SCRIPT = "tools/tasks/make_kernelbenchx.py"
PAGE = HOUSE / "docs" / "kernelbenchx.md"
ROOT = HOUSE / "tasks" / "kernelbenchx"
ORIGIN = "KernelBench-X"
CONTRACTS = {"float": ("fp32", "1e-5, 1e-5"), "float16": ("fp16", "5e-3, 5e-3"), "bfloat16": ("bf16", "5e-3, 5e-3")}
# The suite's count of tasks in each category; the half-precision twins are on its disk only, not in its list.
COUNTS = {"Activation": 10, "Convolution": 2, "Fusion": 60, "Index": 6, "LinearAlgebra": 17, "Loss": 6, "Math": 36,
          "MatrixMultiply": 10, "Normalization": 5, "Optimizer": 5, "Pooling": 2, "Quantization": 6, "Random": 2,
          "Reduce": 6, "SpatialOps": 3}
TWINS = ("Activation/relu_bf16", "Activation/relu_fp16", "Activation/sigmoid_bf16", "Activation/sigmoid_fp16",
         "Activation/tanh_bf16", "Activation/tanh_fp16", "Math/mul_bf16", "Math/mul_fp16")

NORMAL = "normal(0, 1)"
UNIT = "uniform(0, 1)"
WEIGHT = "normal(0, 1) static"
DIGITS = "constants of 32 bits"
SIGNED = "the ladder draws from [0, 1) only; normal numbers, as the suite's own tests draw"


def powers(first, last):
    """2^first to 2^last, as sizes of a ladder."""
    return [2 ** i for i in range(first, last + 1)]


def loads(symbols, ladder, small, *ragged, full=None):
    """Workloads. ladder: the published sizes, smallest first, each a number (for every symbol) or a tuple; full: the
    largest of them that can be judged."""
    symbols = symbols.split()
    row = lambda sizes: dict(zip(symbols, (sizes,) * len(symbols) if isinstance(sizes, int) else sizes, strict=True))
    rows = {"small": row(small), "full": row(full or ladder[-1])}
    rows.update({f"ragged{i}": row(sizes) for i, sizes in enumerate(ragged)})
    rows.update({f"size{i:02d}": row(sizes) for i, sizes in enumerate(ladder, 1)})
    return rows


class Task:
    """What the comparison with the published references needs of a task."""

    def __init__(self, key, inputs, outputs, workloads, probes, reference, check=None):
        self.category, self.stem = key.split("/")
        self.name, self.inputs, self.outputs, self.workloads = f"kernelbenchx/{key}", inputs, outputs, workloads
        self.probes, self.check = probes, check
        self.call, self.mathematics, self.digits, self.ladder, self.inaccurate = reference

    def path(self):
        return ROOT / self.category / f"{self.stem}.onnxtxt"

    def compared(self):
        """The workloads at which the reference is run."""
        return [w for w in self.workloads if w == "small" or w.startswith("ragged")]

    def probed(self):
        """The probes that the judge asks under, beside the declared distribution."""
        if all("fixed" in i.dist for i in self.inputs):
            return []
        named = {p.strip().split("(")[0] for p in (self.probes or "").split(",") if p.strip()}
        usual = {"zero_mean", "row_scales", "heavy_mean", "integers", "subnormal"}
        return sorted((usual | named) - {p for n in named if n[0] == "-" for p in (n, n[1:])})

    def timed(self):
        """The shapes of the tensors that the published timing makes, for each size of the ladder."""
        tensors = self.ladder if self.ladder is not None else [i.dims for i in self.inputs if i.dims]
        sizes = [row for name, row in self.workloads.items() if name.startswith("size")]
        extent = lambda d, row: math.prod(int(row.get(part, part)) for part in str(d).split("*"))
        return [[[extent(d, row) for d in dims] for dims in tensors] for row in sizes]


class Suite:
    """The tasks of KernelBench-X and the reasons of those that are missing."""

    def __init__(self):
        self.tasks, self.files, self.rows = {}, {}, {}

    def task(self, category, name, title, inputs, outputs, body, workloads, call, constants=(), repair=None,
             probes=None, allow=None, domains=(), published_constants=None, mathematics=None, digits="", ladder=None,
             kind="float", opset=23, note="", contraction_part=None, input_part=None,
             inaccurate=(0, ""), shapes=None, check=None):
        """inputs: in the order of the published signature. outputs: dims of the one output "y", or rows (name, type,
        dims). published_constants: name -> (published, default). kind: the tensors' type, which says contract and
        published tolerances.

        call: the published reference as a Python expression: its function, inputs by their names, sizes by their
        symbols, torch and F. mathematics: what the default form is instead, where the reference is not what its
        description says, or is too inaccurate. digits: why it has other numbers in the 8th digit. ladder: shapes of the tensors that the
        published timing makes, where they are not those of the inputs; "N*K" is an extent too. inaccurate: (how far the published
        reference is off in double precision, a remark). check: the Function that judges outputs which are not unique."""
        key, changed = f"{category}/{name}", published_constants or {}
        assert key not in self.rows and (repair is not None) == (any(i.published for i in inputs) or bool(changed)), key
        outputs = outputs if outputs and isinstance(outputs[0], tuple) else [("y", kind, outputs)]
        contract, tolerances = CONTRACTS[kind]
        props = [("assay.task", f"kernelbenchx/{key}"), ("assay.title", title), ("assay.origin", f"{ORIGIN} {key}"),
                 ("assay.contract", contract)]
        props += [(k, v) for k, v in (("assay.contraction_part", contraction_part), ("assay.input_part", input_part)) if v]
        props += [("assay.allclose", tolerances)]
        props += [(f"assay.workload.{w}", ", ".join(f"{k}={v}" for k, v in sizes.items()))
                  for w, sizes in workloads.items()]
        props += [(f"assay.input.{i.name}", i.dist) for i in inputs]
        props += [(f"assay.published.input.{i.name}", i.published) for i in inputs if i.published]
        props += [(f"assay.published.constant.{k}", v[0]) for k, v in changed.items()]
        props += [(k, v) for k, v in (("assay.shapes", shapes), ("assay.check", check and check.name),
                                    ("assay.repair", repair), ("assay.probes", probes), ("assay.lint.allow", allow))
                  if v]
        check_limits(key, workloads, [i.dims for i in inputs] + [dims for _, _, dims in outputs], RAGGED_LIMIT)
        self.tasks[key] = Task(key, inputs, [output for output, _, _ in outputs], workloads, probes,
                               (call, mathematics, digits, ladder, inaccurate), check)
        self.files[ROOT / category / f"{name}.onnxtxt"] = task_text(name.lower(), props, inputs, outputs, body,
                                                                    constants, opset, [check] if check else [], domains)
        changes = [f"`{i.name}`: {i.published} → {i.dist}" for i in inputs if i.published]
        changes += [f"`{k}`: {v[0]} → {v[1]}" for k, v in changed.items()]
        self.rows[key] = ("made", "<br>".join(changes), "; ".join(t for t in (repair, note, allow and f"lint: {allow}")
                                                                  if t))

    def missing(self, category, reason, *names):
        """Tasks that are not here yet, and why."""
        for name in names:
            assert f"{category}/{name}" not in self.rows, name
            self.rows[f"{category}/{name}"] = ("not yet", "", reason)

    def table(self):
        head = ["| task | state | published → default | remark |", "|---|---|---|---|"]
        return head + [f"| {key} | {' | '.join(self.rows[key])} |" for key in sorted(self.rows, key=str.lower)]

    def page(self):
        """The documentation with its figures and its table brought up to date."""
        text = PAGE.read_text()
        listed = [key for key in self.rows if key not in TWINS]
        made = sum(key in self.tasks for key in listed)
        twins = sum(key in self.tasks for key in TWINS)
        figures = [f"{made} of the {len(listed)} listed tasks are made, and {twins} of the {len(TWINS)} half-precision "
                   "twins."]
        for marker, lines in (("figures", figures), ("tasks", self.table())):
            begin, end = f"<!-- {marker}: written by {SCRIPT} -->\n", f"<!-- end of {marker} -->"
            before, rest = text.split(begin)
            text = before + begin + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1]
        return text

    def main(self):
        if sys.argv[1:] not in ([], ["--check"]):
            sys.exit(f"usage: {SCRIPT} [--check]")
        for category, count in COUNTS.items():
            there = [key for key in self.rows if key.startswith(category + "/") and key not in TWINS]
            assert len(there) == count, (category, len(there), count)
        assert all(key in self.rows for key in TWINS)
        write_files({**self.files, PAGE: self.page()}, SCRIPT, bool(sys.argv[1:]))


SUITE = Suite()
__all__ = ["DIGITS", "Input", "NORMAL", "SIGNED", "SUITE", "UNIT", "WEIGHT", "loads", "powers"]
