#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the graphs of KernelBench's level 2, operator by operator, with a trace of the published modules.

    check_operators.py TASK_FOLDER OPERATORS.csv

The trace was taken from the published suite, run in its own framework: which operators ran, in which order, with which
attributes and constants, on tensors of which shapes. Here it is held against the nodes of the task files, with shapes
inferred by ONNX's own package at the workload `full` and the constants of the published form. Nodes that only bring
tensors into shape are passed over on both sides.
"""
import ast
import csv
import pathlib
import re
import sys

from check_tasks import WORKLOAD, Wrong, bound_copy, parse_bindings, require

import onnx
import onnx.parser
import onnx.shape_inference
from onnx import numpy_helper

CONSTANT = "assay.published.constant."
SHAPING = {"Shape", "ConstantOfShape", "Unsqueeze", "Squeeze", "Reshape", "Cast", "Transpose"}
PASSED_OVER = {"clone", "detach", "unsqueeze", "squeeze", "view"}
FUNCTIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "mish": "Mish", "softplus": "Softplus",
             "hardswish": "HardSwish"}
ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "multiply": "Mul", "div": "Div", "min": "Min"}
REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "min": "ReduceMin", "max": "ReduceMax",
              "logsumexp": "ReduceLogSumExp"}


class Tensor:
    def __init__(self, dims):
        self.dims = dims


def parse_call(text):
    """'add(T[4,1], 0.5, alpha=1)' as (name, positional arguments, named ones); a tensor is its shape."""
    text = re.sub(r"T\[([\d,]*)\]", lambda m: f"T(({m[1]}{',' if m[1] else ''}))", text)
    text = re.sub(r"(\d+)->(\d+)", r"\1, \2", text).replace("device=cpu", "device='cpu'")
    call = ast.parse(text, mode="eval").body
    value = lambda n: Tensor(ast.literal_eval(n.args[0])) if isinstance(n, ast.Call) else ast.literal_eval(n)
    return call.func.id, [value(a) for a in call.args], {k.arg: value(k.value) for k in call.keywords}


def without_ones(dims):
    dims = list(dims)
    while dims and dims[0] == 1:
        dims.pop(0)
    return tuple(dims)


class Graph:
    """The nodes still to be matched, the shapes of all values, and the constants."""

    def __init__(self, path):
        model = onnx.parser.parse_model(path.read_text())
        props = {p.key: p.value for p in model.metadata_props}
        bound = bound_copy(model, parse_bindings(props[WORKLOAD + "full"]))
        self.constants = {}
        for tensor in bound.graph.initializer:
            array = numpy_helper.to_array(tensor).copy()
            if CONSTANT + tensor.name in props:
                array.flat[:] = [float(v) for v in props[CONSTANT + tensor.name].split(",")]
                tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
            self.constants[tensor.name] = array
        inferred = onnx.shape_inference.infer_shapes(bound, strict_mode=True, data_prop=True).graph
        self.shapes = {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim)
                       for v in [*inferred.input, *inferred.value_info, *inferred.output]}
        self.shapes.update({name: a.shape for name, a in self.constants.items()})
        self.nodes = [n for n in model.graph.node if n.op_type not in SHAPING]
        self.at = 0

    def next(self, operator):
        require(self.at < len(self.nodes), f"no node is left for {operator}")
        node = self.nodes[self.at]
        self.at += 1
        require(node.op_type == operator, f"node {self.at} is {node.op_type}, not {operator}")
        return node

    def attribute(self, node, name, fallback=None):
        for a in node.attribute:
            if a.name == name:
                value = onnx.helper.get_attribute_value(a)
                return value.decode() if isinstance(value, bytes) else value
        return fallback

    def axes(self, node):
        return tuple(int(a) for a in self.constants[node.input[1]])

    def number(self, name):
        require(name in self.constants and self.constants[name].ndim == 0, f"{name} is not a number")
        return float(self.constants[name])


def same(what, found, wanted):
    require(found == wanted, f"{what} is {found}, not {wanted}")


def close(what, found, wanted):
    require(abs(found - wanted) <= 1e-6 * abs(wanted), f"{what} is {found}, not {wanted}")


def each(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def check_conv(g, name, args, named):
    node = g.next("ConvTranspose" if "Transpose" in name else "Conv")
    rank = int(name[-2])
    weight = g.shapes[node.input[1]]
    same("weights", weight, (tuple(args) if "Transpose" in name else tuple(args[::-1])) + tuple(named["kernel_size"]))
    same("bias", len(node.input) == 3, named.get("bias", True))
    same("kernel_shape", tuple(g.attribute(node, "kernel_shape")), tuple(named["kernel_size"]))
    for mine, theirs, neutral, times in (("strides", "stride", 1, 1), ("pads", "padding", 0, 2),
                                         ("output_padding", "output_padding", 0, 1)):
        same(mine, tuple(g.attribute(node, mine, [neutral] * rank * times)),
             each(named.get(theirs, neutral), rank) * times)
    for mine in ("dilations", "group", "auto_pad"):
        same(mine, g.attribute(node, mine), None)


def check_linear(g, named):
    node = g.next("Gemm")
    same("transB", g.attribute(node, "transB"), 1)
    same("attributes", len(node.attribute), 1)
    same("weights", g.shapes[node.input[1]], (named["out_features"], named["in_features"]))
    same("bias", len(node.input) == 3, named["bias"])


def check_arithmetic(g, name, args, bound):
    """A number must be the constant; of two tensors either may come first where the order does not matter."""
    node = g.next(ARITHMETIC[name])
    wanted = [without_ones(a.dims) for a in args if isinstance(a, Tensor)]
    numbers = [a for a in args if not isinstance(a, Tensor)] + ([bound] if bound is not None else [])
    if bound is not None:
        wanted.remove(())
    tensors = [n for n in node.input if n not in g.constants]
    found = [without_ones(g.shapes[n]) for n in tensors]
    if name not in ("sub", "div"):
        found, wanted = sorted(found), sorted(wanted)
    same("shapes", found, wanted)
    mine = [g.number(n) for n in node.input if n in g.constants]
    same("how many numbers", len(mine), len(numbers))
    for a, b in zip(mine, numbers):
        close("number", a, b)


def check_reduction(g, name, args, named):
    node = g.next(REDUCTIONS[name])
    same("shape", g.shapes[node.input[0]], args[0].dims)
    dims = named["dim"]
    same("axes", g.axes(node), (dims,) if isinstance(dims, int) else tuple(dims))
    same("keepdims", bool(g.attribute(node, "keepdims", 1)), named.get("keepdim", False))


def check_clamp(g, args, named):
    node = g.next("Clip")
    low, high = named.get("min", named.get("min_val")), named.get("max", named.get("max_val"))
    numbers = [a for a in args if not isinstance(a, Tensor)]
    low, high = (numbers + [None, None])[:2] if numbers else (low, high)
    limits = [g.number(n) if n else None for n in node.input[1:]] + [None, None]
    same("limits", limits[:2], [None if v is None else float(v) for v in (low, high)])


def check_pool(g, name, named):
    node = g.next("MaxPool" if name.startswith("Max") else "AveragePool")
    rank = int(name[-2])
    same("kernel_shape", tuple(g.attribute(node, "kernel_shape")), each(named["kernel_size"], rank))
    same("strides", tuple(g.attribute(node, "strides")), each(named["stride"], rank))
    same("padding", each(named["padding"], rank), (0,) * rank)
    same("other attributes", len(node.attribute), 2)


def check_norm(g, name, args, named):
    if name.startswith("BatchNorm"):
        node = g.next("BatchNormalization")
        same("training_mode", g.attribute(node, "training_mode"), 1)
        same("channels", g.shapes[node.input[1]], (args[0],))
        close("momentum", g.attribute(node, "momentum"), 1 - named["momentum"])
    elif name == "GroupNorm":
        node = g.next("GroupNormalization")
        same("groups", g.attribute(node, "num_groups"), args[0])
        same("channels", g.shapes[node.input[1]], (args[1],))
    elif name == "LayerNorm":
        node = g.next("LayerNormalization")
        same("axis", g.attribute(node, "axis"), -1)
        same("extent", g.shapes[node.input[1]], tuple(args[0]))
    else:
        node = g.next("InstanceNormalization")
        same("affine", named["affine"], False)
    close("epsilon", g.attribute(node, "epsilon"), named["eps"])


def check_call(g, name, args, named, bound):
    lower = name.lower()
    if name.startswith("Conv"):
        check_conv(g, name, args, named)
    elif name == "Linear":
        check_linear(g, named)
    elif name == "matmul":
        node = g.next("MatMul")
        same("shapes", [g.shapes[n] for n in node.input], [a.dims for a in args])
    elif lower in FUNCTIONS:
        g.next(FUNCTIONS[lower])
    elif lower == "gelu":
        same("approximate", g.attribute(g.next("Gelu"), "approximate"), named.get("approximate", "none"))
    elif lower in ("leaky_relu", "leakyrelu"):
        close("alpha", g.attribute(g.next("LeakyRelu"), "alpha"), named["negative_slope"])
    elif lower in ("clamp", "hardtanh"):
        check_clamp(g, args, named)
    elif lower == "softmax":
        same("axis", g.attribute(g.next("Softmax"), "axis"), named["dim"])
    elif name in ARITHMETIC and len(args) == 2:
        check_arithmetic(g, name, args, bound)
    elif name in REDUCTIONS:
        check_reduction(g, name, args, named)
    elif re.fullmatch(r"(Max|Avg)Pool\dd", name):
        check_pool(g, name, named)
    elif name.startswith("AdaptiveAvgPool") or name.startswith("adaptive_avg_pool"):
        g.next("GlobalAveragePool")
    elif "Norm" in name:
        check_norm(g, name, args, named)
    elif name == "Dropout":  # the elements kept, and their scale
        g.next("Mul")
        factor = g.next("Mul")
        close("scale", g.number(factor.input[1]), 1 / (1 - named["p"]))
    else:
        raise Wrong(f"{name} is not known here")


def check(path, operators):
    g, bound = Graph(path), None
    for text in operators.split("; "):
        name, args, named = parse_call(text)
        if name == "tensor":  # a number that the next operator takes
            bound = float(args[0])
        elif name not in PASSED_OVER:
            try:
                check_call(g, name, args, named, bound if name == "min" else None)
            except Wrong as error:
                raise Wrong(f"{text}: {error}") from None
            bound = None if name == "min" else bound
    require(g.at == len(g.nodes), f"{len(g.nodes) - g.at} nodes more than the trace has")
    return g.at


def main():
    folder, trace = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with open(trace, newline="") as file:
        rows = list(csv.DictReader(file))
    failures = nodes = 0
    for row in rows:
        try:
            path, = folder.glob(f"{int(row['id']):03d}_*.onnxtxt")
            nodes += check(path, row["operators"])
        except Exception as error:  # onnx raises its own kinds; each is a failure of this file
            print(f"{row['id']}: {type(error).__name__}: {error}")
            failures += 1
    print(f"{len(rows)} tasks, {nodes} operators, {failures} failures")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
