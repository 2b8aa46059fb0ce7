# SPDX-License-Identifier: Apache-2.0
"""An ONNX model without If, Loop and Scan, which tasks do not have.

What a condition or a number of turns depends on decides what becomes of the operator:

    constants, or shapes alone   the branch that is taken at the full sizes takes its place; turns are written out
    data                         both branches are computed, and Where chooses, if their shapes are the same

What depends on shapes is found by running the model, as it came, with ONNX's reference evaluator."""
import numpy
import onnx
import onnx.reference
from onnx import AttributeProto, helper, numpy_helper

from . import Refused, note

CONTROL = ("If", "Loop", "Scan")
TURNS = 256  # of a loop that is written out
NODES = 20000  # of all that is written out


def graphs(node):
    return [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]


def attribute(node, name, fallback=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), fallback)


def is_control(node):
    return node.op_type in CONTROL and node.domain in ("", "ai.onnx")


def made_in(graph):
    """Names that the graph itself gives values to."""
    return {o for n in graph.node for o in n.output if o} | {i.name for i in graph.initializer} | \
        {i.name for i in graph.input}


def captured(graph):
    """Names from outside that a graph, or one inside it, reads."""
    read = {i for n in graph.node for i in n.input if i} | {o.name for o in graph.output}
    for n in graph.node:
        for inner in graphs(n):
            read |= captured(inner)
    return read - made_in(graph)


def renamed(node, names):
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(i, i) for i in node.input]
    copy.output[:] = [names.get(o, o) for o in node.output]
    for inner in graphs(copy):
        rename_inside(inner, names)
    return copy


