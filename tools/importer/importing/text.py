# SPDX-License-Identifier: Apache-2.0
"""The task file: ONNX's textual syntax as the suites' files are written."""
import re

import numpy
import onnx
from onnx import TensorProto

from . import Refused

DTYPES = {
    TensorProto.FLOAT: "float",
    TensorProto.DOUBLE: "double",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.INT64: "int64",
    TensorProto.INT32: "int32",
    TensorProto.INT16: "int16",
    TensorProto.INT8: "int8",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BOOL: "bool",
}
RESERVED = {
    *DTYPES.values(),
    "string",
    "complex64",
    "complex128",
    "seq",
    "map",
    "optional",
    "sparse_tensor",
    "inf",
    "nan",
    "infinity",
    "ir_version",
    "opset_import",
    "metadata_props",
    "domain",
    "float8e4m3fn",
    "float8e5m2",
}
WIDTH = 120


def identifiers(names):
    """A mapping of each name to one that the syntax takes, all different."""
    mapping, taken = {}, set()
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        if not plain or plain[0].isdigit() or plain in RESERVED:
            plain = "v_" + plain
        candidate, k = plain, 1
        while candidate in taken:
            k += 1
            candidate = f"{plain}_{k}"
        taken.add(candidate)
        mapping[name] = candidate
    return mapping


def dtype_name(dtype, what):
    if dtype not in DTYPES:
        raise Refused(
            f"{what} has elements of type {TensorProto.DataType.Name(dtype or 0).lower()}, which tasks do not have"
        )
    return DTYPES[dtype]


def typed(dtype, dims, what):
    name = dtype_name(dtype, what)
    return f"{name}[{', '.join(str(d) for d in dims)}]" if dims else name


def real(x, single=True):
    """The shortest text that is this number, as a float of its size."""
    if numpy.isnan(x) or numpy.isinf(x):
        return "nan" if numpy.isnan(x) else "inf" if x > 0 else "-inf"
    text = repr(float(str(numpy.float32(x)))) if single else repr(float(x))
    return text if any(c in text for c in ".e") else text + ".0"


def attribute(name, value):
    def one(v):
        if isinstance(v, (bytes, str)):
            text = v.decode() if isinstance(v, bytes) else v
            return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return real(v) if isinstance(v, float) else str(int(v))
    if isinstance(value, onnx.TensorProto):
        array = onnx.numpy_helper.to_array(value)
        return f"{name} = {typed(value.data_type, array.shape, 'an attribute')} {elements(array)}"
    if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        return f"{name} = [{', '.join(one(v) for v in value)}]"
    if isinstance(value, (onnx.GraphProto, onnx.SparseTensorProto, onnx.TypeProto)):
        raise Refused(f"the attribute {name} is a graph, a type or sparse: tasks have no control flow")
    return f"{name} = {one(value)}"


def elements(array):
    flat = array.reshape(-1)
    if flat.dtype.itemsize == 2 and not numpy.issubdtype(flat.dtype, numpy.integer):  # half precision: as its bits
        flat = flat.view(numpy.uint16)
    if flat.dtype == numpy.bool_ or numpy.issubdtype(flat.dtype, numpy.integer):
        return "{" + ", ".join(str(int(v)) for v in flat) + "}"
    if flat.dtype == numpy.float32 and numpy.isfinite(flat).all():  # as real() does, for a million of them
        return "{" + ", ".join(repr(float(v)) for v in flat.astype("U")) + "}"
    return "{" + ", ".join(real(v, flat.dtype != numpy.float64) for v in flat) + "}"


def folded(text, indent):
    """Long lines are broken after commas."""
    lines, start, width = [], 0, WIDTH
    while len(text) - start > width:
        at = text.rfind(", ", start + 1 + (len(indent) if not lines else 0), start + width)
        if at < 0:
            break
        lines.append((indent if lines else "") + text[start:at + 1])
        start, width = at + 2, WIDTH - len(indent)
    return lines + [(indent if lines else "") + text[start:]]


DEFAULTS = {"Conv": {"auto_pad": b"NOTSET", "group": 1}, "ConvTranspose": {"auto_pad": b"NOTSET", "group": 1},
            "MaxPool": {"auto_pad": b"NOTSET", "ceil_mode": 0, "storage_order": 0},
            "AveragePool": {"auto_pad": b"NOTSET", "ceil_mode": 0, "count_include_pad": 0},
            "Gemm": {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}, "Reshape": {"allowzero": 0},
            "BatchNormalization": {"training_mode": 0}, "Gelu": {"approximate": b"none"},
            "Pad": {"mode": b"constant"}, "Gather": {"axis": 0}, "Cast": {"saturate": 1, "round_mode": b"up"}}
REDUCTION = {"keepdims": 1, "noop_with_empty_axes": 0}


def attributes(node):
    usual = REDUCTION if node.op.startswith("Reduce") else DEFAULTS.get(node.op, {})
    rows = []
    for name in sorted(node.attributes):
        value = node.attributes[name]
        plain = (
            list(value)
            if not isinstance(value, (int, float, bytes, str, onnx.TensorProto)) and hasattr(value, "__iter__")
            else value
        )
        if name in usual and usual[name] == plain:
            continue
        if (name in ("pads", "output_padding") and plain and set(plain) == {0}) or \
                (name in ("dilations", "strides") and plain and set(plain) == {1}):
            continue
        rows.append(attribute(name, value))
    return f"<{', '.join(rows)}>" if rows else ""


def write(name, graph, inputs, outputs, properties, comments):
    """inputs, outputs: (name, dtype, extents); properties: (key, value)."""
    lines = [line for c in comments for line in comment(c)]
    domains = {
        "": graph.opset,
        **{k: v for k, v in graph.opsets.items() if k and any(n.domain == k for n in graph.nodes)},
    }
    imports = ", ".join(f'"{k}" : {v}' for k, v in domains.items())
    lines += ["<", "  ir_version: 10,", f"  opset_import: [{imports}],", "  metadata_props: ["]
    for n, (key, value) in enumerate(properties):
        value = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    "{key}" : "{value}"' + ("," if n + 1 < len(properties) else ""))
    lines += ["  ]", ">"]
    declared = [", ".join(f"{typed(d, dims, n)} {n}" for n, d, dims in side) for side in (inputs, outputs)]
    lines += folded(f"{name} ({declared[0]}) => ({declared[1]})", "    ")
    if graph.constants:
        kept = [f"{typed(graph.dtype(k), v.shape, k)} {k} = {elements(v)}" for k, v in graph.constants.items()]
        lines += folded("<" + ", ".join(kept) + ">", "    ")
    lines.append("{")
    for n in graph.nodes:
        outputs_text = ", ".join(n.outputs)
        op = f"{n.domain}.{n.op}" if n.domain else n.op
        while n.inputs and not n.inputs[-1]:
            n.inputs.pop()
        lines += folded(f"  {outputs_text} = {op}{attributes(n)}({', '.join(n.inputs)})", "      ")
    return "\n".join(lines + ["}"]) + "\n"


def comment(text):
    words, lines, line = text.split(), [], "#"
    for w in words:
        if len(line) + 1 + len(w) > WIDTH and line != "#":
            lines.append(line)
            line = "#  "
        line += " " + w
    return lines + [line]
