"""An .onnx file to a task. Symbolic dimensions stay symbolic; floating constants become weights."""
import pathlib

import numpy
import onnx
import onnx.reference
import onnx.version_converter
from onnx import TensorProto, numpy_helper

from . import Refused, note
from .check import difference
from .distributions import fit
from .graph import FLOATING, Graph, plain_model
from .sizes import SMALL_ELEMENTS, Sizes
from .task import Draft, Written, bindings, given_distributions, overridden
from .text import DTYPES, dtype_name, identifiers

TOLERANCE = 1e-5  # of answers that were computed in single precision
DEFAULT_SIZE = 4  # of a symbolic dimension that nobody binds
# Inputs of operators that shapes depend on, or that must not be drawn: they stay constants.
SETTINGS = {"Resize": (1, 2, 3), "Upsample": (1,), "Pad": (1, 2), "Clip": (1, 2), "OneHot": (1, 2), "Dropout": (1, 2),
            "Pow": (1,), "Range": (0, 1, 2), "Expand": (1,), "Reshape": (1,), "Tile": (1,)}


def load(path):
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except Exception as e:  # protobuf's and onnx's own kinds
        raise Refused(f"this is not a valid ONNX model: {str(e).splitlines()[0][:300]}") from e
    return model


class Model:
    def __init__(self, options, path, model):
        self.options, self.path, self.model = options, path, plain_model(model)
        self.graph = Graph(self.model)
        self.originals = list(self.graph.inputs)  # in the order of input_0.pb, input_1.pb, ...
        self.data = self.test_data(options.test_data)
        self.weights = {}

    def test_data(self, folder):
        """(inputs, outputs) of a folder, or None."""
        folder = pathlib.Path(folder) if folder else self.path.parent / "test_data_set_0"
        if not folder.is_dir():
            if self.options.test_data:
                raise Refused(f"--test-data {folder}: there is no such folder")
            return None
        def read(kind, count):
            files = [folder / f"{kind}_{k}.pb" for k in range(count)]
            if not all(f.is_file() for f in files):
                raise Refused(f"{folder} lacks {next(f.name for f in files if not f.is_file())}")
            return [numpy_helper.to_array(onnx.load_tensor(str(f))) for f in files]
        try:
            return read("input", len(self.graph.inputs)), read("output", len(self.graph.outputs))
        except (TypeError, ValueError) as e:
            raise Refused(f"{folder}: {e}") from e

    # ---- the graph --------------------------------------------------------------------------------------------------

    def settings(self):
        return {n.inputs[k] for n in self.graph.nodes for k in SETTINGS.get(n.op, ()) if k < len(n.inputs)}

    def prepare(self):
        g = self.graph
        fixed = self.settings()
        for k, name in enumerate(self.originals):
            if name in fixed and self.data and g.dtype(name) not in FLOATING:
                g.set_constant(name, self.data[0][k])
                g.inputs.remove(name)
                note(f"{name} says what shape a tensor has; it is the constant that the test data give")
        # Before anything is folded: a weight that is transposed stays the weight that it is.
        for name, value in list(g.constants.items()):
            floating = self.options.weights == "inputs" and g.dtype(name) in FLOATING
            if floating and name not in self.settings() and value.size >= self.options.weights_from:
                self.weights[name] = g.constants.pop(name)
                g.inputs.append(name)
        g.simplify()
        g.merge_constants()
        used = {i for n in g.nodes for i in n.inputs} | set(g.outputs)
        for name in list(g.inputs):
            if name not in used:
                note(f"{name} is never used; it is not an input of the task")
                g.inputs.remove(name)
        if set(g.outputs) & set(g.inputs) or not g.inputs:
            raise Refused("the model computes nothing of its inputs" if not g.inputs else
                          "an output of the model is one of its inputs: there is nothing to compute")

    def distribution(self, name):
        positive = any(n.op == "BatchNormalization" and n.inputs[4:5] == [name] for n in self.graph.nodes)
        if name in self.weights:
            text, assumed = fit(self.weights[name])
            values = self.weights[name]
            if values.min() > 0 and text.startswith("normal"):
                text, assumed = (
                    f"uniform({values.min():.3g}, {values.max():.3g})",
                    "positive: between least and greatest",
                )
            if assumed:
                note(f"{name}: {text} ({assumed})")
            return text + " static" + (" fixed" if positive else "")
        if self.data:
            value = self.data[0][self.originals.index(name)]
            if self.graph.dtype(name) in FLOATING:
                value = value.astype(numpy.float64)
            text, assumed = fit(value)
            note(f"{name}: {text}, from the test data" + (f" ({assumed})" if assumed else ""))
        elif self.graph.dtype(name) in FLOATING:
            text = "normal(0, 1)"
            note(f"{name}: {text}, as nothing says what it is like (--input {name}=...)")
        elif self.graph.dtype(name) == TensorProto.BOOL:
            text = "bernoulli(0.5)"
            note(f"{name}: {text}, as nothing says what it is like (--input {name}=...)")
        else:
            text = self.indices(name)
        return text + (" fixed" if positive or self.graph.dtype(name) not in FLOATING else "")

    def indices(self, name):
        """Whole numbers that choose rows of a table."""
        for n in self.graph.nodes:
            if n.op == "Gather" and n.inputs[1] == name:
                dims = self.graph.dims(n.inputs[0])
                if dims and isinstance(dims[n.attributes.get("axis", 0)], int):
                    return f"integers(0, {dims[n.attributes.get('axis', 0)]})"
        raise Refused(f"nothing says what whole numbers the input {name} holds: --input '{name}=integers(0, N)'")

    # ---- sizes ------------------------------------------------------------------------------------------------------

    def extents(self):
        """input -> extents, numbers or symbols; and what each symbol is in full."""
        given = {}
        for item in self.options.dim:
            given.update(bindings(item, "--dim"))
        rows, full, anonymous = {}, {}, 0
        shapes = {n: v.shape for n, v in zip(self.originals, self.data[0])} if self.data else {}
        for name in self.graph.inputs:
            dims = self.graph.dims(name)
            if dims is None and name in shapes:
                dims = list(shapes[name])
            if dims is None:
                raise Refused(f"the input {name} does not say how many dimensions it has")
            if 0 in dims:
                raise Refused(f"the input {name} is empty: a task's dimensions are at least 1")
            row = []
            for k, d in enumerate(dims):
                if isinstance(d, int):
                    row.append(d)
                    continue
                anonymous += d is None
                symbol = identifiers([d])[d] if d else f"D{anonymous}"
                row.append(symbol)
                if symbol in full:
                    continue
                full[symbol] = given.get(symbol, shapes[name][k] if name in shapes else DEFAULT_SIZE)
                if symbol not in given:
                    note(
                        f"dimension {symbol} is {full[symbol]} in full, "
                        + ("as in the test data" if name in shapes else f"for want of --dim {symbol}=N")
                    )
            rows[name] = row
        for symbol in given:
            if symbol not in full:
                raise Refused(f"--dim {symbol}: the model has no such dimension; it has {', '.join(full) or 'none'}")
        return rows, full

    # ---- all of it --------------------------------------------------------------------------------------------------

    def draft(self, assay):
        for name in self.graph.inputs:
            dtype_name(self.graph.dtype(name), f"the input {name}")
        self.prepare()
        g = self.graph
        rows, full = self.extents()
        everything = [*g.inputs, *g.outputs, *(o for n in g.nodes for o in n.outputs if o), *g.constants]
        names = identifiers(dict.fromkeys(everything))
        given = given_distributions(self.options)
        distributions = {n: given.get(names[n]) or self.distribution(n) for n in g.inputs}
        self.source = {names[n]: n for n in g.inputs}
        inputs = [(names[n], g.dtype(n), rows[n], distributions[n]) for n in g.inputs]
        known = set(full)
        self.output_dims = []
        for i, o in enumerate(g.outputs):
            dims = g.dims(o) if g.dims(o) is not None else list(self.data[1][i].shape) if self.data else None
            if dims is None:
                raise Refused(f"the number of dimensions of the output {o} is not known")
            self.output_dims.append([d if isinstance(d, int) and d > 0 else d if d in known else f"Y{i}_{k}"
                                     for k, d in enumerate(dims)])
        g.rename(names)
        d = Draft(self.options, self.path, g, overridden(self.options, inputs), {}, f"the ONNX model {self.path.name}")
        self.choose_sizes(d, assay, full)
        return d

    def choose_sizes(self, d, assay, full):
        """small and ragged by asking assay which sizes fit together."""
        def run(binding):
            d.workloads = {"small": binding, "full": binding}
            with Written(d.write(self.output_dims)) as file:
                row = assay.show(file)["workloads"][0]
            return row["bytes"] // 4, row["flops"]
        sizes = Sizes(list(full), full, run)
        try:
            run(full)
        except Refused as e:
            raise Refused(str(e)) from e
        def cost(binding):
            try:
                return Sizes.cost(sizes, binding)
            except Refused:
                return None
        sizes.cost = cost
        small = {**full, **bindings(self.options.small, "--small")} if self.options.small else sizes.small()
        if set(small) != set(full):
            raise Refused(f"--small: the model's dimensions are {', '.join(full) or 'all fixed'}")
        ragged = sizes.ragged(small) if full else []  # tries them out in d
        d.workloads = {"small": small, "full": dict(full), **{f"ragged{k}": b for k, b in enumerate(ragged)}}

    def agrees(self, assay, file, d):
        """What the answers were compared with, and the error."""
        outputs = None
        if self.data:
            feeds = [self.data[0][self.originals.index(n)] if n not in self.weights else self.weights[n]
                     for n in (self.source[i[0]] for i in d.inputs)]
            outputs, source = self.data[1], "with the model's test data"
            _, ours = assay.answer(file, feeds=feeds)
        else:
            drawn, ours = assay.answer(file, "small")
            feeds = {self.source[i[0]]: v for i, v in zip(d.inputs, drawn)}
            outputs, source = self.reference(feeds), "with ONNX's reference evaluator (small)"
        return max((difference(a, b) for a, b in zip(ours, outputs)), key=lambda e: e[0]), source

    def reference(self, feeds):
        """The model as it was, with drawn weights in place of its constants."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        for k, i in enumerate(model.graph.initializer):
            if i.name in feeds:
                model.graph.initializer[k].CopyFrom(numpy_helper.from_array(feeds[i.name], i.name))
        try:
            return onnx.reference.ReferenceEvaluator(model).run(
                None, {n: feeds[n] for n in self.originals if n in feeds}
            )
        except Exception as e:  # it lacks operators, and says so in many ways
            raise Refused(f"ONNX's reference evaluator cannot run the model to compare with: {e}") from e


def make(options, path, assay):
    model = load(path)
    try:
        m = Model(options, path, model)
        d = m.draft(assay)
    except Refused as first:
        versions = {o.domain: o.version for o in model.opset_import}
        if "opset" not in str(first) and "version" not in str(first):
            raise
        try:
            converted = onnx.version_converter.convert_version(model, 23)
        except Exception as e:
            raise Refused(f"{first} (and ONNX cannot convert it from opset {versions.get('', '?')}: {e})") from e
        note(f"the model was converted from opset {versions.get('', '?')} to 23")
        m = Model(options, path, converted)
        d = m.draft(assay)
    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    words = d.write(m.output_dims)
    with Written(words) as file:
        (error, why), source = m.agrees(assay, file, d)
    if not error <= tolerance:
        raise Refused(
            f"the task does not agree {source}: " + (why or f"the largest error is {error:.2g} of the largest output")
        )
    weights = sum("static" in i[3] for i in d.inputs)
    types = {DTYPES.get(d.graph.dtype(o)) for o in d.graph.outputs}
    report = [
        f"{d.name}: {len(d.graph.nodes)} operators of opset {d.graph.opset}, {len(d.inputs) - weights} inputs, "
        f"{weights} weights, outputs of {', '.join(sorted(map(str, types)))}",
        f"agrees {source} to {error:.1e}",
    ]
    return words, report


__all__ = ["make", "SMALL_ELEMENTS"]
