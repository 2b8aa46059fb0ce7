# SPDX-License-Identifier: Apache-2.0
"""KernelBench level 3, problems 33 to 44 and 48 to 50: recurrent networks, causal attention, state space models.

Gates of PyTorch stand in another order than ONNX's (LSTM: i, f, g, o and i, o, f, c; GRU: r, z, n and z, r, n). Weights
are inputs in PyTorch's order, and the graph puts their blocks in ONNX's.
"""
import math

from task_files import SIGNED, UNIT, Function, Input, workloads

LAYERS = 6

# What the originals' text calls the extents (the others are sums and multiples of these), for originals/level3.py.
ROWS = {"batch_size": "M", "input_size": "K", "hidden_size": "N", "output_size": "P"}
RECURRENT = {"batch_size": "M", "input_size": "K", "hidden_size": "H"}
EMBEDDED = {"batch_size": "M", "seq_len": "S", "n_embd": "E"}
CHUNKED = {"batch_size": "M", "seq_length": "S", "n_heads": "H", "d_head": "P", "d_state": "D"}
ORIGINALS = {33: ROWS, 34: dict(ROWS, sequence_length="S"),
             **{n: dict(RECURRENT, sequence_length="S", output_size="P") for n in (35, 38)},
             **{n: dict(RECURRENT, sequence_length="S") for n in (36, 37)},
             **{n: dict(RECURRENT, seq_len="S") for n in range(39, 43)},
             43: EMBEDDED, 44: EMBEDDED, 48: CHUNKED, 49: CHUNKED,
             50: {"batch_size": "M", "max_seqlen": "S", "n_embd": "E"}}
UNUSED = {36: ("fc_weight", "fc_bias"), 37: ("fc_weight", "fc_bias"), 49: ("C",),
          50: ("c_proj_weight", "c_proj_bias")}  # parameters that no result depends on; the tasks have none
DRAWN = {35: ("h0", "c0")}  # what the original draws while it runs


def uniform(bound):
    return f"uniform(-{bound:.8g}, {bound:.8g})"


def weight(name, dims, fan_in, default=None, recurs=False, most=1):
    """A parameter as its layer draws it; default: a bound that the default form takes instead, most: times how much at
    most, drawn anew for the tensor. recurs: a state goes
    through it again and again. With a probe's numbers there, the smallest error may grow from step to step until
    the answer is lost and no two implementations agree: probes change what goes in, not these."""
    kind = " static fixed" if recurs else " static"
    bound = 1 / math.sqrt(fan_in)
    published = uniform(bound) + kind
    if default is None and most == 1:
        return Input(name, dims, published)
    scale = f" * uniform_scalar(1, {most})" if most > 1 else ""
    return Input(name, dims, uniform(default or bound) + scale + kind, published)


def data(name, dims, published=UNIT, default=None):
    return Input(name, dims, default or published, published if default else None)


def linear(name, out, inner, fan_in, default=None, recurs=False):
    return [weight(f"{name}_weight", [out, inner], fan_in, default, recurs),
            weight(f"{name}_bias", [out], fan_in, default, recurs)]


# ---- one cell, written out

def vanilla_rnn(level):
    level.task(
        33, "vanilla_rnn", "One step of a recurrent cell: a linear layer of the input beside the state, tanh, another",
        [data("x", ["M", "K"]), data("initial_hidden", ["M", "N"])] + linear("i2h", "N", "KN", 32768) +
        linear("h2o", "P", "N", 16384), ["M", "P"],
        ["combined = Concat<axis = 1>(x, initial_hidden)",
         "sum = Gemm<transB = 1>(combined, i2h_weight, i2h_bias)",
         "hidden = Tanh(sum)",
         "y = Gemm<transB = 1>(hidden, h2o_weight, h2o_bias)"],
        workloads("M K N KN P", (256, 16384, 16384, 32768, 8192), (48, 224, 256, 480, 128), (1, 1, 1, 2, 1),
                  (3, 5, 7, 12, 2), (17, 131, 61, 192, 33), (5, 31, 129, 160, 67)),
        allow="insensitive@loose: weights drawn for 32768 and 16384 inputs leave little at the extents of small (at "
        "the published ones outputs spread by 0.18)")


