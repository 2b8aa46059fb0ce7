# SPDX-License-Identifier: Apache-2.0
"""An .onnx file to a task. Symbolic dimensions stay symbolic; floating constants become weights."""
import itertools
import pathlib
import re
import time
import warnings

import numpy
import onnx
import onnx.reference
import onnx.reference.op_run
import onnx.version_converter
from onnx import TensorProto, numpy_helper

from . import NOTES, Refused, note
from .check import difference
from .control import graphs, has_control, without_control
from .distributions import fit
from .graph import FLOATING, Graph, plain_model
from .sizes import SMALL_ELEMENTS, Sizes
from .task import Draft, Written, bindings, given_distributions, overridden
from .text import DTYPES, dtype_name, identifiers

TOLERANCE = 1e-5  # of answers that were computed in single precision
CHECK_SECONDS = 60  # after which no further workload is compared
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)  # of symbolic dimensions that nobody binds: the first that fits
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


NUMPY = {dtype: onnx.helper.tensor_dtype_to_np_dtype(dtype) for dtype in DTYPES}
CARRIERS = ("Cast", "Gather", "Slice", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Identity", "Flatten", "Transpose")


def doubled(model):
    """The model with double precision in place of single."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)

    def widen(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(numpy.float64), tensor.name))

    def through(graph):
        for i in graph.initializer:
            widen(i)
        for v in (*graph.input, *graph.output):
            if v.type.tensor_type.elem_type == TensorProto.FLOAT:
                v.type.tensor_type.elem_type = TensorProto.DOUBLE
        del graph.value_info[:]
        for n in graph.node:
            for a in n.attribute:
                if a.type == onnx.AttributeProto.TENSOR:
                    widen(a.t)
                if n.op_type == "Cast" and a.name == "to" and a.i == TensorProto.FLOAT:
                    a.i = TensorProto.DOUBLE
            for inner in graphs(n):
                through(inner)
    through(wide.graph)
    return wide


class Model:
    """sizes: of symbolic dimensions that the options do not bind, at full size."""

    def __init__(self, options, path, model, sizes):
        self.options, self.path, self.model, self.sizes = options, path, plain_model(model), sizes
        self.graph = self.read(self.model)
        self.originals = list(self.graph.inputs)  # in the order of input_0.pb, input_1.pb, ...
        self.data = self.test_data(options.test_data)
        self.weights, self.settled = {}, {}
        self.given = {}
        for item in options.dim:
            self.given.update(bindings(item, "--dim"))
        self.settle()
        self.flat = has_control(self.model)
        if self.flat:
            self.original = self.as_settled(self.model)
            flat = without_control(self.original, self.feeds())
            self.model, self.compared_flat = plain_model(flat.model), flat.compared
            self.graph = self.read(self.model)

    def read(self, model):
        """The graph; input dimensions without a name are D1, D2, ..."""
        g, anonymous = Graph(model), 0
        for name in g.inputs:
            for k, d in enumerate(g.dims(name) or ()):
                if d is None:
                    anonymous += 1
                    g.dims(name)[k] = f"D{anonymous}"
        return g

    @staticmethod
    def open_dims(model, options):
        """Whether inputs have dimensions without a number that no option binds."""
        constants = {i.name for i in model.graph.initializer}
        names = [d.dim_param for v in model.graph.input if v.name not in constants
                 for d in v.type.tensor_type.shape.dim if d.dim_value <= 0]
        return len(set(names)) > len(options.dim) or "" in names

    def free(self):
        """Symbols of the inputs whose full size nothing gives."""
        found = [] if self.data else [identifiers([d])[d] for n in self.graph.inputs if n not in self.weights
                                      for d in self.graph.dims(n) or () if isinstance(d, str)]
        return [d for d in dict.fromkeys(found) if d not in self.given]

    # ---- whole numbers that are settings, and control flow ----------------------------------------------------------

    def settle(self):
        """Inputs of one whole number that --input makes a constant, or that are compared with one, are constants."""
        given = given_distributions(self.options)
        for name in list(self.graph.inputs):
            dims = self.graph.dims(name)
            if self.graph.dtype(name) not in (TensorProto.INT64, TensorProto.INT32) or dims is None \
                    or any(d != 1 for d in dims) or self.data:
                continue
            match = re.fullmatch(r"constant\((-?\d+)\)( fixed)?", given.get(name, ""))
            found = int(match[1]) if match else None if name in given else self.compared(name)
            if found is not None:
                value = numpy.full(dims, found, NUMPY[self.graph.dtype(name)])
                self.settled[name] = value
                self.graph.set_constant(name, value, self.graph.dtype(name))
                self.graph.inputs.remove(name)
                if not match:
                    note(f"{name} is {found}, which the model compares it with (--input '{name}=constant(N)' for "
                         "another)")

    def carried(self, name):
        """The nodes that read an input, or what only moves its elements."""
        names, readers = {name}, []
        for n in self.graph.nodes:
            if names & set(n.inputs):
                readers.append((n, next(i for i in n.inputs if i in names)))
                if n.op in CARRIERS and n.inputs[0] in names:
                    names.update(n.outputs)
        return readers

    def compared(self, name):
        """The one number that an input is held against by Equal."""
        for n, i in self.carried(name):
            other = self.graph.constants.get(n.inputs[1 - n.inputs.index(i)]) if n.op == "Equal" else None
            if other is not None and other.size == 1:
                return int(other.ravel()[0])
        return None

    def as_settled(self, model):
        """The model with its settings in place of those inputs."""
        made = onnx.ModelProto()
        made.CopyFrom(model)
        kept = [i for i in made.graph.input if i.name not in self.settled]
        del made.graph.input[:]
        made.graph.input.extend(kept)
        made.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in self.settled.items())
        return made

    def feeds(self):
        """Inputs of the full sizes: those of the test data, or ones."""
        if self.data:
            return dict(zip(self.originals, self.data[0]))
        made = {}
        for name in self.graph.inputs:
            if self.graph.dims(name) is None:
                raise Refused(f"the input {name} does not say how many dimensions it has")
            row = [d if isinstance(d, int) else self.full_size(identifiers([d])[d]) for d in self.graph.dims(name)]
            made[name] = numpy.ones(row, NUMPY.get(self.graph.dtype(name), numpy.float32))
        return made

    def full_size(self, symbol):
        return self.given.get(symbol, self.sizes.get(symbol, self.sizes[""]))

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
        for n, i in self.carried(name):
            other = self.graph.constants.get(n.inputs[1 - n.inputs.index(i)]) if n.op == "Equal" else None
            if other is not None and other.size > 1 and other.min() >= 0:
                text = f"integers({int(other.min())}, {int(other.max()) + 1})"
                note(f"{name}: {text}, the numbers that the model compares it with")
                return text
            depth = self.graph.constants.get(n.inputs[1]) if n.op == "OneHot" and n.inputs[0] == i else None
            if depth is not None and depth.size == 1:
                return f"integers(0, {int(depth.ravel()[0])})"
        one = all(d == 1 for d in self.graph.dims(name) or ("?",))
        raise Refused(f"nothing says what whole numbers the input {name} holds: --input "
                      f"'{name}={'constant(N)' if one else 'integers(0, N)'}'")

    # ---- sizes ------------------------------------------------------------------------------------------------------

    def extents(self):
        """input -> extents, numbers or symbols; and what each symbol is in full."""
        rows, full = {}, {}
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
                symbol = identifiers([d])[d]
                row.append(symbol)
                if symbol in full:
                    continue
                known = symbol not in self.given and name in shapes
                full[symbol] = shapes[name][k] if known else self.full_size(symbol)
                if symbol not in self.given:
                    note(f"dimension {symbol} is {full[symbol]} in full, "
                         + ("as in the test data" if known else f"for want of --dim {symbol}=N"))
            rows[name] = row
        for symbol in self.given:
            if symbol not in full:
                raise Refused(f"--dim {symbol}: the model has no such dimension; it has {', '.join(full) or 'none'}")
        return rows, full

    # ---- all of it --------------------------------------------------------------------------------------------------

    def draft(self, assay):
        for name in self.graph.inputs:
            dtype_name(self.graph.dtype(name), f"the input {name}")
        self.open = self.free()
        self.prepare()
        g = self.graph
        rows, full = self.extents()
        everything = [*g.inputs, *g.outputs, *(o for n in g.nodes for o in n.outputs if o), *g.constants]
        names = identifiers(dict.fromkeys(everything))
        given = {n: t for n, t in given_distributions(self.options).items() if n not in self.settled}
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
        d = Draft(self.options, self.path, g, overridden(given, inputs), {}, f"the ONNX model {self.path.name}")
        self.choose_sizes(d, assay, full)
        if self.flat and not self.compared_flat:
            note("what was written out is not compared with the loops themselves, which ONNX's reference evaluator does "
                 "not know so; dimensions stay as they are")
            d.workloads = {w: b for w, b in d.workloads.items() if w == "full"}
            d.workloads = {"small": d.workloads["full"], **d.workloads}
        return d

    def choose_sizes(self, d, assay, full):
        """small and ragged by asking assay which sizes fit together."""
        weights = sum(numpy.prod(dims) for _, _, dims, _ in d.inputs if all(isinstance(e, int) for e in dims))

        def run(binding):  # elements of what varies
            d.workloads = {"small": binding, "full": binding}
            with Written(d.write(self.output_dims)) as file:
                row = assay.show(file)["workloads"][0]
            return max(row["bytes"] // 4 - int(weights), 1), row["flops"]
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
        self.merge(d, self.ties(d, cost))

    def ties(self, d, cost):
        """Symbols that are never different from an earlier one and cannot be, to that."""
        found, first = {}, {}
        small = d.workloads["small"]
        for s in small:
            sizes = tuple(b[s] for b in d.workloads.values())
            before = first.setdefault(sizes, s)
            if before != s and len(set(sizes)) > 2 and cost({**small, s: small[s] + 1}) is None:
                found[s] = before
        return found

    def merge(self, d, known):
        """Symbols that are another one, or a number."""
        def row(dims):
            return [known.get(e, e) for e in dims]
        d.inputs = [(name, dtype, row(dims), text) for name, dtype, dims, text in d.inputs]
        self.output_dims = [row(dims) for dims in self.output_dims]
        d.workloads = {w: {s: n for s, n in b.items() if s not in known} for w, b in d.workloads.items()}

    def check(self, assay, d, tolerance):
        """(what the answers were compared with, the largest error). Ragged workloads that differ are left out: the
        original computes something else there."""
        with Written(d.write(self.output_dims)) as file:
            if self.data:
                feeds = [self.data[0][self.originals.index(n)] if n not in self.weights else self.weights[n]
                         for n in (self.source[i[0]] for i in d.inputs)]
                _, ours = assay.answer(file, feeds=feeds)
                return "with the model's test data", self.worst(ours, self.data[1], tolerance)
            error, how, start = None, None, time.monotonic()
            for workload in [w for w in d.workloads if w != "full"]:
                if time.monotonic() - start > CHECK_SECONDS:
                    note(f"workload {workload} was not compared with the model, as that takes long")
                    continue
                try:
                    drawn, ours = assay.answer(file, workload)
                    theirs, how = self.reference({self.source[i[0]]: v for i, v in zip(d.inputs, drawn)})
                    found = self.worst(ours, theirs, tolerance)
                except Refused as e:
                    if workload == "small":
                        raise
                    note(f"no workload of the sizes {d.workloads.pop(workload)}: {e}")
                    continue
                error = found if error is None else max(error, found)
        if self.flat:
            bound = list(d.workloads.values())
            self.merge(d, {s: n for s, n in bound[0].items() if all(b[s] == n for b in bound)})
        return f"with ONNX's reference evaluator in {how} precision", error

    def worst(self, ours, theirs, tolerance):
        error, why = max((difference(a, b) for a, b in zip(ours, theirs)), key=lambda e: e[0])
        if not error <= tolerance:
            clip = any(n.op in ("LSTM", "GRU", "RNN") and "clip" in n.attributes for n in self.graph.nodes)
            raise Refused("the task does not agree with the original: "
                          + (why or f"the largest error is {error:.2g} of the largest output")
                          + (" (ONNX's reference evaluator ignores the attribute clip: give --test-data)" if clip and
                             not self.data else ""))
        return error

    def reference(self, feeds):
        """What the model as it was gives, with drawn weights in place of its constants, and in which precision."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model if self.flat else self.as_settled(self.model))
        for k, i in enumerate(model.graph.initializer):
            if i.name in feeds:
                model.graph.initializer[k].CopyFrom(numpy_helper.from_array(feeds[i.name], i.name))
        given = {n: feeds[n] for n in self.originals if n in feeds}
        for n in self.originals:  # what nothing reads is no input of the task
            if n not in given and n not in self.settled:
                given[n] = self.feeds()[n]
        wide = {n: v.astype(numpy.float64) if v.dtype == numpy.float32 else v for n, v in given.items()}
        if self.flat and self.compared_flat:  # first with its own weights: what replaced its control flow computes the same
            self.worst(evaluated(self.model, given)[0], evaluated(self.original, given)[0], TOLERANCE)
        return evaluated(model, given)


def corrected(model):
    """ONNX's operators where its reference evaluator computes something else."""
    class GlobalMaxPool(onnx.reference.op_run.OpRun):  # of images only
        def _run(self, x):
            return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)

    class BatchNormalization(onnx.reference.op_run.OpRun):  # up to version 13 it took the batch's statistics
        def _run(self, x, scale, bias, mean, var, epsilon=None, **_):
            shape = (1, -1) + (1,) * (x.ndim - 2)
            normal = (x - mean.reshape(shape)) / numpy.sqrt(var.reshape(shape) + epsilon)
            return ((normal * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype),)
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
    return [GlobalMaxPool] + [BatchNormalization] * (9 <= version < 14)


