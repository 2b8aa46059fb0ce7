#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes wrong variants of tasks and asks bench_mutants whether the judge's questions catch them.

    bench/mutants.py BENCH_MUTANTS [--all] [TASK_FILE...]      default: tasks/kernelbench/level1 and level2

A variant changes one thing in the graph, as a wrong or less precise kernel would:

    bf16 V, tf32 V      value V (an intermediate one, or an input) is rounded to 8 or 11 bits on its way
    epsilon E           another epsilon in a normalisation
    gelu                the other form of GELU
    constant C          a constant of the graph is off by 2^-12 of itself
    without OP          an elementwise step is left out
    short sum           the last term of a linear layer's or a product's sums is left out

Prints what passes, one line a variant (--all: every variant), and the counts. Some variants that pass are not a mistake:
rounding what is a whole number, leaving out a step that does nothing.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HOUSE = pathlib.Path(__file__).resolve().parent.parent
LINE = re.compile(r"^  (\w+) = (\w+)(<[^>]*>)?\((.*)\)$")
HEAD = re.compile(r"^\w+ \((.*)\) => \((.*)\)$")
KINDS = {"bf16": 45, "tf32": 42}  # v + 2^45 v - (v + 2^45 v - v) is v rounded to 53 - 45 bits, computed in double
STEPS = {"Relu", "LeakyRelu", "Clip", "Tanh", "Sigmoid", "Gelu", "Mish", "HardSwish", "Softplus", "Mul", "Div", "Add",
         "Sub", "Min", "Max", "Elu", "Selu", "HardSigmoid", "Softsign", "Exp", "Sqrt", "Abs", "Neg"}
NORMS = {"BatchNormalization": "1e-05", "InstanceNormalization": "1e-05", "LayerNormalization": "1e-05",
         "GroupNormalization": "1e-05", "RMSNormalization": "1e-05"}


def parts(text):
    """Lines of the file before the body, the body's, and those after it."""
    lines = text.split("\n")
    begin = max(i for i, l in enumerate(lines) if l == "{") + 1
    end = max(i for i, l in enumerate(lines) if l == "}")
    return lines[:begin], lines[begin:end], lines[end:]


def joined(head, body, tail):
    return "\n".join(head + body + tail)


def renamed(line, old, new):
    """A line of the body with a value that it reads under another name."""
    left, right = line.split(" = ", 1)
    return f"{left} = " + re.sub(rf"(?<=[(, ]){old}(?=[,)])", new, right)


def steps(name, new, kind):
    return [f"  {name}_p = Constant<value_float = {2.0 ** KINDS[kind]}>()", f"  {name}_f = Mul({name}, {name}_p)",
            f"  {name}_t = Add({name}_f, {name})", f"  {name}_d = Sub({name}_t, {name})",
            f"  {new} = Sub({name}_t, {name}_d)"]


def rounding(body, name, at, kind):
    """Rounds value `name`, which line `at` makes (-1: an input)."""
    return (body[:at + 1] + steps(name, f"{name}_rounded", kind) +
            [renamed(l, name, f"{name}_rounded") for l in body[at + 1:]])


def rounded_result(body, name, at, kind):
    """The same for the output, which must keep its name."""
    line = body[at].replace(f"  {name} = ", f"  {name}_raw = ", 1)
    return body[:at] + [line] + steps(f"{name}_raw", name, kind) + body[at + 1:]


def of_values(head, body, tail):
    signature = next(l for l in head if HEAD.match(l))
    inputs = re.findall(r"float(?:\[[^\]]*\])? (\w+)", HEAD.match(signature).group(1))
    outputs = re.findall(r" (\w+)(?:,|$)", HEAD.match(signature).group(2))
    places = [(i, -1) for i in inputs] + [(LINE.match(l).group(1), i) for i, l in enumerate(body) if LINE.match(l)]
    for kind in KINDS:
        for name, at in places:
            change = rounded_result if name in outputs else rounding
            yield f"{kind} {name}", joined(head, change(body, name, at, kind), tail)


