# SPDX-License-Identifier: Apache-2.0
"""Problems in GPU MODE's form, with submissions: the shape of the public ones and nothing of their text."""
import pathlib

from data_set import text

UTILS = text("""
    import torch


    class Quiet:
        def __enter__(self):
            torch.backends.cudnn.allow_tf32 = False

        def __exit__(self, *_):
            torch.backends.cudnn.allow_tf32 = True


    def make_match_reference(reference, rtol=1e-05, atol=1e-08):
        return lambda data, output: (bool(torch.allclose(output, reference(data), rtol, atol)), "")
""")
TASK = text("""
    from typing import TypeVar
    import torch

    input_t = TypeVar("input_t", bound=tuple[torch.Tensor, ...])
    output_t = TypeVar("output_t", bound=torch.Tensor)
""")


def yml(description, tests, benchmarks, extra=""):
    rows = "".join(f"  - {case}\n" for case in tests)
    more = "".join(f"  - {case}\n" for case in benchmarks)
    return text("""
        files:
          - {"name": "submission.py", "source": "@SUBMISSION@"}
          - {"name": "task.py", "source": "task.py"}
          - {"name": "utils.py", "source": "../utils.py"}
          - {"name": "reference.py", "source": "reference.py"}
        lang: "py"
        config:
          main: "eval.py"
    """) + f"description: |\n  {description}\ntests:\n{rows}benchmarks:\n{more}ranking_by: geom\n{extra}"


# A buffer for the answer, whose extents follow from the others'; a dimension that never varies; tensors on a GPU.
WINDOW = {"reference.py": text("""
    import torch
    from task import input_t, output_t
    from utils import Quiet, make_match_reference


    def ref_kernel(data: input_t) -> output_t:
        with Quiet():
            signal, taps, out = data
            out[...] = torch.nn.functional.conv1d(signal, taps)[:, 0]
            return out


    def generate_input(length: int, width: int, rows: int, seed: int) -> input_t:
        gen = torch.Generator(device="cuda")
        gen.manual_seed(seed)
        signal = torch.randn(rows, 3, length, device="cuda", generator=gen).contiguous()
        taps = torch.empty(1, 3, width, device="cuda")
        taps.uniform_(-1, 1, generator=gen)
        return signal, taps, torch.empty(rows, length - width + 1, device="cuda")


    check_implementation = make_match_reference(ref_kernel, rtol=2e-3, atol=1e-3)
"""), "task.yml": yml("Slides a window over three channels.", [
    '{"length": 20, "width": 3, "rows": 2, "seed": 1}', '{"length": 31, "width": 4, "rows": 5, "seed": 2}'], [
    '{"length": 64, "width": 8, "rows": 16, "seed": 3}', '{"length": 40, "width": 5, "rows": 8, "seed": 4}'])}
# Two buffers for answers, of which one says how many groups there are.
GROUPS = {"reference.py": text("""
    import torch


    def ref_kernel(data):
        x, parts, largest = data
        grouped = x.reshape(x.shape[0], largest.shape[1], -1)
        most = grouped.abs().amax(-1)
        parts[...] = (grouped / most.unsqueeze(-1)).reshape(x.shape)
        largest[...] = most
        return parts, largest


    def generate_input(rows, cols, group, seed):
        gen = torch.Generator(device="cuda")
        gen.manual_seed(seed)
        x = torch.randn(rows, cols, device="cuda", generator=gen)
        return x, torch.empty(rows, cols, device="cuda"), torch.empty(rows, cols // group, device="cuda")


    def check_implementation(data, output):
        return True, ""
"""), "task.yml": yml("Parts of the largest of each group.", ['{"rows": 3, "cols": 24, "group": 4, "seed": 1}'], [
    '{"rows": 16, "cols": 64, "group": 16, "seed": 1}', '{"rows": 9, "cols": 40, "group": 8, "seed": 1}'])}
# Zeros into a part of which numbers are put; and exponentials that single precision cannot hold.
STEEP = {"reference.py": text("""
    import torch


    def ref_kernel(data):
        x, weight = data
        e = torch.exp(x)
        return e / e.sum(-1, keepdim=True) * weight


    def generate_input(rows, cols, seed):
        weight = torch.zeros(rows, cols, device="cuda")
        weight[:, 1:] = torch.rand(rows, cols - 1, device="cuda")
        return torch.randn(rows, cols, device="cuda") * 100, weight


    def check_implementation(data, output):
        return True, ""
"""), "task.yml": yml("A softmax as it should not be written.", ['{"rows": 5, "cols": 9, "seed": 1}'], [
    '{"rows": 16, "cols": 32, "seed": 1}'])}
# Numbers drawn on the host, a sum that is rounded at its end, and bins that are enough for any byte.
TOTALS = {"reference.py": text("""
    import torch


    def ref_kernel(data):
        numbers, bytes_ = data
        return numbers.to(torch.float64).sum().to(torch.float32), torch.bincount(bytes_, minlength=256)


    def generate_input(size, seed):
        gen = torch.Generator(device="cuda")
        gen.manual_seed(seed)
        offset = (torch.rand(1, device="cuda", generator=gen) * 20 - 10).item()
        numbers = torch.randn(size, device="cuda", generator=gen) * 3 + offset
        return numbers, torch.randint(0, 256, (size,), device="cuda", dtype=torch.uint8, generator=gen)


    def check_implementation(data, output):
        return True, ""
"""), "task.yml": yml("A sum and a histogram.", ['{"size": 77, "seed": 1}'], ['{"size": 1024, "seed": 1}'])}
# As many numbers as a draw says.
DRAWN_EXTENT = {**TOTALS, "reference.py": TOTALS["reference.py"].replace(
    "torch.randn(size,", "torch.randn(size + 2 * int(40 * torch.rand(1).item()),")}
