# SPDX-License-Identifier: Apache-2.0
"""A module as an ONNX graph with symbolic dimensions: torch.export finds out which dimensions may vary, torch.onnx
writes the graph."""
import contextlib
import copy
import functools
import io
import logging
import pathlib
import re
import signal
import traceback
import warnings

import onnx
import onnx.numpy_helper
import sympy
import torch

from . import Refused, note
from .decompositions import DECOMPOSITIONS, LATER
from .linalg import NOT_UNIQUE, REFUSED, needs_factors
from .selection import Select
from .substitutes import phase, with_derivatives

OPSET, LATER_OPSET = 23, 26
# How much is left open, from the most to nothing: dimensions of inputs, and of weights (their first two: channels and
# features, not the extents of kernels).
OPENNESS = ("all", "inputs", "batch", "none")


def remember_functions():
    """PyTorch reads the sources of onnxscript's 500 functions at every export, which takes longer than the export: once is
    enough. With a PyTorch that has other names inside nothing is remembered."""
    try:
        from torch.onnx._internal.exporter._registration import ONNXRegistry
        read = functools.cache(ONNXRegistry.from_torchlib)
        copy.copy(ONNXRegistry()).functions.items()
    except (ImportError, AttributeError):
        return

    def from_torchlib(*words, **named):
        registry = copy.copy(read(*words, **named))
        registry.functions = {name: list(of) for name, of in registry.functions.items()}  # what it is given is its own
        return registry
    ONNXRegistry.from_torchlib = staticmethod(from_torchlib)


remember_functions()


class TookLong(Refused):
    """An export with open dimensions that has no end in sight: PyTorch carries an expression for each extent, which
    grows with every strided convolution, window and padding that it goes through."""


@contextlib.contextmanager
def within(seconds, openness):
    """Ends what takes more of the processor. It is said again every second, as much that runs here forgives exceptions,
    and once more at the end: what came of an export that has forgiven this one is not to be trusted."""
    late = []

    def end(*_):
        what = {"all": "all dimensions", "inputs": "all dimensions of inputs", "batch": "the batch"}[openness]
        late.append(TookLong(f"with {what} open, PyTorch's export takes more than {seconds:g} s of a processor"))
        raise late[-1]
    if seconds is None or openness == "none":  # there is nothing else to try
        yield
        return
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1)
    try:
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)  # a signal that was on its way raises here, not below
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if late:
        raise late[-1]


# What to write in a module instead of what has no translation.
DENSE = "a task's tensors are dense: write the product of dense ones"
ADVICE = {
    "linalg_lstsq": "where the rank is full, write torch.linalg.pinv(a) @ b",
    "fake_quantize_per_channel_affine_cachemask":
        "write (torch.clamp(torch.round(x / s) + z, low, high) - z) * s, s and z of one number a channel",
    "kaiser_window": "make it in __init__, and keep it by register_buffer",
    "segment_reduce": "write scatter_reduce with the number of each row's segment as index",
    "linear_dynamic": "write what it computes: scales by amax, torch.round, clamp, and the product",
    "_to_sparse": DENSE, "_to_sparse_csr": DENSE, "to_sparse_csr": DENSE, "_sparse_mm": DENSE, "_to_dense": DENSE,
}
UNWRITABLE = {
    "Unique": "how many different numbers there are depends on the data, and a task's outputs have one size",
    "If": "its body depends on data, and tasks have no control flow: compute both sides and choose with torch.where",
    "Loop": "its body depends on data, and tasks have no control flow: write a loop whose length is a number",
}


def advised(said):
    """With what to do about the operator that is named."""
    name = re.search(r"\b(?:aten|prims|quantized)(?:\.|::)(\w+)", said)
    return f"{said}: {ADVICE[name[1]]}" if name and name[1] in ADVICE else said


class Flat(torch.nn.Module):
    """The module as a function of one list: inputs, masks, state."""

    def __init__(self, source, masks):
        super().__init__()
        self.source, self.masks = [source], masks

    def forward(self, flat):
        source = self.source[0]
        n = len(source.inputs)
        with phase("export", flat[n:n + self.masks]), Select(source.guards):
            return tuple(source.call(source.model, flat[:n], flat[n + self.masks:]))


def open_dims(tensor, role, openness, axes=None):
    """axes: the names of those that may be open, None for the others; "": open, without a name."""
    count = {"all": tensor.dim() if role != "state" else min(2, tensor.dim()),
             "inputs": tensor.dim() if role != "state" else 0,
             "batch": min(1, tensor.dim()) if role != "state" else 0,
             "none": 0}[openness]
    return {k: torch.export.Dim.AUTO for k in range(count)
            if tensor.shape[k] > 1 and (axes is None or axes[k] is not None)} or None


class Exported:
    """model: the ONNX graph; dims: for every graph input its extents, numbers or sympy expressions; full: symbol to
    number."""

    def __init__(self, model, dims, full):
        self.model, self.dims, self.full = model, dims, full


def first_line(error):
    """Of an error's text, without colours."""
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    return lines[0][:300].strip() if lines else type(error).__name__


def is_in(name, errors):
    """Whether one of the errors passed through a file of this name, whatever it says."""
    return any(pathlib.Path(frame.filename).name == name for e in errors for frame in traceback.extract_tb(e.__traceback__))


