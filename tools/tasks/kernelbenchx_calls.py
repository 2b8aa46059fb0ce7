#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbenchx/CATEGORY/init_arguments.txt: how the published functions are called on the tasks' inputs.

  tools/tasks/kernelbenchx_calls.py KERNELBENCHX [--check]

KERNELBENCHX is a checkout of KernelBench-X; its references are read for the names of their parameters, and not run. What
is called is what compare_kernelbenchx.py runs as well. With --check nothing is written; what would change is printed.
"""
import ast
import pathlib
import sys

from make_kernelbenchx import SUITE
from task_files import write_files

SCRIPT = "tools/tasks/kernelbenchx_calls.py"
ROOT = pathlib.Path(__file__).resolve().parents[2] / "tasks" / "kernelbenchx"
HEADER = f"""# How the published functions of these tasks are called, in the task's inputs and dimensions; then the function and its
# parameters, and the shapes of the tensors that the suite times it with. Written by {SCRIPT}
"""
# Written out where the default form passes another number than the ladder: then there is a line for the published form, too.
OWN_NUMBERS = ("LinearAlgebra/solve_and_add_scaled_vector",)
SEPARATOR = "#" * 146  # between a reference and its tests
# Functions that quantize numbers themselves: numbers whose largest magnitude in a row is 127 of its scale, so that the rows'
# scales and integers come out again. What is added meets zeros, and adds nothing.
QUANTIZED = {
    "matmul_w8a8": "matmul_w8a8(torch.cat([input * input_scale, 127 * input_scale, 0 * input_scale], 1), "
                   "torch.cat([weight * weight_scale, 0 * weight_scale, 127 * weight_scale], 0))",
    "bmm_w8a8": "bmm_w8a8(torch.cat([input * input_scale, 127 * input_scale, 0 * input_scale], 2), "
                "torch.cat([mat2 * mat2_scale, 0 * mat2_scale, 127 * mat2_scale], 1))",
    "conv2d_w8a8": "conv2d_w8a8(torch.cat([input * input_scale, torch.ones_like(input[:, :1]) * 127 * input_scale, "
                   "torch.zeros_like(input[:, :1]) * input_scale], 1), torch.cat([weight * weight_scale[:, None], "
                   "torch.zeros_like(weight[:, :1]) * weight_scale[:, None], torch.ones_like(weight[:, :1]) * 127 * "
                   "weight_scale[:, None]], 1), None, 1, 1)",
    "attention_w8a8": "attention_w8a8(torch.cat([query * query_scale, 127 * query_scale, 0 * query_scale], 2) * "
                      "(D + 2) ** 0.5, torch.cat([key * key_scale, 0 * key_scale, 127 * key_scale], 2), "
                      "torch.cat([value * value_scale, 127 * value_scale, 0 * value_scale], 2))[:, :, :D].contiguous()"}
# Where the comparison runs PyTorch in place of a reference that is wrong, and what candidates are called with.
INSTEAD = {"LinearAlgebra/invert_matrix_lu": "invert_matrix_lu(A)", "LinearAlgebra/solve_symmetric_ldl": "solve_symmetric_ldl(A, b)",
           "Fusion/fused_cholesky_solve": "fused_cholesky_solve(A, b)", "Fusion/fused_lu_solve": "fused_lu_solve(A, b)",
           "Fusion/fused_tile_exp": "fused_tile_exp(input, (2,))",
           # Generators and memory of the device; trials as the default form has them.
           "Random/rand": "torch.stack([rand(N, generator=torch.Generator(device=seeds.device).manual_seed(int(s)), "
                          "dtype=torch.float32, device=seeds.device) for s in seeds])",
           "Math/bitwise_and_binomial": "(torch.stack([[torch.manual_seed(int(s)), bitwise_and_binomial(input, other, total_count, "
                                        "probs=probs)][1] for s in seeds]), total_count * ((input & other) != 0).int())",
           # Functions that write over what they get: inputs cannot be written to.
           "Optimizer/AdamW": "adamw_step(param.clone(), grad, exp_avg.clone(), exp_avg_sq.clone(), 3)",
           "Optimizer/Lion": "lion_step(param.clone(), grad, exp_avg.clone())",
           "Optimizer/RMSProp": "rmsprop_step(param.clone(), grad, square_avg.clone())",
           "Optimizer/SGD": "sgd_step(param.clone(), grad, momentum_buffer.clone())",
           "MatrixMultiply/matrix_vector_dot": "(lambda v: (lambda dot: (v, dot))(matrix_vector_dot(A, x, v, 1.0, 1.0)))(y.clone())"}


def called(expression, stem):
    """The function of the file that the expression calls."""
    names = [n.func.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    wanted = [n for n in names if n == stem or n == f"{stem.lower()}_step"]
    assert len(wanted) == 1, (stem, names)
    return wanted[0]


def parameters(checkout, task, function):
    text = (checkout / "data" / "kernelbenchx" / task.category / f"{task.stem}.py").read_text().split(SEPARATOR)[0]
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == function:
            if isinstance(node, ast.ClassDef):
                node = next(n for n in node.body if getattr(n, "name", "") == "__init__")
                node.args.args.pop(0)
            a = node.args
            return [p.arg for p in a.posonlyargs + a.args + [a.vararg] * bool(a.vararg) + a.kwonlyargs]
    if function == task.stem and f"import {function}" in text or f"{function} =" in text:
        return [i.name for i in task.inputs]
    raise SystemExit(f"{task.name}: no function {function}")


def shapes(task):
    tensors = task.ladder if task.ladder is not None else [i.dims for i in task.inputs if i.dims]
    return " ".join(f"[{', '.join(map(str, dims))}]" for dims in tensors)


def line(checkout, key, task, published=False):
    """Two of Quantization's functions quantize what cannot come out again: nothing says how they are called."""
    call = " ; "
    if task.category != "Quantization" or task.stem in QUANTIZED:
        default = task.mathematics if key in OWN_NUMBERS and not published else task.call
        expression = {**INSTEAD, **{f"Quantization/{stem}": text for stem, text in QUANTIZED.items()}}.get(key, default)
        expression = expression.replace("torch.tensor(z.numel())", "torch.tensor(z.numel(), device=z.device)")
        function = called(expression, task.stem)
        call = f"{expression} ; {function}({', '.join(parameters(checkout, task, function))})"
    assert call.count(";") == 1
    return f"{task.name}{' as published' * published}: ; ; {call} ; {shapes(task)}\n"


def main():
    rest = [a for a in sys.argv[1:] if a != "--check"]
    if len(rest) != 1 or not pathlib.Path(rest[0]).is_dir():
        sys.exit(__doc__)
    files = {}
    for key, task in sorted(SUITE.tasks.items()):
        path = ROOT / task.category / "init_arguments.txt"
        files[path] = files.get(path, HEADER) + line(pathlib.Path(rest[0]), key, task)
        if key in OWN_NUMBERS:
            files[path] += line(pathlib.Path(rest[0]), key, task, published=True)
    write_files(files, SCRIPT, "--check" in sys.argv)


if __name__ == "__main__":
    main()