def evaluated(model, given):
    """The outputs, in double precision if the evaluator can, so that what is compared is not its rounding; and in which
    precision that is."""
    wide = {n: v.astype(numpy.float64) if v.dtype == numpy.float32 else v for n, v in given.items()}
    error = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for how, trial, values in (("double", doubled(model), wide), ("single", model, given)):
            try:
                return onnx.reference.ReferenceEvaluator(trial, new_ops=corrected(trial)).run(None, values), how
            except Exception as e:  # it lacks operators, and says so in many ways
                error = e
    raise Refused(f"ONNX's reference evaluator cannot run the model to compare with: {error}") from error


def first_that_fits(options, path, model, assay):
    """The model at the first sizes of its open dimensions that it takes, and its draft; then as few of them as can be
    are larger than the least."""
    def attempt(sizes):
        before = list(NOTES)
        try:
            m = Model(options, path, model, sizes)
            return m, m.draft(assay)
        except Refused:
            NOTES[:] = before
            raise
    first = None
    for size in SIZES:
        try:
            found = attempt({"": size})
            break
        except Refused as e:
            first = first or e
            if not any(w in str(e) for w in ("assay says", "at the full sizes", "shapes are not known")):
                raise
            if "opset" in str(e) or not Model.open_dims(model, options):
                raise first from e
    else:
        raise first
    sizes = {"": size}
    free = found[0].open if size > SIZES[0] else []
    for some in [(s,) for s in free] + [p for p in itertools.combinations(free, 2)]:
        if any(s in sizes for s in some):
            continue
        before = list(NOTES)
        try:
            NOTES.clear()
            found = attempt({**sizes, **dict.fromkeys(some, SIZES[0])})
            sizes.update(dict.fromkeys(some, SIZES[0]))
        except Refused:
            NOTES[:] = before
    return found


def make(options, path, assay):
    model = load(path)
    try:
        m, d = first_that_fits(options, path, model, assay)
    except Refused as first:
        versions = {o.domain: o.version for o in model.opset_import}
        if "opset" not in str(first) and "version" not in str(first):
            raise
        try:
            converted = onnx.version_converter.convert_version(model, 23)
        except Exception as e:
            raise Refused(f"{first} (and ONNX cannot convert it from opset {versions.get('', '?')}: {e})") from e
        note(f"the model was converted from opset {versions.get('', '?')} to 23")
        m, d = first_that_fits(options, path, converted, assay)
    source, error = m.check(assay, d, TOLERANCE if options.tolerance is None else options.tolerance)
    words = d.write(m.output_dims)
    weights = sum("static" in i[3] for i in d.inputs)
    types = {DTYPES.get(d.graph.dtype(o)) for o in d.graph.outputs}
    report = [
        f"{d.name}: {len(d.graph.nodes)} operators of opset {d.graph.opset}, {len(d.inputs) - weights} inputs, "
        f"{weights} weights, outputs of {', '.join(sorted(map(str, types)))}",
        f"agrees {source} to {error:.1e}",
    ]
    return words, report


__all__ = ["make", "SMALL_ELEMENTS"]