def of_lines(head, body, tail):
    for i, line in enumerate(body):
        m = LINE.match(line)
        if not m:
            continue
        name, op, attributes, inputs = m.groups()

        def with_line(*new):
            return joined(head, body[:i] + list(new) + body[i + 1:], tail)

        if op in NORMS:
            now = re.search(r"epsilon = ([0-9.e+-]+)", attributes or "")
            for epsilon in ("1e-06", "1e-04", "1e-12"):
                if now:
                    yield f"epsilon {epsilon}", with_line(line.replace(now.group(0), f"epsilon = {epsilon}"))
                else:
                    more = attributes[:-1] + ", " if attributes else "<"
                    yield f"epsilon {epsilon}", with_line(f"  {name} = {op}{more}epsilon = {epsilon}>({inputs})")
        if op == "Gelu":
            other = '"none"' if "tanh" in (attributes or "") else '"tanh"'
            yield "gelu", with_line(f"  {name} = Gelu<approximate = {other}>({inputs})")
        if op in STEPS:
            yield f"without {op} ({name})", with_line(f"  {name} = Identity({inputs.split(', ')[0]})")
        if op in ("Gemm", "MatMul"):
            a, b = inputs.split(", ")[:2]
            trans = "transA = 1" in (attributes or ""), "transB = 1" in (attributes or "")
            axes = (0 if trans[0] else -1, -1 if trans[1] else (0 if op == "Gemm" else -2))
            cut = [f"  {v}_s{k} = Slice({v}, short_from, short_to, short_axis{k})" for k, v in enumerate((a, b))]
            rest = inputs.split(", ")[2:]
            call = ", ".join([f"{a}_s0", f"{b}_s1"] + rest)
            constants = (f"  short_from = Constant<value_ints = [0]>()", "  short_to = Constant<value_ints = [-1]>()",
                         f"  short_axis0 = Constant<value_ints = [{axes[0]}]>()",
                         f"  short_axis1 = Constant<value_ints = [{axes[1]}]>()")
            yield f"short sum ({name})", with_line(*constants, *cut, f"  {name} = {op}{attributes or ''}({call})")


def of_constants(head, body, tail):
    for i, line in enumerate(head):
        for m in re.finditer(r"float(?:\[\d*\])? (\w+) = \{([-0-9.e+]+)\}", line):
            value = float(m.group(2))
            if value == 0:
                continue
            new = line[:m.start(2)] + repr(value * (1 + 2 ** -12)) + line[m.end(2):]
            yield f"constant {m.group(1)}", joined(head[:i] + [new] + head[i + 1:], body, tail)


def examine(bench, path, everything, counts):
    head, body, tail = parts(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for make in (of_values, of_lines, of_constants):
            for what, text in make(head, body, tail):
                file = pathlib.Path(folder) / f"{len(names)}.onnxtxt"
                file.write_text(text)
                names[str(file)] = what
        out = subprocess.run([bench, str(path), *names], capture_output=True, text=True)
        rows = [json.loads(l) for l in out.stdout.splitlines()]
        if not rows and names:
            print(f"{path.stem}: {out.stderr.strip()[:200]}")
    counts["made"] += len(rows)
    counts["caught"] += sum(r["caught"] for r in rows)
    counts["not a task"] += len(names) - len(rows)
    for r in rows:
        if everything or not r["caught"]:
            word = "caught" if r["caught"] else "PASSES"
            print(f"{path.stem}: {names[r['mutant']]}: {word}, {r['error']:.3g} of what is allowed "
                  f"({r['probe']}, {r['workload']})", flush=True)


def main():
    args = [a for a in sys.argv[1:] if a != "--all"]
    if not args:
        sys.exit(__doc__)
    files = [pathlib.Path(a) for a in args[1:]]
    for level in (1, 2) if not files else ():
        files += sorted((HOUSE / "tasks" / "kernelbench" / f"level{level}").glob("*.onnxtxt"))
    counts = {"made": 0, "caught": 0, "not a task": 0}
    for path in files:
        examine(args[0], path, "--all" in sys.argv, counts)
    print(", ".join(f"{v} {k}" for k, v in counts.items()))


if __name__ == "__main__":
    main()
