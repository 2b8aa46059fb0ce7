# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph made plain: functions expanded, constants named, shape arithmetic folded where it can be, no-ops and
what is unused dropped. Floating arithmetic is never folded: the task says what is computed, not a rounding of it."""
import numpy
import onnx
import onnx.inliner
import onnx.reference
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

from . import Refused

FOLD_ELEMENTS = 4096
# These move elements: folding them changes no number.
MOVES = {
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Transpose",
    "Concat",
    "Slice",
    "Gather",
    "Flatten",
    "Tile",
    "Identity",
    "Expand",
    "Cast",
    "ConstantOfShape",
    "Where",
    "Split",
}
FLOATING = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
WHOLE = {TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT16}

CONSTANT_ROLES = {
    "Reshape": {1: "shape"},
    "Expand": {1: "shape"},
    "Reduce": {1: "axes"},
    "Squeeze": {1: "axes"},
    "Unsqueeze": {1: "axes"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Pad": {1: "pads"},
    "Clip": {1: "low", 2: "high"},
    "Gather": {1: "indices"},
    "Split": {1: "sizes"},
    "Tile": {1: "repeats"},
    "Resize": {2: "scales", 3: "sizes"},
}
VALUE_NAMES = {
    "BatchNormalization": "norm",
    "LayerNormalization": "norm",
    "GroupNormalization": "norm",
    "InstanceNormalization": "norm",
    "RMSNormalization": "norm",
    "ReduceMean": "mean",
    "ReduceSum": "sum",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "MaxPool": "pool",
    "AveragePool": "pool",
    "GlobalAveragePool": "pool",
    "GlobalMaxPool": "pool",
    "Shape": "extents",
    "ConvTranspose": "conv",
}
EXTRA_OUTPUTS = {"BatchNormalization": ("running_mean", "running_var"), "MaxPool": ("indices",),
                 "LayerNormalization": ("mean", "inverse_deviation")}


NUMBERS = {"value_int": numpy.int64, "value_ints": numpy.int64, "value_float": numpy.float32,
           "value_floats": numpy.float32}  # attributes of Constant


def constant_tensor(node):
    """What a Constant node gives, as a tensor of the node's name; None where it is neither dense nor of numbers."""
    (attribute,) = node.attribute
    if attribute.name == "value":
        tensor = TensorProto()
        tensor.CopyFrom(attribute.t)
        tensor.name = node.output[0]
        return tensor
    if attribute.name not in NUMBERS:
        return None
    value = numpy.asarray(helper.get_attribute_value(attribute), NUMBERS[attribute.name])
    return numpy_helper.from_array(value, node.output[0])


def plain_model(model):
    """The model with its functions expanded and what Constant nodes give among its initializers: some exporters write
    weights as such nodes."""
    model = onnx.inliner.inline_local_functions(model)
    kept, outputs = [], {o.name for o in model.graph.output}
    for node in model.graph.node:
        tensor = constant_tensor(node) if node.op_type == "Constant" and node.domain in ("", "ai.onnx") else None
        if tensor is None or node.output[0] in outputs:
            kept.append(node)
        else:
            model.graph.initializer.append(tensor)
    if len(kept) < len(model.graph.node):
        del model.graph.node[:]
        model.graph.node.extend(kept)
    return model


class Node:
    def __init__(self, proto):
        self.op, self.domain = proto.op_type, "" if proto.domain == "ai.onnx" else proto.domain
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}

    def proto(self):
        return helper.make_node(self.op, self.inputs, self.outputs, domain=self.domain, **self.attributes)