def reason(error, path):
    """PyTorch's own reason, from the error that began it, and the line of the user's file that it is about."""
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    deepest = chain[-1]
    said = first_line(deepest)
    kind = type(deepest).__name__
    if match := re.search(r"No ONNX function found for <OpOverload\(op='([\w.]+)'", said):
        said = f"it has no ONNX form of {match[1]}, nor anything that it is made of"
        op = match[1].split(".")[1]
        said = f"aten.{op}: {REFUSED[op]}" if op in REFUSED else said
    elif "FlexAttentionHOP" in said or is_in("flex_attention.py", chain):
        said = "flex_attention has no ONNX form: write out the scores, what score_mod makes of them, softmax and the product"
    elif "Unsupported attribute type" in said and "SymbolicTensor" in said:
        said = "an attribute of an operator, such as a convolution's number of groups, would be a dimension that varies"
    elif (advice := with_derivatives(said)) != said:
        said = advice
    elif "failed to unpack" in said and "FakeTensor" in said:
        said = f"{said}: a size is the value of a tensor (as in pack_padded_sequence); take whole rows and a mask"
    elif ".numpy() is not supported" in said:
        said = "what is computed depends on the values of tensors, which .numpy() takes out of PyTorch"
    elif kind.startswith("GuardOnDataDependent"):
        said = ("what is computed depends on the values of tensors, not only on their shapes (control flow: compute "
                f"both sides and choose with torch.where); PyTorch says: {said}")
    elif kind in ("DataDependentOutputException", "DynamicOutputShapeException"):
        said = f"the values of {said} decide what is computed next, or how large it is"
    elif not isinstance(deepest, torch.onnx.errors.OnnxExporterError):
        said = f"{kind}: {said}" if kind not in said else said
    said = advised(said)
    whole = path.resolve()
    for e in chain:
        frames = [f for f in traceback.extract_tb(e.__traceback__) if pathlib.Path(f.filename).resolve() == whole]
        if frames:
            return f"{said} (line {frames[-1].lineno}: {frames[-1].line})"
    written = [m for e in chain for m in re.findall(rf'File "{re.escape(str(path))}", line (\d+)', str(e))]
    return said + (f" (line {written[-1]})" if written else "")


def export(source, openness, seconds=None):
    """Exported, or Refused when it cannot be at this openness, or TookLong where it takes more of a processor."""
    wanted = source.masks()
    masks = [torch.ones(shape, dtype=torch.bool) for shape, _ in wanted]
    tensors = [t.value for t in source.inputs] + masks + [t.value for t in source.state]
    roles = ["input"] * len(source.inputs) + ["mask"] * len(masks) + ["state"] * len(source.state)
    axes = [t.axes for t in source.inputs] + [None] * (len(tensors) - len(source.inputs))
    shapes = ([open_dims(t, role, openness, row) for t, role, row in zip(tensors, roles, axes)],)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    quiet = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), \
                torch.no_grad(), within(seconds, openness):
            warnings.simplefilter("ignore")
            program = torch.export.export(Flat(source, len(masks)), (tensors,), dynamic_shapes=shapes,
                                          strict=False)
            if any(node.target in DECOMPOSITIONS for node in program.graph.nodes):
                program = program.run_decompositions(DECOMPOSITIONS)
            written = torch.onnx.export(program, dynamo=True, optimize=False, opset_version=OPSET, verbose=False)
    except Exception as e:  # anything that a user's module can run into
        kind = e
        while kind is not None:
            if isinstance(kind, Refused):  # PyTorch adds where in its graph that was
                raise type(kind)(str(kind).split("\n\nWhile executing")[0]) from e
            kind = kind.__cause__ or kind.__context__
        raise Refused(f"PyTorch cannot export the module: {reason(e, source.path)}") from e
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
    if needs_factors(model.graph):
        raise Refused(f"PyTorch cannot export the module: aten._linalg_svd: {NOT_UNIQUE}")
    strip_later(model)
    narrow(model)
    check_written(model)
    return Exported(model, dims, full), wanted


def strip_later(model):
    """Operators of a later opset in ONNX's own domain, and the model of that opset."""
    later = [n for n in model.graph.node if n.domain == LATER]
    for node in later:
        node.domain = ""
    if later:
        kept = [o for o in model.opset_import if o.domain not in ("", LATER)]
        del model.opset_import[:]
        model.opset_import.extend([onnx.helper.make_opsetid("", LATER_OPSET), *kept])


def narrow(model):
    """What a module of floats computes in double precision on its way: single precision is asked for, as the answer is
    computed in double precision anyway, and a task's contract is of one type. Outputs in double are refused elsewhere."""
    g, double, single = model.graph, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
    casts = [a for n in g.node if n.op_type == "Cast" for a in n.attribute if a.name == "to" and a.i == double]
    if not casts or any(v.type.tensor_type.elem_type == double for v in [*g.input, *g.output]):
        return
    for a in casts:
        a.i = single
    for v in g.value_info:
        if v.type.tensor_type.elem_type == double:
            v.type.tensor_type.elem_type = single
    for tensor in [*g.initializer, *(a.t for n in g.node for a in n.attribute if a.type == a.TENSOR)]:
        if tensor.data_type == double:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype("float32"), tensor.name))
    note("what the module computes in double precision is asked for in single precision")


def check_written(model):
    for node in model.graph.node:
        if node.op_type in UNWRITABLE and node.domain in ("", "ai.onnx"):
            raise Refused(f"the graph has the operator {node.op_type}: {UNWRITABLE[node.op_type]}")
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
            raise Refused(
                f"the graph has the operator {node.op_type}, whose body depends on data; tasks have no control flow"
            )
