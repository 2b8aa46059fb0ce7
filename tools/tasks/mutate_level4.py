#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the judge refuses models of level 4 that leave something out: in one layer at a time, the rest as it should be.

usage: mutate_level4.py ANSWERS [--workload=small] [--every=N] [--changes=A,B] [--show] [FAMILY | NUMBER...]

ANSWERS is the program of that name that the tests build. Changes, each in every layer that has it (--every=N: in every
N-th):

  uniform   every position takes the mean of the values that it sees
  queries   all positions ask with the mean of the queries
  other q   the matrix of another layer's queries (GPT-2's: of all three); "other k" likewise
  mask      a position sees the whole sequence (in BigBird's blocks: likewise, and block 0 counts once)
  window    a position sees all before it (GPT-Neo: differs from sequences of 257 on)
  skipped   the layer gives what it gets

A changed graph's exact answer is shown to the judge of the task, on declared draws of one key. A line says of how many
layers the change was refused, and how near the nearest was: the largest error over what is allowed, and likewise the
root mean square. --show: a line for each that passes. Exit code 1 when one passes.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from level4_models import FAMILIES, PROBLEMS, WINDOW
from task_files import HOUSE

KEY, PASSES = 5, 16
CALL = re.compile(r"  (?P<out>[\w, ]+) = local\.(?P<function>\w*block)(?P<attributes><[^>]*>)\((?P<arguments>[^)]*)\)\n")
ATTENTION = re.compile(r"  heads = Attention<(?P<attributes>[^>]*)>\(q, k, v(?P<mask>, \w+)?\)\n")
FUNCTION = '<\n  domain: "local",\n  opset_import: ["" : {opset}, "local" : 1]\n>\n'
MEAN = ("  q_middle = Constant<value_ints = [1]>()\n  q_one = ReduceMean(q, q_middle)\n  q_shape = Shape(q)\n"
        "  q_mean = Expand(q_one, q_shape)\n")


class Model:
    """A task's file, with its layers and functions."""

    def __init__(self, path):
        self.text = path.read_text()
        self.layers = list(CALL.finditer(self.text))
        self.opset = re.search(r'opset_import: \["" : (\d+)', self.text).group(1)
        assert self.layers, path

    def length(self, workload):
        return int(re.search(rf'"assay.workload.{workload}" : "[^"]*\bS=(\d+)', self.text)[1])

    def function(self, name):
        """(parameters, all of its text)"""
        found = re.search(rf"^{name} (<[^>]*> )?\((?P<parameters>[^)]*)\) => [^{{]*{{\n.*?^}}\n", self.text, re.M | re.S)
        return found["parameters"].split(", "), found[0]

    def with_layer(self, i, change):
        """The file with another function in layer i: change(attributes, mask) -> (lines before, attributes, arguments)."""
        layer, text = self.layers[i], self.text
        _, body = self.function(layer["function"])
        attention = ATTENTION.search(body)
        changed = change(attention["attributes"], attention["mask"] or "")
        if changed is None:
            return None
        before, attributes, arguments = changed
        line = f"{before}  heads = Attention<{attributes}>({arguments})\n"
        body = body[:attention.start()] + line + body[attention.end():]
        body = re.sub(rf"^{layer['function']} ", "changed ", body)
        call = layer[0].replace(f"local.{layer['function']}<", "local.changed<")
        return (text[:layer.start()] + call + text[layer.end():] + "\n" + FUNCTION.format(opset=self.opset) + body)

    def other_matrix(self, i, names):
        """Layer i with another layer's matrix in place of the first of these parameters that it has."""
        layer = self.layers[i]
        parameters, _ = self.function(layer["function"])
        name = next((n for n in names if n in parameters), None)
        donors = [other for other in self.layers if other["function"] == layer["function"] and other.start() != layer.start()]
        if name is None or not donors:
            return None
        at = parameters.index(name)
        arguments = layer["arguments"].split(", ")
        arguments[at] = donors[i % len(donors)]["arguments"].split(", ")[at]
        call = layer[0].replace(layer["arguments"], ", ".join(arguments))
        return self.text[:layer.start()] + call + self.text[layer.end():]

    def skipped(self, i):
        layer = self.layers[i]
        outs = layer["out"].split(", ")
        lines = [f"  {out} = Identity({x})\n" for out, x in zip(outs, layer["arguments"].split(", "), strict=False)]
        return self.text[:layer.start()] + "".join(lines) + self.text[layer.end():]


def scaled(attributes, scale):
    return re.sub(r", scale = [\d.]+", "", attributes) + f", scale = {scale}"


def unmasked(attributes, mask):
    plain = re.sub(r"is_causal = 1, ", "", attributes)
    return ("", plain, "q, k, v") if plain != attributes or mask else None


def unwindowed(attributes, mask):
    return ("", f"is_causal = 1, {attributes}", "q, k, v") if mask == ", seen" else None


CHANGES = {
    "uniform": lambda m, i: m.with_layer(i, lambda a, mask: ("", scaled(a, "0.0"), f"q, k, v{mask}")),
    "queries": lambda m, i: m.with_layer(i, lambda a, mask: (MEAN, a, f"q_mean, k, v{mask}")),
    "other q": lambda m, i: m.other_matrix(i, ["w_q", "w_qk", "w_qkv"]),
    "other k": lambda m, i: m.other_matrix(i, ["w_k"]),
    "mask": lambda m, i: m.with_layer(i, unmasked),
    "window": lambda m, i: m.with_layer(i, unwindowed),
    "skipped": Model.skipped,
}


def shown(answers, path, workload, files):
    """What the judge says of each file: (passes, largest error over its limit, root mean square)."""
    done = subprocess.run([answers, "others", str(path), workload, "declared", str(KEY), str(PASSES)],
                          input="".join(f"{f}\n" for f in files), text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    rows = []
    for line in done.stdout.splitlines():
        m = re.search(r"(PASS|FAIL) z (\S+) of (\S+) rms (\S+) ", line)
        rows.append((m[1] == "PASS", float(m[2]) / float(m[3]), float(m[4])))
    return rows


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    options = dict(w[2:].partition("=")[::2] for w in sys.argv[1:] if w.startswith("--"))
    if not words:
        sys.exit(__doc__.split("\n\n")[1])
    workload, every = options.get("workload", "small"), int(options.get("every", 1))
    changes = {name: make for name, make in CHANGES.items() if name in options.get("changes", ",".join(CHANGES)).split(",")}
    passed = 0
    print("task and workload           change   refused      nearest: largest over limit, rms", flush=True)
    for family in FAMILIES:
        number = next(n for n, p in PROBLEMS.items() if p[0] == family)
        wanted = [w for w in words[1:] if w == family or (w.isdigit() and PROBLEMS[int(w)][0] == family)]
        if words[1:] and not wanted:
            continue
        number = int(wanted[0]) if wanted and wanted[0].isdigit() else number
        path = next((HOUSE / "tasks" / "kernelbench" / "level4").glob(f"{number:03d}_*.onnxtxt"))
        model = Model(path)
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for change, make in changes.items():
                if change == "window" and model.length(workload) <= WINDOW:
                    continue
                for i in range(0, len(model.layers), every):
                    text = make(model, i)
                    if text is not None:
                        files.append(((change, i), pathlib.Path(folder) / f"{change.replace(' ', '_')}_{i}.onnxtxt"))
                        files[-1][1].write_text(text)
            rows = dict(zip([f[0] for f in files], shown(words[0], path, workload, [f[1] for f in files]), strict=True))
        for change in changes:
            own = {i: row for (c, i), row in rows.items() if c == change}
            if not own:
                continue
            through = [i for i, row in own.items() if row[0]]
            nearest = min(own.values(), key=lambda row: (not row[0], row[1]))
            passed += len(through)
            print(f"{number:2} {family:15} {workload:8} {change:8} {len(own) - len(through):3} of {len(own):3}   "
                  f"{nearest[1]:10.3g} {nearest[2]:10.3g}", flush=True)
            if "show" in options and through:
                print(f"   passes in layers {through}")
    return passed > 0


if __name__ == "__main__":
    sys.exit(main())