class Graph:
    """inputs: names; types: name -> (dtype, extents or None), extents being numbers, symbols or None; constants: name
    -> numpy array."""

    def __init__(self, model):
        model = plain_model(model)
        try:
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except onnx.shape_inference.InferenceError:
            pass  # what the exporter declared has to do
        self.opsets = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
        self.opset = self.opsets.get("", 1)
        g = model.graph
        self.types = {}
        for v in [*g.value_info, *g.input, *g.output]:
            t = v.type.tensor_type
            if not v.type.HasField("tensor_type"):
                if v.name in {i.name for i in [*g.input, *g.output]}:
                    raise Refused(f"{v.name} is not a tensor: tasks have neither sequences nor maps nor optional values")
                continue
            dims = [self.extent(d) for d in t.shape.dim] if t.HasField("shape") else None
            self.types[v.name] = (t.elem_type, dims)
        self.constants = {}
        for i in g.initializer:
            if i.data_location == TensorProto.EXTERNAL:
                raise Refused(f"the constant {i.name} is in another file; save the model with its data inside")
            self.set_constant(i.name, numpy_helper.to_array(i), i.data_type)
        self.inputs = [v.name for v in g.input if v.name not in self.constants]
        self.outputs = [v.name for v in g.output]
        self.nodes = [Node(n) for n in g.node]
        self.producers = None
        if g.sparse_initializer:
            raise Refused("sparse constants are not supported")

    @staticmethod
    def extent(d):
        if d.HasField("dim_value"):
            return d.dim_value if d.dim_value >= 0 else None  # some exporters write -1 for any
        name = d.dim_param
        return int(name) if name.isdigit() else name if any(c.isalnum() for c in name) else None  # some write ?

    def set_constant(self, name, array, dtype=None):
        self.constants[name] = numpy.asarray(array)
        self.types[name] = (dtype or helper.np_dtype_to_tensor_dtype(self.constants[name].dtype), list(array.shape))

    def dtype(self, name):
        return self.types.get(name, (None, None))[0]

    def dims(self, name):
        return self.types.get(name, (None, None))[1]

    # ---- passes -----------------------------------------------------------------------------------------------------

    def simplify(self):
        for _ in range(100):
            before = [(n.op, tuple(n.inputs), tuple(n.outputs)) for n in self.nodes]
            self.infer_plain_types()
            self.replaced = {}
            self.producers = {o: n for n in self.nodes for o in n.outputs}  # nodes change in place, outputs stay
            kept = []
            for node in self.nodes:
                node.inputs = [self.resolve(i) for i in node.inputs]
                if not self.absorb(node):
                    kept.append(node)
            self.nodes = kept
            self.outputs_resolved()
            self.drop_unused()
            if [(n.op, tuple(n.inputs), tuple(n.outputs)) for n in self.nodes] == before:
                self.producers = None
                return self
        raise AssertionError("the graph does not settle")

    def resolve(self, name):
        while name in self.replaced:
            name = self.replaced[name]
        return name

    def outputs_resolved(self):
        """An output whose node went keeps a name of its own, by a copy, unless a node's output can take its name."""
        for k, name in enumerate(self.outputs):
            now = self.resolve(name)
            if now != name:
                self.nodes.append(Node(helper.make_node("Identity", [now], [name])))
                self.types.setdefault(name, self.types.get(now, (None, None)))

    def infer_plain_types(self):
        for n in self.nodes:
            if n.op == "Cast":
                self.types.setdefault(n.outputs[0], (n.attributes["to"], self.dims(n.inputs[0])))
            elif n.op == "Shape":
                self.types.setdefault(n.outputs[0], (TensorProto.INT64, None))
            elif (
                n.op
                in (
                    "Squeeze",
                    "Unsqueeze",
                    "Reshape",
                    "Concat",
                    "Gather",
                    "Slice",
                    "Transpose",
                    "Expand",
                    "Identity",
                    "Mul",
                    "Add",
                    "Sub",
                    "Div",
                    "Neg",
                    "Sqrt",
                    "MatMul",
                    "CastLike",
                )
                and n.outputs[0] not in self.types
            ):
                typed = n.inputs[1 if n.op == "CastLike" else 0]
                if self.dtype(typed):
                    self.types[n.outputs[0]] = (self.dtype(typed), None)

    def absorb(self, node):
        """True when the node is not needed: its output is a constant or another value now."""
        op, out = node.op, node.outputs[0]
        if op == "Constant":
            self.set_constant(out, self.constant_value(node))
            return True
        if op == "Identity" and out not in self.outputs:
            self.replaced[out] = node.inputs[0]
            return True
        if (
            op == "Dropout"
            and not self.drops(node)
            and out not in self.outputs
            and len(list(filter(None, node.outputs))) == 1
        ):
            self.replaced[out] = node.inputs[0]
            return True
        if op == "CastLike" and self.dtype(node.inputs[1]):
            node.op, node.attributes = "Cast", {"to": self.dtype(node.inputs[1])}
            node.inputs = node.inputs[:1]
        if node.op == "Cast" and self.dtype(node.inputs[0]) == node.attributes["to"] and out not in self.outputs:
            self.replaced[out] = node.inputs[0]
            return True
        if op == "Shape" and self.known_shape(node):
            return True
        if op == "SequenceAt":
            self.part_of_sequence(node)
        if op == "Conv" and len(node.inputs) == 3 and self.is_zeros(node.inputs[2]):
            node.inputs.pop()
        if op in ("Reshape", "Unsqueeze") and self.same_extent(node):
            return True
        if op == "Reshape":
            self.plain_target(node)
        if op == "Expand" and out not in self.outputs and self.dims(node.inputs[0]) is not None \
                and self.dims(node.inputs[0]) == self.dims(out) and None not in self.dims(out):
            self.replaced[out] = node.inputs[0]
            return True
        return self.fold(node)

    def part_of_sequence(self, node):
        """One element of a tensor that was split into a sequence is a slice of it."""
        split = self.producer(node.inputs[0])
        at = self.constants.get(node.inputs[1])
        if not split or split.op != "SplitToSequence" or at is None:
            return
        sizes = self.constants.get(split.inputs[1]) if len(split.inputs) > 1 and split.inputs[1] else numpy.int64(1)
        if sizes is None:
            return
        k, axis = int(at), split.attributes.get("axis", 0)
        if k < 0 and not sizes.ndim:
            return
        start = int(sizes[:k].sum()) if sizes.ndim else k * int(sizes)
        end = start + int(sizes[k] if sizes.ndim else sizes)
        squeezed = len(split.inputs) < 2 and not split.attributes.get("keepdims", 1)
        out = node.outputs[0]
        names = [f"{out}_{part}" for part in ("starts", "ends", "axes")]
        for name, value in zip(names, (start, end, axis)):
            self.set_constant(name, numpy.asarray([value], numpy.int64))
        data = self.resolve(split.inputs[0])
        if squeezed:
            node.op, node.inputs, node.attributes = "Gather", [data, f"{out}_at"], {"axis": axis}
            self.set_constant(f"{out}_at", numpy.asarray(start, numpy.int64))
        else:
            node.op, node.inputs, node.attributes = "Slice", [data, *names], {}

    def constant_value(self, node):
        tensor = constant_tensor(node.proto())
        if tensor is None:
            raise Refused(f"a constant is given as {next(iter(node.attributes))}; only numbers can be read")
        return numpy_helper.to_array(tensor)

    def drops(self, node):
        if self.opset < 7 and not node.attributes.get("is_test", 0):
            return True
        if len(node.inputs) < 3 or not node.inputs[2]:
            return False
        training = self.constants.get(node.inputs[2])
        ratio = self.constants.get(node.inputs[1]) if node.inputs[1] else numpy.float32(0.5)
        return training is None or (bool(training) and (ratio is None or float(ratio) != 0))

    def known_shape(self, node):
        dims = self.dims(node.inputs[0])
        if dims is None:
            return False
        part = dims[node.attributes.get("start", 0):node.attributes.get("end", len(dims))]
        if not all(isinstance(d, int) for d in part):
            return False
        self.set_constant(node.outputs[0], numpy.asarray(part, numpy.int64))
        return True

    def producer(self, name):
        if self.producers is not None:  # while the graph is made plain
            return self.producers.get(name)
        return next((n for n in self.nodes if name in n.outputs), None)

    def is_zeros(self, name):
        if name in self.constants:
            return not self.constants[name].any()
        n = self.producer(name)
        return bool(n) and ((n.op in ("Expand", "Cast") and self.is_zeros(self.resolve(n.inputs[0]))) or
                            (n.op == "ConstantOfShape" and not numpy.any(numpy_helper.to_array(
                                n.attributes["value"]) if "value" in n.attributes else 0)))

    def same_extent(self, node):
        """Reshape(Squeeze(Shape of one dimension), [-1]) is that Shape."""
        inner = self.producer(node.inputs[0])
        axis = self.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
        want = [-1] if node.op == "Reshape" else [0]
        if not inner or inner.op != "Squeeze" or axis is None or axis.tolist() not in (want, [1]):
            return False
        shape = self.producer(self.resolve(inner.inputs[0]))
        if not shape or shape.op != "Shape" or shape.attributes.get("end", 0) - shape.attributes.get("start", 0) != 1:
            return False
        self.replaced[node.outputs[0]] = shape.outputs[0]
        return True

    def pieces(self, name):
        """A shape's entries, as far as they are known: numbers, symbols, or None."""
        if name in self.constants:
            return (
                [int(v) for v in self.constants[name].reshape(-1)]
                if self.constants[name].dtype == numpy.int64
                else None
            )
        n = self.producer(name)
        if not n:
            return None
        if n.op == "Concat":
            parts = [self.pieces(self.resolve(i)) for i in n.inputs]
            return [p for part in parts for p in (part or [None])] if all(
                part or self.dims(i) == [1] for part, i in zip(parts, n.inputs)) else None
        if n.op == "Shape":
            dims = self.dims(self.resolve(n.inputs[0]))
            return dims and dims[n.attributes.get("start", 0):n.attributes.get("end", len(dims))]
        return None

    def plain_target(self, node):
        """A Reshape's target as a constant, with 0 for an extent that stays and one -1."""
        if node.inputs[1] in self.constants or not (p := self.pieces(node.inputs[1])):
            return
        dims = self.dims(node.inputs[0])
        target = []
        for k, extent in enumerate(p):
            if isinstance(extent, str) and dims and k < len(dims) and dims[k] == extent:
                target.append(0)
            else:
                target.append(extent if isinstance(extent, int) and extent != 0 else -1)
        if target.count(-1) > 1 or (0 in p):
            return
        name = node.outputs[0] + "_shape"
        self.set_constant(name, numpy.asarray(target, numpy.int64))
        node.inputs[1] = name
        node.attributes.pop("allowzero", None)

    def fold(self, node):
        if (
            any(i and i not in self.constants for i in node.inputs)
            or node.domain
            or node.op in ("If", "Loop", "Scan")
            or any(o in self.outputs for o in node.outputs)
        ):
            return False
        whole = all(self.dtype(i) in WHOLE for i in node.inputs if i)
        if node.op not in MOVES and not (whole and node.op not in ("Random", "Bernoulli")):
            return False
        feeds = {i: self.constants[i] for i in node.inputs if i}
        if sum(v.size for v in feeds.values()) > FOLD_ELEMENTS:
            return False
        try:
            made = self.run(node, feeds)
        except Exception:  # the reference evaluator lacks it, or the node is wrong: Assay will say
            return False
        floating = any(numpy.issubdtype(m.dtype, numpy.floating) for m in made)
        if any(m.size > FOLD_ELEMENTS for m in made) or (floating and node.op not in MOVES):
            return False
        if node.op in ("Expand", "ConstantOfShape", "Tile") and any(m.size > 16 for m in made):
            return False
        for name, value in zip(node.outputs, made):
            self.set_constant(name, value)
        return True

    def run(self, node, feeds):
        inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                  for k, v in feeds.items()]
        outputs = [helper.make_empty_tensor_value_info(o) for o in node.outputs]
        model = helper.make_model(helper.make_graph([node.proto()], "g", inputs, outputs),
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        return [numpy.asarray(r) for r in onnx.reference.ReferenceEvaluator(model).run(None, feeds)]

    def drop_unused(self):
        used = set(self.outputs)
        kept = []
        for n in reversed(self.nodes):
            if any(o in used for o in n.outputs):
                kept.append(n)
                used.update(i for i in n.inputs if i)
        self.nodes = kept[::-1]
        self.constants = {k: v for k, v in self.constants.items() if k in used}
        self.unused = [i for i in self.inputs if i not in used]

    # ---- for the writer ---------------------------------------------------------------------------------------------

    def merge_constants(self):
        """One constant where several are equal."""
        seen, replaced = {}, {}
        for name, value in self.constants.items():
            key = (value.dtype.str, value.shape, value.tobytes())
            replaced[name] = seen.setdefault(key, name)
        for n in self.nodes:
            n.inputs = [replaced.get(i, i) for i in n.inputs]
        self.constants = {k: v for k, v in self.constants.items() if replaced[k] == k}

    def transposed_weights(self):
        """MatMul with a transposed matrix, and the row added to it, are one Gemm where all is two-dimensional."""
        uses = {}
        for n in self.nodes:
            for i in n.inputs:
                uses.setdefault(i, []).append(n)
        def alone(name):
            return name not in self.outputs and len(uses.get(name, ())) == 1
        for n in list(self.nodes):
            turn = self.producer(n.inputs[1]) if n.op == "MatMul" else None
            if not turn or turn.op != "Transpose" or list(turn.attributes.get("perm", [])) != [1, 0] or \
                    len(self.dims(n.inputs[0]) or ()) != 2:
                continue
            n.op, n.attributes, n.inputs = "Gemm", {"transB": 1}, [n.inputs[0], turn.inputs[0]]
            added = uses[n.outputs[0]][0] if alone(n.outputs[0]) else None
            if added and added.op == "Add":
                row = added.inputs[1 - added.inputs.index(n.outputs[0])]
                if row in self.inputs and len(self.dims(row)) == 1:
                    n.inputs.append(row)
                    n.outputs = list(added.outputs)
                    self.nodes.remove(added)
        self.drop_unused()

    def readable_names(self):
        """A mapping of every name but those of inputs and outputs: a value is called after its operator, a constant
        after its use."""
        names, counts = {}, {}
        def give(name, base):
            if name and name not in names and name not in self.outputs and name not in self.inputs:
                counts[base] = counts.get(base, 0) + 1
                names[name] = base if counts[base] == 1 else f"{base}{'_' if base[-1].isdigit() else ''}{counts[base]}"
        for n in self.nodes:
            for k, i in enumerate(n.inputs):
                if i in self.constants:
                    roles = CONSTANT_ROLES.get("Reduce" if n.op.startswith("Reduce") else n.op, {})
                    give(i, roles.get(k, "number" if self.constants[i].size == 1 else "constant"))
            outputs = EXTRA_OUTPUTS.get(n.op, ())
            for k, o in enumerate(n.outputs):
                give(o, VALUE_NAMES.get(n.op, n.op.lower()) if k == 0 or k > len(outputs) else outputs[k - 1])
        return names

    def rename(self, names):
        for n in self.nodes:
            n.inputs = [names.get(i, i) for i in n.inputs]
            n.outputs = [names.get(o, o) for o in n.outputs]
        self.inputs = [names.get(i, i) for i in self.inputs]
        self.outputs = [names.get(o, o) for o in self.outputs]
        self.constants = {names.get(k, k): v for k, v in self.constants.items()}
        self.types = {names.get(k, k): v for k, v in self.types.items()}
