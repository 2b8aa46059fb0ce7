# SPDX-License-Identifier: Apache-2.0
"""A data set in flashinfer-bench's layout, and problems in SOL-ExecBench's and GPU MODE's, small enough for a CPU. They
have the shape of the public ones and nothing of their text."""
import json
import pathlib
import textwrap


def text(code):
    return textwrap.dedent(code).lstrip("\n")


VAR = {"type": "var"}


def const(value):
    return {"type": "const", "value": value}


def tensor(shape, dtype="float32"):
    return {"shape": shape, "dtype": dtype}


def rows(*axes, **inputs):
    """Workloads: axes, and inputs that are not random."""
    return [{"axes": a, "inputs": inputs, "uuid": f"0000-{k}"} for k, a in enumerate(axes)]


RMSNORM = {
    "name": "rmsnorm_d96", "op_type": "rmsnorm", "description": "Root mean square normalization of rows of 96.",
    "tags": ["status:test"], "axes": {"batch_size": VAR, "hidden_size": const(96)}, "constraints": ["batch_size > 0"],
    "inputs": {"hidden_states": tensor(["batch_size", "hidden_size"], "bfloat16"),
               "weight": tensor(["hidden_size"], "bfloat16")},
    "outputs": {"output": tensor(["batch_size", "hidden_size"], "bfloat16")},
    "reference": text("""
        import torch

        @torch.no_grad()
        def run(hidden_states, weight):
            rows, width = hidden_states.shape
            assert width == 96
            x = hidden_states.to(torch.float32)
            scale = torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-5)
            return (x * scale * weight.to(torch.float32)).to(hidden_states.dtype)
    """)}
# Two outputs by their names, a number, an axis of one input only, an input that is never used.
MIX = {
    "name": "mix_and_sum", "op_type": "mix", "axes": {"M": VAR, "N": VAR, "K": const(32)},
    "inputs": {"a": tensor(["M", "K"]), "b": tensor(["N", "K"]), "spare": tensor(["N"]), "alpha": tensor(None)},
    "outputs": {"mixed": tensor(["M", "N"]), "total": tensor(["M"])},
    "reference": text("""
        import torch

        def run(a, b, spare, alpha):
            c = a @ b.T * alpha
            return {"total": c.sum(-1), "mixed": torch.tanh(c)}
    """)}
# SOL-ExecBench's: an axis that follows from another, inputs of the definition's own making, tolerances.
TURN = {
    "name": "turn_pairs", "axes": {"rows": VAR, "width": const(16), "half": {"type": "expr", "expression": "width // 2"}},
    "custom_inputs_entrypoint": "make_inputs", "description": "Turns pairs of elements.",
    "inputs": {"x": tensor(["rows", "width"]), "angle": tensor(["rows", "half"])},
    "outputs": {"y": tensor(["rows", "width"])},
    "reference": text("""
        import torch

        def make_inputs(axes_and_scalars, device):
            r, w = axes_and_scalars["rows"], axes_and_scalars["width"]
            return {"x": torch.randn(r, w, device=device), "angle": torch.rand(r, axes_and_scalars["half"], device=device) * 3}

        @torch.no_grad()
        def run(x, angle):
            c, s = torch.cos(angle), torch.sin(angle)
            u, v = x.chunk(2, dim=-1)
            return torch.cat([u * c - v * s, v * c + u * s], dim=-1)
    """)}
STRETCH = {
    "name": "stretch", "op_type": "move", "axes": {"n": VAR, "twice": {"type": "expr", "expression": "2 * n + 1"}},
    "inputs": {"x": tensor(["n"]), "y": tensor(["twice"])}, "outputs": {"z": tensor(["twice"])},
    "reference": text("""
        import torch

        def run(x, y):
            return torch.cat([x, x, y[:1]]) * y
    """)}


def solution(name, definition, code, entry="main.py::run", language="python", in_place=False, **more):
    sources = code if isinstance(code, dict) else {entry.split("::")[0]: code}
    said = {} if in_place is None else {"destination_passing_style": in_place}
    return {"name": name, "definition": definition, "author": "nobody", **more,
            "spec": {"language": language, "target_hardware": ["LOCAL"], "entry_point": entry, "dependencies": [], **said},
            "sources": [{"path": p, "content": text(c)} for p, c in sources.items()]}