def vanilla_rnn_hidden(level):
    level.task(
        34, "vanilla_rnn_hidden", "A recurrent network with a linear layer on the state of every step",
        [data("x", ["S", "M", "K"]), data("h0", ["M", "N"]),
         weight("i2h_weight", ["N", "KN"], 1280, recurs=True, most=8), weight("i2h_bias", ["N"], 1280, recurs=True)] +
        linear("h2o", "P", "N", 256), ["S", "M", "P"],
        ["inputs = Shape<start = 2, end = 3>(x)",
         "w = Slice(i2h_weight, none, inputs, second)",
         "r = Slice(i2h_weight, inputs, all, second)",
         "w1 = Unsqueeze(w, first)",
         "r1 = Unsqueeze(r, first)",
         "size = Shape(i2h_bias)",
         "zeros = ConstantOfShape(size)",
         "both = Concat<axis = 0>(i2h_bias, zeros)",
         "b1 = Unsqueeze(both, first)",
         "start = Unsqueeze(h0, first)",
         "states = RNN(x, w1, r1, b1, , start)",
         "hidden = Squeeze(states, second)",
         "w2 = Transpose<perm = [1, 0]>(h2o_weight)",
         "product = MatMul(hidden, w2)",
         "y = Add(product, h2o_bias)"],
        workloads("S M K N KN P", (256, 8, 1024, 256, 1280, 128), (24, 4, 96, 64, 160, 32), (1, 1, 1, 1, 2, 1),
                  (5, 3, 7, 5, 12, 2), (33, 2, 17, 13, 30, 11), (3, 7, 131, 67, 198, 5)),
        constants=["int64[1] none = {0}", "int64[1] all = {9223372036854775807}", "int64[1] first = {0}",
                   "int64[1] second = {1}"],
        repair="the published weights are so small that a state is gone after twelve steps, so that each step from the "
        "eight before it alone passes; weights of a scale drawn anew")


# ---- layers of LSTM and GRU

# Biases of the last layer at which some of its units hardly forget: from 6 on a gate keeps its state for hundreds of
# steps. (In all layers they would leave little of the input.)
KEEPING = 30