# A dictionary with a number, half precision, values that are drawn in a way of their own.
SCALED = {"reference.py": text("""
    import torch


    def ref_kernel(data):
        return (torch.softmax(data["scores"].float() * data["scale"], dim=-1)).to(torch.float16)


    def generate_input(rows, cols, seed):
        torch.manual_seed(seed)
        steps = torch.arange(rows, device="cuda").float()[:, None]
        return {"scores": (torch.randn(rows, cols, device="cuda") + steps / rows).half(), "scale": 0.5}


    def check_implementation(data, output):
        return True, ""
"""), "task.yml": yml("A softmax.", ['{"rows": 4, "cols": 10, "seed": 1}'], ['{"rows": 32, "cols": 48, "seed": 1}'])}
SEVERAL = {"reference.py": WINDOW["reference.py"], "task.yml": WINDOW["task.yml"] + "multi_gpu: true\n"}
LOOP = {"reference.py": text("""
    import torch


    def ref_kernel(data):
        total = data * 0
        for k in range(int(data[0, 0].abs() * 3)):
            total = total + data
        return total


    def generate_input(rows, seed):
        return torch.randn(rows, rows, device="cuda")


    check_implementation = None
"""), "task.yml": yml("A loop.", ['{"rows": 4, "seed": 1}'], ['{"rows": 9, "seed": 1}'])}
# A module that the reference makes, on a GPU, and whose weights it replaces; and one that forgets a weight.
LAYER = {"reference.py": text("""
    import torch


    def ref_kernel(data):
        x, weight, bias = data
        layer = torch.nn.Linear(x.shape[1], 6).to(x.device)
        layer.weight = torch.nn.Parameter(weight)
        layer.bias = torch.nn.Parameter(bias)
        return layer(x)


    def generate_input(rows, seed):
        return torch.randn(rows, 5, device="cuda"), torch.randn(6, 5, device="cuda"), torch.randn(6, device="cuda")


    check_implementation = None
"""), "task.yml": yml("A layer.", ['{"rows": 4, "seed": 1}'], ['{"rows": 9, "seed": 1}'])}
FORGOTTEN = {**LAYER, "reference.py": "\n".join(line for line in LAYER["reference.py"].splitlines() if "layer.bias" not in line)
             + "\n"}
# Halves go through weights that lie the other way round; which rows go where leaves PyTorch as numbers.
TURNED = {"reference.py": text("""
    from utils import make_match_reference
    import torch


    def ref_kernel(data):
        x, weight = data
        return torch.nn.functional.linear(x, weight.t())


    def generate_input(rows, seed):
        gen = torch.Generator(device="cuda").manual_seed(seed)
        return (torch.randn(rows, 24, device="cuda", generator=gen, dtype=torch.float16),
                torch.randn(24, 8, device="cuda", generator=gen, dtype=torch.float16))


    check_implementation = make_match_reference(ref_kernel, rtol=1e-2, atol=1e-2)
"""), "task.yml": yml("Halves.", ['{"rows": 4, "seed": 1}', '{"rows": 7, "seed": 1}'], ['{"rows": 9, "seed": 1}'])}
EXPERTS = {**TURNED, "reference.py": TURNED["reference.py"].replace("    return torch.nn.functional.linear(x, weight.t())", """\
    parts = []
    for expert, end in enumerate(x.argmax(1).bincount(minlength=8).cpu().numpy().cumsum()):
        parts.append(x[:end] @ weight)
    return torch.stack([p.sum(0) for p in parts])""")}
PROBLEMS = {"window": WINDOW, "scaled": SCALED, "several": SEVERAL, "loop": LOOP, "layer": LAYER, "forgotten": FORGOTTEN,
            "groups": GROUPS, "steep": STEEP, "totals": TOTALS, "drawn_extent": DRAWN_EXTENT, "turned": TURNED,
            "experts": EXPERTS}
SUBMISSIONS = {
    ("window", "unfolded"): (text("""
        from __future__ import annotations
        import torch
        from task import input_t, output_t
        from utils import Quiet


        def custom_kernel(data: input_t) -> output_t:
            signal, taps, out = data
            with Quiet():
                windows = signal.unfold(2, taps.shape[2], 1)
                out.copy_((windows * taps[0][None, :, None, :]).sum((1, 3)))
            return out
    """), "pass"),
    ("groups", "written"): (text("""
        def custom_kernel(data):
            x, parts, largest = data
            grouped = x.reshape(x.shape[0], largest.shape[1], -1)
            largest.copy_(grouped.abs().amax(-1))
            parts.copy_((grouped / largest.unsqueeze(-1)).reshape(x.shape))
            return parts, largest
    """), "pass"),
    ("window", "short"): ("def custom_kernel(data):\n    return data[2].fill_(0.25)\n", "wrong_value"),
    ("scaled", "stable"): (text("""
        def custom_kernel(data):
            x = data["scores"].float() * data["scale"]
            e = (x - x.amax(-1, keepdim=True)).exp()
            return (e / e.sum(-1, keepdim=True)).half()
    """), "pass"),
}


def write(folder):
    folder = pathlib.Path(folder)
    for name, files in PROBLEMS.items():
        (folder / name).mkdir(parents=True)
        for file, content in {"task.py": TASK, **files}.items():
            (folder / name / file).write_text(content)
    (folder / "utils.py").write_text(UTILS)
    for (problem, name), (content, _) in SUBMISSIONS.items():
        (folder / problem / f"{name}.py").write_text(content)