def rename_inside(graph, names):
    kept = {k: v for k, v in names.items() if k not in made_in(graph)}
    nodes = [renamed(n, kept) for n in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for o in graph.output:
        o.name = kept.get(o.name, o.name)


class Plain:
    """A model whose control flow is taken out step by step."""

    def __init__(self, model):
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.count, self.by_shape, self.pairs = 0, False, []
        self.compared = True  # whether the reference evaluator runs all of it as ONNX says

    @property
    def graph(self):
        return self.model.graph

    def fresh(self, name):
        self.count += 1
        return f"{name}__{self.count}"

    def constant(self, name, value):
        name = self.fresh(name)
        self.graph.initializer.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def inlined(self, body, bound):
        """(nodes, names of the outputs) of a graph whose inputs are bound to values of the graph around it."""
        names = {n: self.fresh(n) for n in made_in(body)} | bound
        for i in body.initializer:
            copy = onnx.TensorProto()
            copy.CopyFrom(i)
            copy.name = names[i.name]
            self.graph.initializer.append(copy)
        return [renamed(n, names) for n in body.node], [names.get(o.name, o.name) for o in body.output]

    # ---- what decides -----------------------------------------------------------------------------------------------

    def by_data(self, name):
        """Whether a value depends on the elements of an input, not only on shapes."""
        producers = {o: n for n in self.graph.node for o in n.output}
        constants = {i.name for i in self.graph.initializer}
        inputs = {i.name for i in self.graph.input} - constants
        seen, open_ = set(), [name]
        while open_:
            now = open_.pop()
            if now in inputs:
                return True
            node = producers.get(now)
            if not node or now in seen or node.op_type in ("Shape", "Size"):
                continue
            seen.add(now)
            open_ += [i for i in node.input if i]
            for inner in graphs(node):
                open_ += captured(inner)
        return False

    def values(self, names, feeds):
        """What the model computes for these names."""
        if not names:
            return {}
        trial = onnx.ModelProto()
        trial.CopyFrom(self.model)
        del trial.graph.output[:]
        trial.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names)
        needed = set(names)  # only what they depend on is run
        kept = []
        for n in reversed(trial.graph.node):
            if needed & set(n.output):
                kept.append(n)
                needed.update(i for i in n.input if i)
                for inner in graphs(n):
                    needed |= captured(inner)
        kept = [renamed(n, {}) for n in reversed(kept)]
        del trial.graph.node[:]
        trial.graph.node.extend(kept)
        try:
            given = {i.name for i in trial.graph.input}
            made = onnx.reference.ReferenceEvaluator(trial).run(None, {k: v for k, v in feeds.items() if k in given})
        except Exception as e:  # it says so in many ways
            raise Refused("what conditions and loops depend on cannot be computed at the full sizes "
                          f"({', '.join(f'{k} {list(v.shape)}' for k, v in feeds.items())}): {e}; --dim NAME=N "
                          "gives others") from e
        return dict(zip(names, made))

    def wanted(self, node):
        """The values that a node's fate depends on."""
        if node.op_type == "Scan":
            return [node.input[-attribute(node, "num_scan_inputs")]]
        return [i for i in node.input[:2 if node.op_type == "Loop" else 1] if i]

    # ---- the operators ----------------------------------------------------------------------------------------------

    def branch(self, node, value):
        if numpy.size(value) != 1:
            raise Refused(f"the condition of {node.name or node.output[0]} has {numpy.size(value)} elements")
        taken = bool(numpy.ravel(value)[0])
        body = attribute(node, "then_branch" if taken else "else_branch")
        nodes, outputs = self.inlined(body, {})
        return nodes + [helper.make_node("Identity", [a], [b]) for a, b in zip(outputs, node.output) if b]

    def both(self, node):
        shape = self.constant("scalar", numpy.zeros(0, numpy.int64))
        condition = self.fresh("condition")
        nodes, sides = [helper.make_node("Reshape", [node.input[0], shape], [condition])], []
        for name in ("then_branch", "else_branch"):
            inner, outputs = self.inlined(attribute(node, name), {})
            nodes += inner
            sides.append(outputs)
        for a, b, out in zip(*sides, node.output):
            nodes += [helper.make_node("Where", [condition, a, b], [out])] if out else []
        return nodes, [(a, b) for a, b, out in zip(*sides, node.output) if out]

    def same_shapes(self, pairs, what):
        """Refuses branches whose results differ in shape: Where would broadcast one of them."""
        try:
            known = onnx.shape_inference.infer_shapes(self.model, data_prop=True).graph
        except onnx.shape_inference.InferenceError as e:
            raise Refused(f"shapes are not known: {e}") from e
        types = {v.name: v.type.tensor_type for v in [*known.value_info, *known.input, *known.output]}
        types.update({i.name: helper.make_tensor_type_proto(i.data_type, i.dims).tensor_type
                      for i in known.initializer})
        for pair in pairs:
            rows = [[d.dim_value or d.dim_param for d in types[n].shape.dim] if n in types else None for n in pair]
            if None in rows or rows[0] != rows[1] or not all(rows[0]):
                raise Refused(f"{what} is an If that data decide, and its branches' shapes are not known to be the "
                              f"same ({rows[0]}, {rows[1]}): tasks have no control flow")

    def stacked(self, parts, out, axis):
        """The values of all turns along a new axis."""
        where = self.constant("axes", numpy.asarray([axis], numpy.int64))
        names = [self.fresh(out) for _ in parts]
        nodes = [helper.make_node("Unsqueeze", [p, where], [n]) for p, n in zip(parts, names)]
        return nodes + [helper.make_node("Concat", names, [out], axis=axis)]

    def limited(self, node, turns, body):
        if turns < 1 or turns > TURNS or turns * len(body.node) > NODES:
            raise Refused(f"{node.op_type} {node.output[0]} has {turns} turns of {len(body.node)} operators; they are "
                          f"written out, at least 1 and at most {TURNS}, and {NODES} operators in all")

    def loop(self, node, values):
        body = attribute(node, "body")
        going = node.input[1] if len(node.input) > 1 else ""
        if not node.input[0] or (going and not numpy.ravel(values[going])[0]) or not self.goes_on(body):
            raise Refused(f"the loop {node.output[0]} ends when data say so: tasks have no control flow")
        turns = int(numpy.ravel(values[node.input[0]])[0])
        self.limited(node, turns, body)
        carried, nodes, scanned = list(node.input[2:]), [], []
        for k in range(turns):
            inputs = [self.constant("turn", numpy.asarray(k, numpy.int64)), self.constant("going", numpy.asarray(True))]
            bound = dict(zip([i.name for i in body.input], inputs + carried))
            inner, outputs = self.inlined(body, bound)
            nodes += inner
            carried = outputs[1:1 + len(carried)]
            scanned.append(outputs[1 + len(carried):])
        self.compared = self.compared and not scanned[0]  # it joins them along an axis that is there
        return nodes + self.ends(node, carried, scanned, [0] * len(scanned[0]))

    def goes_on(self, body):
        """Whether a loop's body never ends it: its condition is the one that came in, or true."""
        producers = {o: n for n in body.node for o in n.output}
        constants = {i.name: numpy_helper.to_array(i) for i in body.initializer}
        name = body.output[0].name
        while name in producers and producers[name].op_type in ("Identity", "Cast"):
            name = producers[name].input[0]
        node = producers.get(name)
        if node is not None and node.op_type == "Constant" and attribute(node, "value") is not None:
            return bool(numpy_helper.to_array(attribute(node, "value")).ravel()[0])
        outer = {i.name: i for i in self.graph.initializer}
        if name in outer:
            return bool(numpy_helper.to_array(outer[name]).ravel()[0])
        return name == body.input[1].name or (name in constants and bool(constants[name].ravel()[0]))

    def ends(self, node, carried, scanned, axes, reverse=()):
        nodes = []
        for a, b in zip(carried, node.output):
            nodes += [helper.make_node("Identity", [a], [b])] if b else []
        for k, out in enumerate(node.output[len(carried):]):
            parts = [turn[k] for turn in scanned]
            backwards = k < len(reverse) and reverse[k]
            nodes += self.stacked(parts[::-1] if backwards else parts, out, axes[k]) if out else []
        return nodes

    def scan(self, node, values):
        if self.version() < 9:
            raise Refused("Scan of opset 8 is not known")
        body, count = attribute(node, "body"), attribute(node, "num_scan_inputs")
        data, carried = list(node.input[-count:]), list(node.input[:-count])
        made = len(node.output) - len(carried)
        from_end = attribute(node, "scan_input_directions", [0] * count)
        axes = attribute(node, "scan_input_axes", [0] * count)
        turns = int(numpy.shape(values[data[0]])[axes[0]])
        self.limited(node, turns, body)
        self.compared = self.compared and not any(
            any(attribute(node, f"scan_{side}_{what}", ()))
            for side in ("input", "output") for what in ("axes", "directions"))
        nodes, scanned = [], []
        for k in range(turns):
            parts = []
            for name, axis, back in zip(data, axes, from_end):
                at = self.constant("turn", numpy.asarray(turns - 1 - k if back else k, numpy.int64))
                parts.append(self.fresh(name))
                nodes.append(helper.make_node("Gather", [name, at], [parts[-1]], axis=axis))
            inner, outputs = self.inlined(body, dict(zip([i.name for i in body.input], carried + parts)))
            nodes += inner
            carried = outputs[:len(carried)]
            scanned.append(outputs[len(carried):])
        return nodes + self.ends(node, carried, scanned, attribute(node, "scan_output_axes", [0] * made),
                                 attribute(node, "scan_output_directions", [0] * made))

    def version(self):
        return next((o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx")), 1)

    # ---- all of it --------------------------------------------------------------------------------------------------

    def step(self, feeds):
        """Takes out the control flow of the outermost level; False when there was none."""
        todo = [n for n in self.graph.node if is_control(n)]
        if not todo:
            return False
        decided = {}
        for n in todo:
            for name in self.wanted(n):
                decided[name] = n.op_type == "Scan" or not self.by_data(name)
        values = self.values([n for n, known in decided.items() if known and n not in self.initial()], feeds)
        self.by_shape = self.by_shape or bool(values)
        values.update({n: v for n, v in self.initial().items() if n in decided})
        pairs, nodes = [], []
        for n in self.graph.node:
            if not is_control(n):
                nodes.append(n)
            elif n.op_type == "If" and n.input[0] not in values:
                inner, both = self.both(n)
                nodes += inner
                pairs += both
            elif any(name not in values for name in self.wanted(n)):
                raise Refused(f"the loop {n.output[0]} turns as often as data say: tasks have no control flow")
            else:
                nodes += self.branch(n, values[n.input[0]]) if n.op_type == "If" else \
                    self.loop(n, values) if n.op_type == "Loop" else self.scan(n, values)
        nodes = [renamed(n, {}) for n in nodes]
        if len(nodes) > NODES:
            raise Refused(f"without its control flow the model has more than {NODES} operators")
        del self.graph.node[:]
        self.graph.node.extend(nodes)
        self.pairs += pairs
        return True

    def initial(self):
        return {i.name: numpy_helper.to_array(i) for i in self.graph.initializer if numpy.prod(i.dims) <= 1}


def has_control(model):
    return any(is_control(n) for n in model.graph.node)


def without_control(model, feeds):
    """Plain, whose model has no control flow. feeds: inputs of the full sizes."""
    plain = Plain(model)
    while plain.step(feeds):
        pass
    if plain.pairs:
        plain.same_shapes(plain.pairs, "the model")
        note("conditions that data decide: both branches are computed, and Where chooses")
    if plain.by_shape:
        note("conditions and loops that depend on shapes are those of the full sizes")
    del plain.graph.value_info[:]  # of what is no more
    return plain
