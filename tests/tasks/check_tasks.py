#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every task of a level with ONNX's own Python package and compares it with the census of KernelBench v0.2.

    check_tasks.py LEVEL TASK_FOLDER CENSUS.csv

The census (facts measured on the published suite: shapes and dtypes of inputs and outputs, number of parameters) was
made without Assay, and the parser, checker and shape inference used here are not Assay's either. Where a task differs
on purpose, the census is adapted. Level 2: the dropouts' choices are inputs (66, 83), and a parameter that is never
used is not one (26). Level 3: states drawn in forward are inputs (35), and parameters that no result depends on are none
(36, 37, 49, 50); there some weights have the published size in every workload; the limits are for the others.
"""
import csv
import math
import pathlib
import re
import sys

try:
    import onnx
    import onnx.checker
    import onnx.inliner
    import numpy
    import onnx.parser
    import onnx.reference
    import onnx.shape_inference
except ImportError as error:
    sys.exit(f"check_tasks.py: {error}. This test needs the Python package `onnx` (1.20 or newer): "
             "`python3 -m venv V && V/bin/pip install onnx`, then set ASSAY_ONNX_PYTHON=V/bin/python")

DTYPES = {"float32": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64, "bool": onnx.TensorProto.BOOL}
SMALL_LIMIT, RAGGED_LIMIT = 1 << 18, {1: 1 << 13, 2: 1 << 13, 3: 1 << 18, 4: 1 << 18}
WORKLOAD = "assay.workload."


class Wrong(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Wrong(text)


def parse_shape(text):
    dims, dtype = text.split(":")
    return DTYPES[dtype], () if dims == "scalar" else tuple(int(d) for d in dims.split("x"))


def parse_bindings(text):
    bindings = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"(\w+)\s*=\s*(\d+)", part)
        require(match, f"cannot read the binding '{part}'")
        bindings[match[1]] = int(match[2])
    return bindings


def bound_copy(model, bindings):
    """The model with numbers for symbols in its inputs and without declared output extents, for inference only: as ONNX
    infers nothing for GroupNormalization, another operator with the same inputs and shapes stands in its place."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        if node.op_type == "GroupNormalization":
            node.op_type = "InstanceNormalization"
            kept = [a for a in node.attribute if a.name == "epsilon"]
            del node.attribute[:]
            node.attribute.extend(kept)
    used = set()
    for value in copy.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                require(dim.dim_param in bindings, f"input {value.name}: {dim.dim_param} is not bound")
                used.add(dim.dim_param)
                dim.dim_value = bindings[dim.dim_param]
    require(used == set(bindings), f"bound but not used: {sorted(set(bindings) - used)}")
    for value in copy.graph.output:
        rank = len(value.type.tensor_type.shape.dim)
        del value.type.tensor_type.shape.dim[:]
        for i in range(rank):
            value.type.tensor_type.shape.dim.add().dim_param = f"free{i}"
    return copy


def shapes(values):
    return [(v.type.tensor_type.elem_type, tuple(d.dim_value for d in v.type.tensor_type.shape.dim)) for v in values]


def ran_outputs(model, inputs):
    """Output dtypes and shapes by running ONNX's reference evaluator: for operators that ONNX infers no shape for."""
    feeds = {v.name: numpy.ones(dims, onnx.helper.tensor_dtype_to_np_dtype(dtype))
             for v, (dtype, dims) in zip(model.graph.input, inputs)}
    results = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    return [(onnx.helper.np_dtype_to_tensor_dtype(r.dtype), r.shape) for r in results]


def declared_outputs(model, bindings):
    """What the file declares, with the workload's numbers; unknown extents are 0."""
    return [(v.type.tensor_type.elem_type,
             tuple(bindings.get(d.dim_param, 0) if d.dim_param else d.dim_value for d in v.type.tensor_type.shape.dim))
            for v in model.graph.output]


def check_declared(model, bindings, inferred):
    """Declared output extents that are numbers or bound symbols agree with what inference found."""
    for value, (_, dims) in zip(model.graph.output, inferred):
        for declared, found in zip(value.type.tensor_type.shape.dim, dims):
            want = bindings.get(declared.dim_param) if declared.dim_param else declared.dim_value
            require(want is None or want == found, f"output {value.name}: declared {want}, inferred {found}")


def check(path, level, row):
    model = onnx.parser.parse_model(path.read_text())
    onnx.checker.check_model(model, full_check=True)
    props = {p.key: p.value for p in model.metadata_props}
    number = int(row["id"])
    require(props["assay.task"] == f"kernelbench/{level}/{number}", "assay.task is " + props["assay.task"])
    loads = {k[len(WORKLOAD):]: parse_bindings(v) for k, v in props.items() if k.startswith(WORKLOAD)}
    require({"full", "small"} <= set(loads), "workloads full and small are missing")
    require(sum(name.startswith("ragged") for name in loads) >= 3, "fewer than three ragged workloads")
    fixed = {v.name for v in model.graph.input if all(d.dim_value for d in v.type.tensor_type.shape.dim)}
    model = onnx.inliner.inline_local_functions(model)  # inference then knows the shapes within functions
    static = {v.name: "static" in props["assay.input." + v.name].split() for v in model.graph.input}
    for name, bindings in loads.items():
        inferred = onnx.shape_inference.infer_shapes(bound_copy(model, bindings), check_type=True, strict_mode=True,
                                                     data_prop=True)
        inputs, outputs = shapes(inferred.graph.input), shapes(inferred.graph.output)
        if any(0 in dims for _, dims in outputs):
            outputs = declared_outputs(model, bindings)
            require(name == "full" or outputs == ran_outputs(model, inputs), f"{name}: outputs are not {outputs}")
        for _, dims in inputs + outputs:
            require(all(d > 0 for d in dims), f"{name}: an extent of {dims} is unknown or empty")
        check_declared(model, bindings, outputs)
        limit = {"full": None, "small": SMALL_LIMIT}.get(name, RAGGED_LIMIT[level])
        bound = [s for v, s in zip(inferred.graph.input, inputs) if v.name not in fixed]
        largest = max(math.prod(dims) for _, dims in bound + outputs)
        require(limit is None or largest <= limit, f"{name}: a tensor has {largest} elements, more than {limit}")
        if name == "full":
            names = [v.name for v in inferred.graph.input]
            data = [s for n, s in zip(names, inputs) if not static[n]]
            require(data == [parse_shape(s) for s in row["inputs"].split(";")], f"inputs are {data}")
            require(outputs == [parse_shape(row["output"])], f"outputs are {outputs}")
            parameters = sum(math.prod(s[1]) for n, s in zip(names, inputs) if static[n])
            require(parameters == int(row["parameters"]), f"{parameters} parameters, not {row['parameters']}")
    return len(loads)


def main():
    level, folder, census = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    with open(census, newline="") as file:
        rows = list(csv.DictReader(file))
    paths = sorted(folder.glob("*.onnxtxt"))
    failures = workloads = 0
    if len(paths) != len(rows):
        print(f"{len(paths)} task files in {folder}, {len(rows)} tasks in the census")
        failures += 1
    for row in rows:
        found = [p for p in paths if p.name.startswith(f"{int(row['id']):03d}_")]
        if len(found) != 1:
            print(f"{row['id']}: {len(found)} files")
            failures += 1
            continue
        try:
            workloads += check(found[0], level, row)
        except Exception as error:  # onnx raises its own kinds; each is a failure of this file
            print(f"{found[0]}: {error}")
            failures += 1
    print(f"{len(rows)} tasks, {workloads} workloads, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
