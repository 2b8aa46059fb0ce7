"""A module as an ONNX graph with symbolic dimensions: torch.export finds out which dimensions may vary, torch.onnx
writes the graph."""
import contextlib
import io
import logging
import re
import warnings

import onnx
import sympy
import torch

from . import Refused
from .substitutes import phase

OPSET = 23
# How much is left open, from the most to nothing: dimensions of inputs, and of weights (their first two: channels and
# features, not the extents of kernels).
OPENNESS = ("all", "inputs", "batch", "none")


class Flat(torch.nn.Module):
    """The module as a function of one list: inputs, masks, state."""

    def __init__(self, source, masks):
        super().__init__()
        self.source, self.masks = [source], masks

    def forward(self, flat):
        source = self.source[0]
        n = len(source.inputs)
        with phase("export", flat[n:n + self.masks]):
            return tuple(source.call(source.model, flat[:n], flat[n + self.masks:]))


def open_dims(tensor, role, openness):
    count = {"all": tensor.dim() if role != "state" else min(2, tensor.dim()),
             "inputs": tensor.dim() if role != "state" else 0,
             "batch": min(1, tensor.dim()) if role != "state" else 0,
             "none": 0}[openness]
    return {k: torch.export.Dim.AUTO for k in range(count) if tensor.shape[k] > 1} or None


class Exported:
    """model: the ONNX graph; dims: for every graph input its extents, numbers or sympy expressions; full: symbol to
    number."""

    def __init__(self, model, dims, full):
        self.model, self.dims, self.full = model, dims, full


def first_line(error):
    """Of an error's text, without colours."""
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


def export(source, openness):
    """Exported, or Refused when it cannot be at this openness."""
    wanted = source.masks()
    masks = [torch.ones(shape, dtype=torch.bool) for shape, _ in wanted]
    tensors = [t.value for t in source.inputs] + masks + [t.value for t in source.state]
    roles = ["input"] * len(source.inputs) + ["mask"] * len(masks) + ["state"] * len(source.state)
    shapes = ([open_dims(t, role, openness) for t, role in zip(tensors, roles)],)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    quiet = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), \
                torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.export.export(Flat(source, len(masks)), (tensors,), dynamic_shapes=shapes,
                                          strict=False)
            written = torch.onnx.export(program, dynamo=True, optimize=False, opset_version=OPSET, verbose=False)
    except Refused:
        raise
    except Exception as e:  # anything that a user's module can run into
        cause = e.__cause__ or e.__context__ or e
        for kind in (e, cause):
            if isinstance(kind, Refused):
                raise kind
        raise Refused(f"PyTorch cannot export the module: {first_line(cause)}") from e
    model = written.model_proto
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    user = [spec.arg.name for spec in program.graph_signature.input_specs
            if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT]
    values = {node.name: node.meta["val"] for node in placeholders}
    if len(user) != len(tensors) or len(model.graph.input) != len(tensors):
        raise Refused("PyTorch's exporter has dropped inputs of the module")
    dims, full = [], {}
    for name, tensor in zip(user, tensors):
        row = []
        for extent, size in zip(values[name].shape, tensor.shape):
            expression = extent.node.expr if isinstance(extent, torch.SymInt) else sympy.Integer(int(extent))
            row.append(int(expression) if expression.is_number else expression)
            if expression.is_Symbol:
                full[expression] = int(size)
        dims.append(row)
    missing = {s for row in dims for d in row if not isinstance(d, int) for s in d.free_symbols} - set(full)
    if missing:
        raise Refused(f"dimensions depend on {sorted(map(str, missing))}, which no input has")
    check_written(model)
    return Exported(model, dims, full), wanted


def check_written(model):
    for node in model.graph.node:
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
            raise Refused(
                f"the graph has the operator {node.op_type}, whose body depends on data; tasks have no control flow"
            )
