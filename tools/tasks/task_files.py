# SPDX-License-Identifier: Apache-2.0
"""What the scripts that write a suite's task files share: one task as text, its limits, the files, the page's tables."""
import math
import pathlib
import sys

HOUSE = pathlib.Path(__file__).resolve().parents[2]
PAGE = HOUSE / "docs" / "evidence" / "kernelbench.md"
SMALL_LIMIT = 1 << 18  # elements in any tensor of the workload `small`
RAGGED_LIMIT = 1 << 13  # ... of the ragged ones
LISTED = 16  # more inputs than these have a line each
LOCAL = "local"  # the domain of a task's own functions
UNIT = "uniform(0, 1)"  # what KernelBench draws for almost everything
SIGNED = "uniform(-1, 1)"


def typed(dtype, dims):
    """A tensor's type; a scalar's has no brackets."""
    return f"{dtype}[{', '.join(str(d) for d in dims)}]" if dims else dtype


class Input:
    """One graph input: type, distribution in the default form, and the published one where that differs."""

    def __init__(self, name, dims, dist, published=None, dtype="float"):
        self.name, self.dims, self.dist, self.published, self.dtype = name, dims, dist, published, dtype

    def declare(self):
        return f"{typed(self.dtype, self.dims)} {self.name}"


def ints(values):
    return "[" + ", ".join(str(v) for v in values) + "]"


def conv_attributes(kernel, stride, pad, output_padding, dilation=None, group=1):
    """Of Conv and ConvTranspose, in the order of their names; defaults are left out."""
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    rows = [("dilations", dilation and ints(dilation), not dilation or dilation == ones),
            ("group", group, group == 1),
            ("kernel_shape", ints(kernel), False),
            ("output_padding", ints(output_padding), output_padding == zeros),
            ("pads", ints(pad + pad), pad == zeros),
            ("strides", ints(stride), stride == ones)]
    return [f"{name} = {value}" for name, value, usual in rows if not usual]


def workloads(symbols, full, small, *ragged):
    rows = {"small": small, "full": full}
    rows.update({f"ragged{i}": r for i, r in enumerate(ragged)})
    for row in rows.values():
        assert len(row) == len(symbols.split())
    return {name: dict(zip(symbols.split(), row)) for name, row in rows.items()}


class Function:
    """A part of a graph that is written once and called by name, `local.NAME(...)`: a network's repeated block.
    attributes: what a call may set, "name" or, with a default, "name: int = 1"; the body says `attr: int = @name`.
    domains: further ones that its operators are of."""

    def __init__(self, name, inputs, outputs, body, attributes=(), domains=()):
        self.name, self.inputs, self.outputs, self.body = name, list(inputs), list(outputs), list(body)
        self.attributes, self.domains = list(attributes), list(domains)

    def lines(self, opset):
        attributes = f" <{', '.join(self.attributes)}>" if self.attributes else ""
        more = "".join(f'"{domain}" : 1, ' for domain in self.domains)
        return (["", "<", f'  domain: "{LOCAL}",', f'  opset_import: ["" : {opset}, {more}"{LOCAL}" : 1]', ">",
                 f"{self.name}{attributes} ({', '.join(self.inputs)}) => ({', '.join(self.outputs)})", "{"] +
                ["  " + line for line in self.body] + ["}"])


def changes_of(inputs):
    """What the default form draws otherwise, for the page; many inputs of a network that change alike are one line."""
    changed = [i for i in inputs if i.published]
    rows = []
    for i in changed:
        alike = [j for j in changed if (j.published, j.dist) == (i.published, i.dist)]
        others = f" and {len(alike) - 1} more" if len(alike) > 4 else ""
        if not others or i is alike[0]:
            rows.append(f"`{i.name}`{others}: {i.published} → {i.dist}")
    return rows


def task_text(name, props, inputs, outputs, body, constants=(), opset=23, functions=(), domains=()):
    """A task's file. props: (key, value); outputs: (name, type, dims); domains: further ones that its operators are of."""
    imports = f'"" : {opset}' + "".join(f', "{domain}" : 1' for domain in domains)
    imports += f', "{LOCAL}" : 1' if functions else ""
    lines = ["<", "  ir_version: 10,", f"  opset_import: [{imports}],", "  metadata_props: ["]
    lines += [f'    "{k}" : "{v}"' + ("," if n + 1 < len(props) else "") for n, (k, v) in enumerate(props)]
    lines += ["  ]", ">"]
    declared = [i.declare() for i in inputs]
    results = ", ".join(f"{typed(dtype, dims)} {output}" for output, dtype, dims in outputs)
    if len(inputs) > LISTED:
        lines += [f"{name} ("] + ["  " + d + "," for d in declared[:-1]] + [f"  {declared[-1]}"]
        lines.append(f") => ({results})")
    else:
        lines.append(f"{name} ({', '.join(declared)}) => ({results})")
    if constants:
        lines.append("<" + ", ".join(constants) + ">")
    lines += ["{"] + ["  " + line for line in body] + ["}"]
    for function in functions:
        lines += function.lines(opset)
    return "\n".join(lines) + "\n"