NORM = """
    import torch

    def run(hidden_states, weight):
        x = hidden_states.float()
        return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + {}) * weight.float()).to(hidden_states.dtype)
"""
# Each with the verdict that it gets and the status that is written for it.
SOLUTIONS = [
    (solution("returns", "rmsnorm_d96", NORM.format("1e-5")), "pass", "PASSED"),
    (solution("packed", "rmsnorm_d96", {
        "pack/main.py": """
            from .numbers import EPSILON
            from pack.deep.rows import scale

            def into(hidden_states, weight, output):
                x = hidden_states.float()
                output.copy_(x * scale(x, EPSILON) * weight.float())
        """, "pack/numbers.py": "EPSILON = 1e-5\n", "pack/deep/rows.py": """
            import torch

            def scale(x, epsilon):
                return torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
        """}, "pack/main.py::into", in_place=True), "pass", "PASSED"),
    (solution("shifted", "rmsnorm_d96", NORM.format("0.05")), "wrong_value", "INCORRECT_NUMERICAL"),
    (solution("broken", "rmsnorm_d96", "def run(x, w):\n    return nothing\n"), "raised", "RUNTIME_ERROR"),
    (solution("unread", "rmsnorm_d96", "def run(x, w):\n    return x[\n"), "refused", ""),
    (solution("narrow", "rmsnorm_d96", "def run(x, w):\n    return x[:, :5]\n"), "raised", "INCORRECT_SHAPE"),
    (solution("wide", "rmsnorm_d96", "def run(x, w):\n    return x.float()\n"), "raised", "INCORRECT_DTYPE"),
    (solution("named", "mix_and_sum", """
        def run(a, b, spare, alpha):
            assert spare.shape == b.shape[:1]
            c = (a @ b.T).mul(alpha)
            return {"mixed": c.tanh(), "total": c.sum(1)}
    """), "pass", "PASSED"),
    (solution("swapped", "mix_and_sum", """
        def run(a, b, spare, alpha, mixed, total):
            c = a @ b.T * (alpha + 1e-3)
            mixed.copy_(c.tanh())
            total.copy_(c.sum(1))
    """, in_place=True), "wrong_value", "INCORRECT_NUMERICAL"),
    # Older ones do not say who makes the outputs.
    (solution("older_returns", "rmsnorm_d96", NORM.format("1e-5"), in_place=None), "pass", "PASSED"),
    (solution("older_fills", "rmsnorm_d96", """
        def run(hidden_states, weight, output):
            x = hidden_states.float()
            output.copy_(x * x.pow(2).mean(-1, keepdim=True).add(1e-5).rsqrt() * weight.float())
    """, in_place=None), "pass", "PASSED"),
]


def write(folder):
    """The data set under the folder."""
    folder = pathlib.Path(folder)

    def put(path, raw, lines=False):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(json.dumps(r) + "\n" for r in raw) if lines else json.dumps(raw, indent=2))
    norm = rows({"batch_size": 5}, {"batch_size": 64}, {"batch_size": 33})
    put("definitions/rmsnorm/rmsnorm_d96.json", RMSNORM)
    put("workloads/rmsnorm/rmsnorm_d96.jsonl", [
        {"definition": "rmsnorm_d96", "workload": {**w, "inputs": {"hidden_states": {"type": "random"},
                                                                   "weight": {"type": "random"}}},
         "solution": None, "evaluation": None} for w in norm], lines=True)
    put("definitions/mix/mix_and_sum.json", MIX)
    put("workloads/mix/mix_and_sum.jsonl", [
        {"definition": "mix_and_sum", "workload": {"axes": a, "uuid": f"mix-{k}", "inputs": {
            "a": {"type": "random"}, "alpha": {"type": "scalar", "value": v}}}, "solution": None, "evaluation": None}
        for k, (a, v) in enumerate([({"M": 3, "N": 7}, 0.125), ({"M": 40, "N": 24}, 0.125), ({"M": 9, "N": 9}, 2.0)])],
        lines=True)
    put("turn/definition.json", TURN)
    put("turn/workload.jsonl", [{**w, "tolerance": {"max_atol": 1e-3, "max_rtol": 2e-3}} for w in rows(
        {"rows": 4}, {"rows": 50}, x={"type": "custom"}, angle={"type": "custom"})], lines=True)
    put("stretch.json", STRETCH)
    put("stretch.jsonl", rows({"n": 5}, {"n": 30}, {"n": 0}), lines=True)
    for raw, *_ in SOLUTIONS:
        put(f"solutions/{raw['name']}.json", raw)