class Cell:
    def __init__(self, op, module, gates, reorder, attributes=""):
        self.op, self.module, self.gates, self.attributes = op, module, gates, attributes
        blocks, ordered = reorder
        self.order = Function(f"{module}_gates", ["w"], ["ordered"], [
            f"{', '.join(blocks)} = Split<axis = 0, num_outputs = {gates}>(w)",
            f"blocks = Concat<axis = 0>({', '.join(ordered)})",
            "first = Constant<value_ints = [0]>()",
            "ordered = Unsqueeze(blocks, first)"])

    def states(self, suffix=""):
        return [f"{s}{suffix}" for s in ("hc" if self.op == "LSTM" else "h")]

    def layer(self, both):
        """One layer, of one direction or both. Weights of a direction: w_ih, w_hh, b_ih, b_hh."""
        parts, ends = ["w_ih", "w_hh", "b_ih", "b_hh"], ["", "_back"] if both else [""]
        lines = [f"{p}{e}_1 = local.{self.order.name}({p}{e})" for e in ends for p in parts]
        lines += [f"b{e} = Concat<axis = 1>(b_ih{e}_1, b_hh{e}_1)" for e in ends]
        given = ["w_ih_1", "w_hh_1", "b"]
        if both:
            lines += [f"{to} = Concat<axis = 0>({a}, {b})" for to, a, b in
                      (("w", "w_ih_1", "w_ih_back_1"), ("r", "w_hh_1", "w_hh_back_1"), ("b2", "b", "b_back"))]
            given = ["w", "r", "b2"]
        direction = ['direction = "bidirectional"'] if both else []
        attributes = ", ".join(direction + ([self.attributes] if self.attributes else []))
        states = self.states()
        lines += [f"steps, {', '.join(states)} = {self.op}" + (f"<{attributes}>" if attributes else "") +
                  f"(x, {', '.join(given)}, , {', '.join(s + '0' for s in states)})"]
        if both:
            lines += ["beside = Transpose<perm = [0, 2, 1, 3]>(steps)",
                      "joined = Constant<value_ints = [0, 0, -1]>()",
                      "y = Reshape(beside, joined)"]
        else:
            lines += ["second = Constant<value_ints = [1]>()", "y = Squeeze(steps, second)"]
        inputs = ["x"] + [p + e for e in ends for p in parts] + [s + "0" for s in states]
        return Function(f"{self.module}_layer", inputs, ["y"] + states, lines)

    def weights(self, both, default):
        inputs = []
        for layer in range(LAYERS):
            for end in ["", "_reverse"] if both else [""]:
                name = f"{self.module}_%s_l{layer}{end}"
                inner = "K" if layer == 0 else "H2" if both else "H"
                for part, dims in (("weight_ih", ["G", inner]), ("weight_hh", ["G", "H"]), ("bias_ih", ["G"]),
                                   ("bias_hh", ["G"])):
                    keeps = part == "bias_ih" and layer == LAYERS - 1
                    inputs.append(weight(name % part, dims, 256, default, True, KEEPING if keeps else 1))
        return inputs

    def body(self, x, both):
        """All layers, of x [steps, batch, input]; states h_0 ..., result steps_5."""
        lines = []
        for s in self.states():
            each = ", ".join(f"{s}0_{i}" for i in range(LAYERS))
            lines += [f"{each} = Split<axis = 0, num_outputs = {LAYERS}>({s}0)"]
        for i in range(LAYERS):
            weights = [f"{self.module}_{part}_l{i}{end}" for end in (["", "_reverse"] if both else [""])
                       for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            given = [x] + weights + [f"{s}0_{i}" for s in self.states()]
            lines += [f"steps_{i}, {', '.join(self.states(f'_{i}'))} = local.{self.module}_layer({', '.join(given)})"]
            x = f"steps_{i}"
        return lines

    def functions(self, both):
        return [self.order, self.layer(both)]

    def pytorch(self, both, batch_first):
        """All layers in one call: (y, h[, c])."""
        weights = [f"{self.module}_{part}_l{i}{end}" for i in range(LAYERS) for end in
                   (["", "_reverse"] if both else [""]) for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        states = "(h0, c0)" if self.op == "LSTM" else "h0"
        return (f"torch.{self.module}(x, {states}, [{', '.join(weights)}], True, {LAYERS}, 0.0, False, {both}, "
                f"{batch_first})")


LSTM = Cell("LSTM", "lstm", 4, ("ifgo", "iofg"))
GRU = Cell("GRU", "gru", 3, ("rzn", "zrn"), "linear_before_reset = 1")


def recurrent_workloads(cell, both, out):
    rows = [(10, 512, 128, 256, 10), (3, 8, 48, 128, 10), (1, 1, 1, 1, 1), (2, 5, 3, 7, 5), (5, 3, 17, 13, 3),
            (1, 31, 33, 11, 2)]
    symbols = "M S K H G" + (" H2" if both else "") + (" P" if out else "")
    return workloads(symbols, *[(m, s, k, h, cell.gates * h) + ((2 * h,) if both else ()) + ((p,) if out else ())
                                for m, s, k, h, p in rows])


def last_states(state):
    return [f"y = Concat<axis = 0>({', '.join(f'{state}_{i}' for i in range(LAYERS))})"]


# Weights in the default form: as large as they may be without small errors growing from step to step.
STATES_BOUND, OUTPUT_BOUND, HEAD_BOUND = 0.15, 0.2, 0.75
FADES = ("the published weights are so small that six layers hand on little of the input, and a state is gone after "
         "some steps: the biases are most of the answer; larger weights and signed inputs, and the last layer's biases of "
         "a scale drawn anew, since the last steps alone pass where all gates are half open")


def lstm(level, number, name, title, both=False, state=None, draw=UNIT):
    """state: which last states are the answer; None: a linear layer of the last step."""
    rows = 2 * LAYERS if both else LAYERS
    inputs = [data("x", ["M", "S", "K"], UNIT, SIGNED)] + [data(s, [rows, "M", "H"], draw) for s in ("h0", "c0")]
    inputs += LSTM.weights(both, STATES_BOUND if state else OUTPUT_BOUND)
    body = ["sequence = Transpose<perm = [1, 0, 2]>(x)"] + LSTM.body("sequence", both)
    constants = []
    layers = LSTM.pytorch(both, True)
    level.pytorch[number] = f"{layers}[{'hc'.index(state) + 1}]" if state else f"F.linear({layers}[0][:, -1], fc_weight, fc_bias)"
    if state:
        body += last_states(state)
    else:
        inputs += linear("fc", "P", "H2" if both else "H", 512 if both else 256, HEAD_BOUND)
        body += [f"last = Gather<axis = 0>(steps_{LAYERS - 1}, final)",
                 "y = Gemm<transB = 1>(last, fc_weight, fc_bias)"]
        constants = ["int64 final = {-1}"]
    level.task(number, name, title, inputs, [rows, "M", "H"] if state else ["M", "P"], body,
               recurrent_workloads(LSTM, both, not state), constants=constants, repair=FADES,
               functions=LSTM.functions(both))


def gru(level, number, name, title, both=False, state=None):
    """state: the last states are the answer; None: those of the last layer, at every step."""
    rows = 2 * LAYERS if both else LAYERS
    inputs = [data("x", ["S", "M", "K"], UNIT, SIGNED), data("h0", [rows, "M", "H"])]
    inputs += GRU.weights(both, STATES_BOUND)
    body = GRU.body("x", both)
    level.pytorch[number] = f"{GRU.pytorch(both, False)}[{1 if state else 0}]"
    if state:
        body += last_states(state)
    else:
        body[-1] = body[-1].replace(f"steps_{LAYERS - 1},", "y,")
    output = [rows, "M", "H"] if state else ["S", "M", "H2" if both else "H"]
    level.task(number, name, title, inputs, output, body, recurrent_workloads(GRU, both, False), repair=FADES,
               functions=GRU.functions(both))


def recurrent_networks(level):
    lstm(level, 35, "lstm", "Six LSTM layers, a linear layer of the last step", draw="normal(0, 1)")
    lstm(level, 36, "lstm_hidden_state", "Six LSTM layers, the hidden states that they end in", state="h")
    lstm(level, 37, "lstm_cell_state", "Six LSTM layers, the cell states that they end in", state="c")
    lstm(level, 38, "lstm_bidirectional", "Six bidirectional LSTM layers, a linear layer of the last step", both=True)
    gru(level, 39, "gru", "Six GRU layers")
    gru(level, 40, "gru_hidden_state", "Six GRU layers, the states that they end in", state="h")
    gru(level, 41, "gru_bidirectional", "Six bidirectional GRU layers", both=True)
    gru(level, 42, "gru_bidirectional_hidden_state", "Six bidirectional GRU layers, the states that they end in",
        both=True, state="h")


# ---- attention with a mask of the past

def linear_rows(name, x, to):
    """A linear layer of rows [batch, position, features]."""
    return [f"{name}_turned = Transpose<perm = [1, 0]>({name}_weight)", f"{name}_rows = MatMul({x}, {name}_turned)",
            f"{to} = Add({name}_rows, {name}_bias)"]


def attention(x, layer, weigh, to):
    """The linear layer `layer` makes queries, keys and values of x; what each position sees is weighed by the operator
    `weigh` of its scores."""
    lines = linear_rows(layer, x, "qkv") + ["q, k, v = Split<axis = 2, num_outputs = 3>(qkv)"]
    for name, order in (("q", "2, 1, 3"), ("k", "2, 3, 1"), ("v", "2, 1, 3")):
        lines += [f"{name}_split = Reshape({name}, heads)",
                  f"{name}_heads = Transpose<perm = [0, {order}]>({name}_split)"]
    return lines + [
        "products = MatMul(q_heads, k_heads)",
        "size = Shape<start = 3, end = 4>(q_heads)",
        "extent = Cast<to = 1>(size)",
        "root = Sqrt(extent)",
        "scaled = Div(products, root)",
        "positions = Shape<start = 1, end = 2>(q)",
        "square = Concat<axis = 0>(positions, positions)",
        "ones = ConstantOfShape<value = float[1] {1}>(square)",
        "past = Trilu<upper = 0>(ones)",
        "seen = Cast<to = 9>(past)",
        "scores = Where(seen, scaled, hidden)",
        f"weights = {weigh}(scores)",
        "sums = MatMul(weights, v_heads)",
        "by_position = Transpose<perm = [0, 2, 1, 3]>(sums)",
        f"{to} = Reshape(by_position, joined)"]


def attention_constants(heads):
    return [f"int64[4] heads = {{0, 0, {heads}, -1}}", "int64[3] joined = {0, 0, -1}", "float hidden = {-inf}"]


def attention_workloads(full, heads, symbols="M S E E3", multiples=(1, 3)):
    rows = [full, (2, 24, 12 * heads), (1, 1, heads), (3, 5, 3 * heads), (2, 33, 5 * heads), (1, 7, 11 * heads)]
    return workloads(symbols, *[(m, s) + tuple(e * times for times in multiples) for m, s, e in rows])


def norm(name, scale, shift):
    return [Input(f"{name}_weight", ["E"], scale, "constant(1) static"),
            Input(f"{name}_bias", ["E"], shift, "constant(0) static")]


def causal_attention(level):
    level.task(
        43, "causal_attention", "Attention of eight heads to the past, with linear layers before and behind it",
        [data("x", ["M", "S", "E"], UNIT, "normal(0, 1)")] + linear("c_attn", "E3", "E", 768) +
        linear("c_proj", "E", "E", 768), ["M", "S", "E"],
        attention("x", "c_attn", "Softmax<axis = -1>", "together") + linear_rows("c_proj", "together", "y"),
        attention_workloads((128, 512, 768), 8), constants=attention_constants(8),
        repair="published scores are so alike that the mean of the values seen passes with a tolerance of 1e-2; normal "
        "inputs")
    level.task(
        50, "relu_attention", "Attention of twelve heads to the past, scores weighed by ReLU",
        [data("x", ["M", "S", "E"])] + linear("c_attn", "E3", "E", 768), ["M", "S", "E"],
        attention("x", "c_attn", "Relu", "y"), attention_workloads((16, 1024, 768), 12),
        constants=attention_constants(12))


def transformer_block(level):
    normalise = "LayerNormalization<axis = -1, epsilon = 1e-5>"
    level.task(
        44, "transformer_block", "A block of a transformer: attention to the past and two linear layers, both behind a "
        "layer normalisation and beside a residual",
        [data("x", ["M", "S", "E"])] + norm("ln_1", "uniform(0.5, 1.5) static", "uniform(-0.5, 0.5) static") +
        linear("attn_c_attn", "E3", "E", 768) + linear("attn_c_proj", "E", "E", 768) +
        norm("ln_2", "uniform(0.5, 1.5) static", "uniform(-0.5, 0.5) static") +
        linear("mlp_c_fc", "E4", "E", 768) + linear("mlp_c_proj", "E", "E4", 3072), ["M", "S", "E"],
        [f"first = {normalise}(x, ln_1_weight, ln_1_bias)"] +
        attention("first", "attn_c_attn", "Softmax<axis = -1>", "together") +
        linear_rows("attn_c_proj", "together", "attended") +
        ["middle = Add(x, attended)", f"second = {normalise}(middle, ln_2_weight, ln_2_bias)"] +
        linear_rows("mlp_c_fc", "second", "wide") + ['bent = Gelu<approximate = "tanh">(wide)'] +
        linear_rows("mlp_c_proj", "bent", "narrow") + ["y = Add(middle, narrow)"],
        attention_workloads((128, 512, 768), 8, "M S E E3 E4", (1, 3, 4)), constants=attention_constants(8),
        repair="a fresh layer normalisation's scale is one and its shift zero, so that leaving them out passes; both "
        "are drawn", allow="insensitive@loose: the published bias hardly moves a residual so much larger")


# ---- state space models

SEGMENT_SUMS = Function("segment_sums", ["x"], ["sums"], [
    "axis = Constant<value_int = -1>()",
    "last = Constant<value_ints = [-1]>()",
    "other = Constant<value_ints = [-2]>()",
    "nothing = Constant<value_float = -inf>()",
    "running = CumSum(x, axis)",
    "to = Unsqueeze(running, last)",
    "from = Unsqueeze(running, other)",
    "difference = Sub(to, from)",
    "extent = Shape<start = -1>(x)",
    "square = Concat<axis = 0>(extent, extent)",
    "ones = ConstantOfShape<value = float[1] {1}>(square)",
    "lower = Trilu<upper = 0>(ones)",
    "forward = Cast<to = 9>(lower)",
    "sums = Where(forward, difference, nothing)"])

CHUNKS = Function("chunks", ["x"], ["parts"], [
    "batch = Shape<start = 0, end = 1>(x)",
    "rest = Shape<start = 2>(x)",
    "length = Constant<value_ints = [-1, 64]>()",
    "shape = Concat<axis = 0>(batch, length, rest)",
    "parts = Reshape(x, shape)"])

STATES = [
    "x = local.chunks(X)",
    "a_by_chunk = local.chunks(A)",
    "b = local.chunks(B)",
    "a = Transpose<perm = [0, 3, 1, 2]>(a_by_chunk)",
    "running = CumSum(a, axis)",
    "total = Gather<axis = 3>(running, end)",
    "rest = Sub(total, running)",
    "decay = Exp(rest)",
    'own = Einsum<equation = "bclhn,bhcl,bclhp->bchpn">(b, decay, x)',
    "one = Slice(own, from, to, second)",
    "size = Shape(one)",
    "start = ConstantOfShape(size)",
    "states = Concat<axis = 1>(start, own)",
    "sums = Squeeze(total, fourth)",
    "padded = Pad(sums, pads)",
    "segments = local.segment_sums(padded)",
    "decay_of_chunks = Exp(segments)",
    'reached = Einsum<equation = "bhzc,bchpn->bzhpn">(decay_of_chunks, states)',
]
STATE_CONSTANTS = ["int64 axis = {-1}", "int64[1] end = {-1}", "int64[1] from = {0}", "int64[1] to = {1}",
                   "int64[1] second = {1}", "int64[1] fourth = {3}", "int64[6] pads = {0, 0, 1, 0, 0, 0}"]
DECAYS = ("published logarithms add up to little in 64 steps, so that decays made of two exponentials pass, which overflow "
          "where they add up to more than 88; decays of a rate drawn anew, slow or fast")


def state_space(level):
    loads = workloads("M S H P D", (2048, 128, 8, 64, 16), (2, 128, 3, 12, 7), (1, 64, 1, 1, 1), (1, 64, 3, 7, 5),
                      (3, 64, 1, 5, 17), (1, 192, 1, 3, 2))
    inputs = [data("X", ["M", "S", "H", "P"])]
    inputs += [Input("A", ["M", "S", "H"], "uniform(-1, 0.2) * uniform_scalar(0.02, 5) static fixed",
                     "normal(0, 1) static fixed"),
               Input("B", ["M", "S", "H", "D"], "normal(0, 1) static")]
    level.task(
        48, "state_space",
        "A state space model in chunks of 64 steps: products within a chunk and states between chunks",
        inputs + [Input("C", ["M", "S", "H", "D"], "normal(0, 1) static")], ["M", "S", "H", "P"],
        STATES + [
            "c = local.chunks(C)",
            "within = local.segment_sums(a)",
            "decay_within = Exp(within)",
            'near = Einsum<equation = "bclhn,bcshn,bhcls,bcshp->bclhp">(c, b, decay_within, x)',
            "before = Slice(reached, from, end, second)",
            "decay_out = Exp(running)",
            'far = Einsum<equation = "bclhn,bchpn,bhcl->bclhp">(c, before, decay_out)',
            "sum = Add(near, far)",
            "shape = Shape(X)",
            "y = Reshape(sum, shape)"],
        loads, constants=STATE_CONSTANTS, functions=[CHUNKS, SEGMENT_SUMS], repair=DECAYS)
    level.task(
        49, "state_space_final_state", "The state that a state space model ends in, in chunks of 64 steps",
        inputs, ["M", "H", "P", "D"], STATES + ["y = Gather<axis = 1>(reached, final)"],
        loads, constants=STATE_CONSTANTS + ["int64 final = {-1}"], functions=[CHUNKS, SEGMENT_SUMS], repair=DECAYS)


def tasks(level):
    vanilla_rnn(level)
    vanilla_rnn_hidden(level)
    recurrent_networks(level)
    causal_attention(level)
    transformer_block(level)
    state_space(level)