def check_limits(task, workloads, tensors, ragged_limit=RAGGED_LIMIT):
    """Holds the tensors (lists of dims) of the small and ragged workloads against their limits."""
    for workload, bindings in workloads.items():
        limit = SMALL_LIMIT if workload == "small" else ragged_limit if workload.startswith("ragged") else None
        for tensor in tensors:
            fixed = all(isinstance(d, int) for d in tensor)  # the same in every workload
            if limit and not fixed and all(isinstance(d, int) or d in bindings for d in tensor):
                count = math.prod(d if isinstance(d, int) else bindings[d] for d in tensor)
                assert count <= limit, (task, workload, tensor, count)


def write_files(files, script, check):
    """Writes files (path -> text); with `check` nothing: ends the program if one differs."""
    stale = []
    for path, text in files.items():
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"differ from what {script} writes (run it): " + ", ".join(sorted(stale)))


class Level:
    """One level of KernelBench: its tasks, numbered from 1 to `count`, and the rows of the page's tables that they
    give. ragged_limit: elements of any tensor of a ragged workload."""

    def __init__(self, level, contraction_parts=None, weight_parts=None, count=100, ragged_limit=RAGGED_LIMIT,
                 pytorch=None, shapes=None):
        self.level, self.script = level, f"tools/tasks/make_level{level}.py"
        self.count, self.ragged_limit = count, ragged_limit
        self.root = HOUSE / "tasks" / "kernelbench" / f"level{level}"
        self.contraction_parts, self.weight_parts = contraction_parts or {}, weight_parts or {}
        self.pytorch = pytorch or {}  # number -> what a PyTorch programmer returns
        self.shapes = shapes or {}  # number -> assay.shapes, where trying does not find out what may change
        self.tasks = {}
        self.repairs, self.allowed = {}, {}  # rows of the page's tables

    def task(self, number, name, title, inputs, output, body, workloads, constants=(), repair=None, probes=None,
             allow=None, opset=23, dtype="float", published_constants=None, functions=()):
        """output: list of dims of the one output "y"; body: lines; workloads: name -> {symbol: value};
        published_constants: name -> (published, default) text, of constants that the default form changes;
        functions: the parts that the body, or each other, calls."""
        assert number not in self.tasks
        changed = published_constants or {}
        assert (repair is not None) == (any(i.published for i in inputs) or bool(changed)), number
        props = [("assay.task", f"kernelbench/{self.level}/{number}"),
                 ("assay.title", title),
                 ("assay.origin", f"KernelBench v0.2 level {self.level} problem {number}"),
                 ("assay.contract", "fp32")]
        if number in self.contraction_parts:
            props.append(("assay.contraction_part", self.contraction_parts[number]))
        if number in self.weight_parts:
            props.append(("assay.weight_part", self.weight_parts[number]))
        if number in self.pytorch:
            props.append(("assay.pytorch", self.pytorch[number]))
        props.append(("assay.allclose", "1e-4, 1e-4"))
        for workload, bindings in workloads.items():
            props.append((f"assay.workload.{workload}", ", ".join(f"{k}={v}" for k, v in bindings.items())))
        if number in self.shapes:
            props.append(("assay.shapes", self.shapes[number]))
        props += [(f"assay.input.{i.name}", i.dist) for i in inputs]
        props += [(f"assay.published.input.{i.name}", i.published) for i in inputs if i.published]
        props += [(f"assay.published.constant.{k}", v[0]) for k, v in changed.items()]
        if repair:
            props.append(("assay.repair", repair))
        if probes:
            props.append(("assay.probes", probes))
        if allow:
            props.append(("assay.lint.allow", allow))
        if repair:
            changes = changes_of(inputs)
            changes += [f"`{k}`: {v[0]} → {v[1]}" for k, v in changed.items()]
            self.repairs[number] = f"| {number} | {name} | {'<br>'.join(changes)} | {repair} |"
        if allow:
            self.allowed[number] = f"| {number} | {name} | {allow} |"
        text = task_text(name, props, inputs, [("y", dtype, output)], body, constants, opset, functions)
        self.tasks[number] = (f"{number:03d}_{name}.onnxtxt", text)
        check_limits(number, workloads, [i.dims for i in inputs] + [output], self.ragged_limit)

    def page(self):
        """The documentation with this level's tables brought up to date."""
        text = PAGE.read_text()
        for marker, head, rows in (
                ("repairs", "| problem | task | published → default inputs | why |\n|---|---|---|---|", self.repairs),
                ("allowed", "| problem | task | finding and reason |\n|---|---|---|", self.allowed)):
            begin, end = f"<!-- {marker}: written by {self.script} -->\n", f"<!-- end of {marker} -->"
            before, rest = text.split(begin)
            after = rest.split(end, 1)[1]
            text = before + begin + "\n".join([head] + [rows[n] for n in sorted(rows)]) + "\n" + end + after
        return text

    def main(self):
        check = sys.argv[1:] == ["--check"]
        if sys.argv[1:] and not check:
            sys.exit(f"usage: {self.script} [--check]")
        missing = set(range(1, self.count + 1)) - set(self.tasks)
        assert not missing, sorted(missing)
        files = {self.root / name: text for name, text in self.tasks.values()}
        write_files({**files, PAGE: self.page()}, self.script, check)
