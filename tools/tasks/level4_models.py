# SPDX-License-Identifier: Apache-2.0
"""KernelBench level 4: seven language models of the package transformers, each at two or three batch and sequence lengths.

A workload has the depth and the heads of the published model. Its widths are symbols: B sequences of S tokens of V words
and P positions; E is the width, F that of the hidden layer, D that of the embeddings where it is another one.
"""
import math

from networks import BETA, ONES, ZEROS, Function, Net, Networks, Published, in_order, normal
from task_files import Input

INITIAL = normal(0.02)  # what all seven draw for their matrices and tables
BLOCK, RANDOM = 64, 3  # BigBird's
WINDOW = 256  # GPT-Neo's

# ---- functions

LAYER_NORM = "LayerNormalization<axis = -1, epsilon = {}>"
NORM, BERT_NORM = LAYER_NORM.format("1e-5"), LAYER_NORM.format("1e-12")
HEADS = "kv_num_heads: int = @heads, q_num_heads: int = @heads"
CAUSAL = f"Attention<is_causal = 1, {HEADS}>"
FULL = f"Attention<{HEADS}>"
TANH = 'Gelu<approximate = "tanh">'

ROWS = Function("linear", ["x", "weight", "bias"], ["y"],
                ["turned = Transpose<perm = [1, 0]>(weight)", "product = MatMul(x, turned)", "y = Add(product, bias)"])
UNBIASED = Function("unbiased", ["x", "weight"], ["y"],
                    ["turned = Transpose<perm = [1, 0]>(weight)", "y = MatMul(x, turned)"])
# GPT-2 keeps its matrices the other way round.
TURNED = Function("conv1d", ["x", "weight", "bias"], ["y"], ["product = MatMul(x, weight)", "y = Add(product, bias)"])


def embed(first):
    """Words and positions; the first of these is another one than row 0 in some models."""
    return Function("embed", ["ids", "words", "positions"], ["y"],
                    ["length = Shape<end = 2, start = 1>(ids)", f"first = Constant<value_ints = [{first}]>()",
                     "past = Add(first, length)", "axes = Constant<value_ints = [0]>()",
                     "places = Slice(positions, first, past, axes)", "tokens = Gather(words, ids)", "y = Add(tokens, places)"])


def embed_typed():
    """BERT's: words, positions, and the first of two kinds of token."""
    return Function("embed_typed", ["ids", "words", "positions", "types", "scale", "shift"], ["y"],
                    ["tokens = Gather(words, ids)", "zero = Constant<value_int = 0>()", "type = Gather(types, zero)",
                     "typed = Add(tokens, type)", "length = Shape<end = 2, start = 1>(ids)",
                     "first = Constant<value_ints = [0]>()", "places = Slice(positions, first, length, first)",
                     "s = Add(typed, places)", f"y = {BERT_NORM}(s, scale, shift)"])


SCALED = ["scale", "shift"]

GPT2_BLOCK = Function(
    "block", ["x", "scale1", "shift1", "w_qkv", "b_qkv", "w_out", "b_out", "scale2", "shift2", "w_up", "b_up", "w_down",
              "b_down"], ["y"],
    [f"n = {NORM}(x, scale1, shift1)", "qkv = local.conv1d(n, w_qkv, b_qkv)",
     "q, k, v = Split<axis = 2, num_outputs = 3>(qkv)", f"heads = {CAUSAL}(q, k, v)",
     "attended = local.conv1d(heads, w_out, b_out)", "s = Add(x, attended)", f"m = {NORM}(s, scale2, shift2)",
     "h = local.conv1d(m, w_up, b_up)", f"g = {TANH}(h)", "f = local.conv1d(g, w_down, b_down)", "y = Add(s, f)"],
    ["heads"])

# Queries, keys and values with biases of their own, as OPT, BART, ELECTRA and BigBird have them.
PROJECTED = ["q = local.linear({0}, w_q, b_q)", "k = local.linear({0}, w_k, b_k)", "v = local.linear({0}, w_v, b_v)"]
PROJECTIONS = ["w_q", "b_q", "w_k", "b_k", "w_v", "b_v", "w_out", "b_out"]
LAYERS = ["w_up", "b_up", "w_down", "b_down"]


def projected(x):
    return [line.format(x) for line in PROJECTED]


OPT_BLOCK = Function(
    "block", ["x", *SCALED, *PROJECTIONS, "scale2", "shift2", *LAYERS], ["y"],
    [f"n = {NORM}(x, scale, shift)", *projected("n"), f"heads = {CAUSAL}(q, k, v)",
     "attended = local.linear(heads, w_out, b_out)", "s = Add(x, attended)", f"m = {NORM}(s, scale2, shift2)",
     "h = local.linear(m, w_up, b_up)", "r = Relu(h)", "f = local.linear(r, w_down, b_down)", "y = Add(s, f)"],
    ["heads"])


def post_norm(attention, norm, gelu, inputs=()):
    """A block that normalises after attention and after its two layers."""
    return Function(
        "block", ["x", *PROJECTIONS, *SCALED, *LAYERS, "scale2", "shift2", *inputs], ["y"],
        [*projected("x"), f"heads = {attention}({', '.join(['q', 'k', 'v', *inputs])})",
         "attended = local.linear(heads, w_out, b_out)", "s = Add(x, attended)", f"n = {norm}(s, scale, shift)",
         "h = local.linear(n, w_up, b_up)", f"g = {gelu}(h)", "f = local.linear(g, w_down, b_down)", "t = Add(n, f)",
         f"y = {norm}(t, scale2, shift2)"], ["heads"])


def gpt_neo_block(name, attention, inputs=()):
    """Scores are not divided by the root of a head's size."""
    return Function(
        name, ["x", *SCALED, "w_q", "w_k", "w_v", "w_out", "b_out", "scale2", "shift2", *LAYERS, *inputs], ["y"],
        [f"n = {NORM}(x, scale, shift)", "q = local.unbiased(n, w_q)", "k = local.unbiased(n, w_k)",
         "v = local.unbiased(n, w_v)", f"heads = {attention}({', '.join(['q', 'k', 'v', *inputs])})",
         "attended = local.linear(heads, w_out, b_out)", "s = Add(x, attended)", f"m = {NORM}(s, scale2, shift2)",
         "h = local.linear(m, w_up, b_up)", f"g = {TANH}(h)", "f = local.linear(g, w_down, b_down)", "y = Add(s, f)"],
        ["heads"])


# What a position sees: itself and as many before it as the window has, less one.
WINDOWED = Function(
    "window", ["x"], ["seen"],
    ["length = Shape<end = 2, start = 1>(x)", "square = Concat<axis = 0>(length, length)",
     "ones = ConstantOfShape<value = float[1] {1}>(square)", "past = Trilu<upper = 0>(ones)",
     f"before = Constant<value_int = {-WINDOW}>()", "far = Trilu<upper = 0>(past, before)", "near = Sub(past, far)",
     "seen = Cast<to = 9>(near)"])

POSITIONS = ["length = Shape<end = 2, start = 1>(ids)", "start = Constant<value_int = 0>()",
             "step = Constant<value_int = 1>()", "axes = Constant<value_ints = [0]>()", "end = Squeeze(length, axes)",
             "places = Range(start, end, step)"]

# Blocks of 64 positions. The first and the last see all, and all see them; the others see the blocks next to them. The
# blocks that training draws are, in evaluation, block 0 three times: its keys count four times, log 4 more in a score.
SPARSE = Function(
    "sparse", ["ids"], ["mask"],
    [*POSITIONS, f"size = Constant<value_int = {BLOCK}>()", "of = Div(places, size)", "last_place = Sub(end, step)",
     "last = Div(last_place, size)", "down = Constant<value_ints = [1]>()", "query = Unsqueeze(of, down)",
     "key = Unsqueeze(of, axes)", "query_first = Equal(query, start)", "query_last = Equal(query, last)",
     "all = Or(query_first, query_last)", "key_first = Equal(key, start)", "key_last = Equal(key, last)",
     "by_all = Or(key_first, key_last)", "apart = Sub(query, key)", "distance = Abs(apart)",
     "two = Constant<value_int = 2>()", "next = Less(distance, two)", "global = Or(all, by_all)",
     "seen = Or(global, next)", "zero = Constant<value_float = 0.0>()",
     "blocks = Constant<value_float = 4.0>()", "four = Log(blocks)", "hidden = Constant<value = float {-inf}>()",
     "few = Not(all)", "counted = And(few, key_first)", "more = Where(counted, four, zero)",
     "mask = Where(seen, more, hidden)"])

# Reformer's keys are its queries, made as long as each other. A position sees itself only where it sees nothing else.
SHARED = Function(
    "shared", ["ids"], ["mask"],
    [*POSITIONS, "down = Constant<value_ints = [1]>()", "query = Unsqueeze(places, down)",
     "key = Unsqueeze(places, axes)", "before = Less(key, query)", "itself = Equal(key, query)",
     "zero = Constant<value_float = 0.0>()", "faint = Constant<value_float = -100000.0>()",
     "hidden = Constant<value = float {-inf}>()", "own = Where(itself, faint, hidden)", "mask = Where(before, zero, own)"])
REFORMER_FEED = Function(
    "feed", ["x", "scale", "shift", *LAYERS], ["y"],
    [f"n = {BERT_NORM}(x, scale, shift)", "h = local.linear(n, w_up, b_up)", "r = Relu(h)",
     "y = local.linear(r, w_down, b_down)"])
FEED_WEIGHTS = ["scale2", "shift2", *LAYERS]
LOCAL_BLOCK = Function(
    "local_block", ["a", "x", *SCALED, "w_q", "w_k", "w_v", "w_out", *FEED_WEIGHTS], ["b", "y"],
    [f"n = {BERT_NORM}(x, scale, shift)", "q = local.unbiased(n, w_q)", "k = local.unbiased(n, w_k)",
     "v = local.unbiased(n, w_v)", f"heads = {CAUSAL}(q, k, v)", "attended = local.unbiased(heads, w_out)",
     "b = Add(a, attended)", f"f = local.feed(b, {', '.join(FEED_WEIGHTS)})", "y = Add(x, f)"], ["heads"])
LSH_BLOCK = Function(
    "lsh_block", ["a", "x", *SCALED, "w_qk", "w_v", "w_out", *FEED_WEIGHTS, "mask"], ["b", "y"],
    [f"n = {BERT_NORM}(x, scale, shift)", "q = local.unbiased(n, w_qk)", "v = local.unbiased(n, w_v)",
     "split = Constant<value_ints: ints = @split>()", "joined = Constant<value_ints = [0, 0, -1]>()",
     "parted = Reshape(q, split)", "squares = Mul(parted, parted)", "last = Constant<value_ints = [-1]>()",
     "mean = ReduceMean(squares, last)", "least = Constant<value_float = 1e-6>()", "raised = Add(mean, least)",
     "length = Sqrt(raised)", "unit = Div(parted, length)", "k = Reshape(unit, joined)",
     f"heads = {FULL}(q, k, v, mask)", "attended = local.unbiased(heads, w_out)",
     "b = Add(a, attended)", f"f = local.feed(b, {', '.join(FEED_WEIGHTS)})", "y = Add(x, f)"], ["heads", "split"])
AXIAL = Function(
    "embed_axial", ["ids", "words", "rows", "columns"], ["y"],
    ["tokens = Gather(words, ids)", "length = Shape<end = 2, start = 1>(ids)", "first = Constant<value_ints = [0]>()",
     "one = Constant<value_ints = [1]>()", "row = Slice(rows, first, one, first)",
     "places = Slice(columns, first, length, one)", "shape = Shape<end = 2, start = 0>(places)",
     "width = Shape<end = 3, start = 2>(row)", "whole = Concat<axis = 0>(shape, width)", "repeated = Expand(row, whole)",
     "position = Concat<axis = 2>(repeated, places)", "y = Add(tokens, position)"])


def head(gelu):
    return Function("transform", ["x", "weight", "bias", *SCALED], ["y"],
                    ["h = local.linear(x, weight, bias)", f"g = {gelu}(h)", f"y = {BERT_NORM}(g, scale, shift)"])


# ---- weights

class Drawn(Published):
    """How the default form draws a model's weights: matrices with a deviation over the root of the width, so that scores
    of attention are as uneven in a narrow model as in the published one (others where a pattern says so)."""

    def __init__(self, matrices, tables=0.1, own=()):
        super().__init__()
        self.matrices, self.tables, self.own = matrices, tables, dict(own)

    def matrix(self, name):
        gain = next((d for end, d in self.own.items() if name.endswith(end)), self.matrices)
        return f"normal(0, {gain:.8g}/sqrt(E)) static"


# Where normalisation comes after a block, its inputs must count for more than what it adds: else the tokens of a
# sequence are alike after a few layers, and whatever attention does is right.
POST_NORM = {"query": 2.5, "key": 2.5, "value": 0.5, "attention.output.dense": 0.5, "intermediate.dense": 0.8,
             "output.dense": 0.3}
BART_NORM = {"q_proj": 2.5, "k_proj": 2.5, "v_proj": 0.5, "out_proj": 0.5, "fc1": 0.8, "fc2": 0.3}


class Weights:
    """Adds weights to a net, in the order of their use."""

    def __init__(self, net, draws):
        self.net, self.draws = net, draws

    def matrix(self, module, co, ci, published=INITIAL):
        return self.net.parameter(f"{module}.weight", [co, ci], published, self.draws.matrix(module))

    def table(self, name, dims, read, published=INITIAL):
        """read: the extents of what is read of it."""
        self.net.read[name.replace(".", "_")] = read
        return self.net.parameter(name, dims, published, normal(self.draws.tables))

    def words(self, name, width="E"):
        """Of which every row is read, also where only the first layer uses them: ids are drawn from all words."""
        return self.table(name, ["V", width], ["V", width])

    def positions(self, name, width="E"):
        return self.table(name, ["P", width], ["S", width])

    def bias(self, name, co):
        return self.net.parameter(f"{name}.bias", [co], ZEROS, BETA)

    def linear(self, module, co, ci, published=INITIAL):
        return [self.matrix(module, co, ci, published), self.bias(module, co)]

    def norm(self, module, c="E"):
        gamma = self.net.draws.scale(module)
        return [self.net.parameter(f"{module}.weight", [c], ONES, gamma),
                self.net.parameter(f"{module}.bias", [c], ZEROS, BETA)]


def begin(net, symbols):
    """The token ids, and weights to be added."""
    for symbol in ["B", "S", *symbols]:
        net.symbol(symbol, net.load[symbol])
    net.inputs.append(Input("x", ["B", "S"], "integers(0, V) fixed", dtype="int64"))
    net.v, net.read = "x", {}
    return Weights(net, net.draws)


def attention_weights(w, module, names):
    """Projections with biases."""
    return [x for name in names for x in w.linear(f"{module}.{name}", "E", "E")]


PROJECTION_NAMES = ["q_proj", "k_proj", "v_proj", "out_proj"]

# ---- models

def gpt2(net):
    w, small = begin(net, ["V", "P", "E", "E3", "F"]), normal(0.02 / (2 * 12) ** 0.5)
    words = w.words("transformer.wte.weight")
    net.call("embedded", "embed", ["x", words, w.positions("transformer.wpe.weight")])
    for i in range(12):
        h, x = f"transformer.h.{i}", net.v
        weights = w.norm(f"{h}.ln_1")
        weights += [w.matrix(f"{h}.attn.c_attn", "E", "E3"), w.bias(f"{h}.attn.c_attn", "E3")]
        weights += w.linear(f"{h}.attn.c_proj", "E", "E", small) + w.norm(f"{h}.ln_2")
        weights += [w.matrix(f"{h}.mlp.c_fc", "E", "F"), w.bias(f"{h}.mlp.c_fc", "F")]
        weights += [w.matrix(f"{h}.mlp.c_proj", "F", "E", small), w.bias(f"{h}.mlp.c_proj", "E")]
        net.call("h", "block", [x, *weights], ["heads = 12"])
    return finish(net, w.norm("transformer.ln_f"), words)


def finish(net, norm, words):
    """The last normalisation, and scores of words by the table of these."""
    net.emit("n", NORM, [net.v, *norm])
    net.call("logits", "unbiased", [net.v, words])
    return ["B", "S", "V"]


def opt(net):
    w = begin(net, ["V", "P", "E", "F"])
    words = w.words("model.decoder.embed_tokens.weight")
    net.call("embedded", "embed", ["x", words, w.positions("model.decoder.embed_positions.weight")])
    for i in range(24):
        h, x = f"model.decoder.layers.{i}", net.v
        weights = w.norm(f"{h}.self_attn_layer_norm")
        weights += attention_weights(w, f"{h}.self_attn", PROJECTION_NAMES)
        weights += w.norm(f"{h}.final_layer_norm") + w.linear(f"{h}.fc1", "F", "E") + w.linear(f"{h}.fc2", "E", "F")
        net.call("h", "block", [x, *weights], ["heads = 32"])
    return finish(net, w.norm("model.decoder.final_layer_norm"), words)


def gpt_neo(net):
    w = begin(net, ["V", "P", "E", "F"])
    words = w.words("transformer.wte.weight")
    embedded = net.call("embedded", "embed", ["x", words, w.positions("transformer.wpe.weight")])
    window = net.call("window", "window", ["x"])
    net.v = embedded
    for i in range(32):
        h, x = f"transformer.h.{i}", net.v
        weights = w.norm(f"{h}.ln_1")
        weights += [w.matrix(f"{h}.attn.attention.{name}_proj", "E", "E") for name in "qkv"]
        weights += w.linear(f"{h}.attn.attention.out_proj", "E", "E") + w.norm(f"{h}.ln_2")
        weights += w.linear(f"{h}.mlp.c_fc", "F", "E") + w.linear(f"{h}.mlp.c_proj", "E", "F")
        if i % 2:
            net.call("h", "local_block", [x, *weights, window], ["heads = 20"])
        else:
            net.call("h", "block", [x, *weights], ["heads = 20"])
    return finish(net, w.norm("transformer.ln_f"), words)


def bart(net):
    w = begin(net, ["V", "P", "E", "F"])
    words = w.words("model.decoder.embed_tokens.weight")
    net.call("embedded", "embed", ["x", words, w.positions("model.decoder.embed_positions.weight")])
    net.emit("n", NORM, [net.v, *w.norm("model.decoder.layernorm_embedding")])
    for i in range(12):
        h, x = f"model.decoder.layers.{i}", net.v
        weights = attention_weights(w, f"{h}.self_attn", PROJECTION_NAMES)
        weights += w.norm(f"{h}.self_attn_layer_norm") + w.linear(f"{h}.fc1", "F", "E") + w.linear(f"{h}.fc2", "E", "F")
        net.call("h", "block", [x, *weights, *w.norm(f"{h}.final_layer_norm")], ["heads = 16"])
    net.call("logits", "unbiased", [net.v, words])
    return ["B", "S", "V"]


def bert(net, prefix, heads, inputs=()):
    """The layers of BERT on the current value."""
    w = Weights(net, net.draws)
    for i in range(12):
        h, x = f"{prefix}.encoder.layer.{i}", net.v
        weights = attention_weights(w, f"{h}.attention.self", ["query", "key", "value"])
        weights += w.linear(f"{h}.attention.output.dense", "E", "E") + w.norm(f"{h}.attention.output.LayerNorm")
        weights += w.linear(f"{h}.intermediate.dense", "F", "E") + w.linear(f"{h}.output.dense", "E", "F")
        net.call("h", "block", [x, *weights, *w.norm(f"{h}.output.LayerNorm"), *inputs], [f"heads = {heads}"])


def typed_embedding(net, w, prefix, width):
    words = w.words(f"{prefix}.embeddings.word_embeddings.weight", width)
    tables = [w.positions(f"{prefix}.embeddings.position_embeddings.weight", width),
              w.table(f"{prefix}.embeddings.token_type_embeddings.weight", [2, width], [1, width])]
    net.call("embedded", "embed_typed", ["x", words, *tables, *w.norm(f"{prefix}.embeddings.LayerNorm", width)])
    return words


def electra(net):
    w = begin(net, ["V", "P", "D", "E", "F"])
    words = typed_embedding(net, w, "electra", "D")
    net.call("projected", "linear", [net.v, *w.linear("electra.embeddings_project", "E", "D")])
    bert(net, "electra", 4)
    weights = w.linear("generator_predictions.dense", "D", "E") + w.norm("generator_predictions.LayerNorm", "D")
    net.call("transformed", "transform", [net.v, *weights])
    net.call("logits", "linear", [net.v, words, w.bias("generator_lm_head", "V")])
    return ["B", "S", "V"]


def bigbird(sparse):
    def build(net):
        w = begin(net, ["V", "P", "E", "F"])
        mask = [net.call("mask", "sparse", ["x"])] if sparse else []
        words = typed_embedding(net, w, "bert", "E")
        bert(net, "bert", 12, mask)
        head = "cls.predictions.transform"
        net.call("transformed", "transform", [net.v, *w.linear(f"{head}.dense", "E", "E"), *w.norm(f"{head}.LayerNorm")])
        net.call("logits", "linear", [net.v, words, w.bias("cls.predictions", "V")])
        return ["B", "S", "V"]
    return build


def reformer(net):
    w = begin(net, ["V", "R", "P", "D", "G", "E", "E2", "F"])
    words = w.words("reformer.embeddings.word_embeddings.weight")
    places = [w.table(f"reformer.embeddings.position_embeddings.weights.{axis}", dims, read, normal(1))
              for axis, (dims, read) in enumerate(((["R", 1, "D"], ["D"]), ([1, "P", "G"], ["S", "G"])))]
    mask = net.call("mask", "shared", ["x"])
    first = second = net.call("embedded", "embed_axial", ["x", words, *places])
    for i in range(12):
        layer = f"reformer.encoder.layers.{i}"
        shared, own = i % 4 == 2, f"{layer}.attention.self_attention"
        weights = w.norm(f"{layer}.attention.layer_norm")
        weights += [w.matrix(f"{own}.{name}", "E", "E")
                    for name in (["query_key", "value"] if shared else ["query", "key", "value"])]
        weights += [w.matrix(f"{layer}.attention.output.dense", "E", "E")]
        weights += w.norm(f"{layer}.feed_forward.layer_norm") + w.linear(f"{layer}.feed_forward.dense.dense", "F", "E")
        weights += w.linear(f"{layer}.feed_forward.output.dense", "E", "F")
        function, extra = ("lsh_block", [mask]) if shared else ("local_block", [])
        split = ["heads = 8"] + ["split = [0, 0, 8, -1]"] * shared
        net.uses(function)
        both = [net.name("a"), net.name("h")]
        net.lines.append(f"{', '.join(both)} = local.{function}<{', '.join(split)}>"
                         f"({', '.join([first, second, *weights, *extra])})")
        first, second = both
    net.emit("both", "Concat", [first, second], ["axis = 2"])
    net.emit("n", BERT_NORM, [net.v, *w.norm("reformer.encoder.layer_norm", "E2")])
    net.call("logits", "linear", [net.v, *w.linear("lm_head.decoder", "V", "E2")])
    return ["B", "S", "V"]


# ---- the problems

class Family:
    """One of the seven: what builds it, its published sizes, how its widths follow from E, its functions and draws."""

    def __init__(self, title, build, full, widths, functions, draws, small, ragged, sees, allow=None):
        """sees: for every layer, which pairs of positions it computes scores for."""
        self.title, self.build, self.full, self.widths, self.functions = title, build, full, widths, in_order(*functions)
        self.draws, self.small, self.ragged, self.sees, self.allow = draws, small, ragged, sees, allow

    def load(self, **sizes):
        return {**sizes, **self.widths(sizes["E"])}


def four(e):
    return {"F": 4 * e}


def in_blocks(length):
    """Queries and keys that see each other in BigBird's blocks."""
    last = (length - 1) // BLOCK
    size = lambda block: min(BLOCK, length - block * BLOCK)
    rows = [range(last + 1) if q in (0, last) else {0, last, q - 1, q, q + 1} for q in range(last + 1)]
    return sum(size(q) * sum(size(k) for k in row) for q, row in enumerate(rows))


# Of a length, how many pairs of positions have a score that counts.
ALL = lambda n: n * n
PAST = lambda n: n * (n + 1) // 2
OTHERS = lambda n: n * (n - 1) // 2  # and the first position's own, which is all that it sees
NEAR = lambda n: sum(min(i + 1, WINDOW) for i in range(n))
BLOCKS = in_blocks


WHOLE = "10000/10000"


def part(needed, whole):
    """A fraction that is no more than this one."""
    return f"{needed * 10000 // whole}/10000"


def parts_needed(family, load):
    """(of the multiply-adds, of the weights' bytes) at these sizes. Tables have rows that no token needs; vectors can be
    taken into matrices before; and scores of what a position does not see are not needed."""
    net = Net(load, family.draws, None, family.functions)
    family.build(net)
    count = lambda dims: math.prod(load.get(d, d) for d in dims)
    weights = {i.name: i.dims for i in net.inputs if "static" in i.dist}
    matrices = sum(count(dims) for name, dims in weights.items() if len(dims) == 2 and name not in net.read)
    tied = "E2" not in load  # the table of words is the last matrix
    products = matrices + tied * count(next(iter(net.read.values())))
    scores = [2 * load["E"] * sees(load["S"]) for sees in family.sees]
    every = 2 * load["E"] * load["S"] ** 2 * len(scores)
    return (part(load["S"] * products + sum(scores), load["S"] * products + every),
            part(matrices + sum(map(count, net.read.values())), sum(map(count, weights.values()))))


KEY_BIAS = ("insensitive: the softmax takes out again what the bias of the keys adds to all of a row's scores, and the bias "
            "of the queries moves an answer by less than a hundredth")
LINEAR = (ROWS, UNBIASED)
BERT_WIDTHS = (ROWS, embed_typed())
FAMILIES = {
    "gpt2": Family(
        "GPT-2", gpt2, {"V": 50257, "P": 1024, "E": 768}, lambda e: {"E3": 3 * e, "F": 4 * e},
        (UNBIASED, TURNED, embed(0), GPT2_BLOCK), Drawn(1.6),
        {"B": 2, "S": 24, "V": 131, "P": 40, "E": 48},
        [{"B": 1, "S": 1, "V": 7, "P": 1, "E": 12}, {"B": 3, "S": 7, "V": 31, "P": 13, "E": 24},
         {"B": 2, "S": 17, "V": 61, "P": 19, "E": 36}], [PAST] * 12),
    "opt_1p3b": Family(
        "OPT with 1.3 billion parameters", opt, {"V": 50272, "P": 2050, "E": 2048}, four,
        (*LINEAR, embed(2), OPT_BLOCK), Drawn(1.6),
        {"B": 2, "S": 24, "V": 131, "P": 42, "E": 64},
        [{"B": 1, "S": 1, "V": 7, "P": 3, "E": 32}, {"B": 3, "S": 7, "V": 31, "P": 13, "E": 32},
         {"B": 2, "S": 17, "V": 61, "P": 19, "E": 64}], [PAST] * 24, KEY_BIAS),
    "gpt_neo_2p7b": Family(
        "GPT-Neo with 2.7 billion parameters", gpt_neo, {"V": 50257, "P": 2048, "E": 2560}, four,
        (*LINEAR, embed(0), WINDOWED, gpt_neo_block("block", f"Attention<is_causal = 1, {HEADS}, scale = 1.0>"),
         gpt_neo_block("local_block", f"Attention<{HEADS}, scale = 1.0>", ["seen"])),
        Drawn(1.6, own={"q_proj": 0.5, "k_proj": 1.0}),
        {"B": 2, "S": 24, "V": 131, "P": 40, "E": 60},
        [{"B": 1, "S": 1, "V": 7, "P": 1, "E": 20}, {"B": 3, "S": 7, "V": 31, "P": 13, "E": 20},
         {"B": 2, "S": 17, "V": 61, "P": 19, "E": 40}], [PAST, NEAR] * 16),
    "bart_large": Family(
        "The decoder of BART (large)", bart, {"V": 50265, "P": 1026, "E": 1024}, four,
        (*LINEAR, embed(2), post_norm(CAUSAL, NORM, "Gelu")), Drawn(1.6, own=BART_NORM),
        {"B": 2, "S": 24, "V": 131, "P": 42, "E": 64},
        [{"B": 1, "S": 1, "V": 7, "P": 3, "E": 16}, {"B": 3, "S": 7, "V": 31, "P": 13, "E": 32},
         {"B": 2, "S": 17, "V": 61, "P": 19, "E": 48}], [PAST] * 12, KEY_BIAS),
    "electra_small": Family(
        "ELECTRA (small)", electra, {"V": 30522, "P": 512, "E": 256}, lambda e: {"D": e // 2, "F": 4 * e},
        (*BERT_WIDTHS, post_norm(FULL, BERT_NORM, "Gelu"), head("Gelu")), Drawn(1.6, own=POST_NORM),
        {"B": 2, "S": 24, "V": 131, "P": 40, "E": 64},
        [{"B": 1, "S": 1, "V": 7, "P": 1, "E": 8}, {"B": 3, "S": 7, "V": 31, "P": 13, "E": 20},
         {"B": 2, "S": 17, "V": 61, "P": 19, "E": 36}], [ALL] * 12, KEY_BIAS),
    "bigbird": Family(
        "BigBird, whose attention is full at this length", bigbird(False), {"V": 50358, "P": 4096, "E": 768}, four,
        (*BERT_WIDTHS, post_norm(FULL, BERT_NORM, TANH), head(TANH)), Drawn(1.6, own=POST_NORM),
        {"B": 2, "S": 24, "V": 131, "P": 40, "E": 48},
        [{"B": 1, "S": 1, "V": 7, "P": 1, "E": 12}, {"B": 3, "S": 7, "V": 31, "P": 13, "E": 24},
         {"B": 2, "S": 17, "V": 61, "P": 19, "E": 36}], [ALL] * 12, KEY_BIAS),
    "bigbird_sparse": Family(
        "BigBird with attention to blocks of 64 positions", bigbird(True), {"V": 50358, "P": 4096, "E": 768}, four,
        (*BERT_WIDTHS, SPARSE, post_norm(FULL, BERT_NORM, TANH, ["mask"]), head(TANH)), Drawn(1.6, own=POST_NORM),
        {"B": 1, "S": 721, "V": 61, "P": 800, "E": 24},
        [{"B": 1, "S": 705, "V": 7, "P": 705, "E": 12}, {"B": 1, "S": 768, "V": 31, "P": 769, "E": 12},
         {"B": 1, "S": 769, "V": 13, "P": 773, "E": 12}], [BLOCKS] * 12, KEY_BIAS),
    "reformer_enwik8": Family(
        "Reformer", reformer, {"V": 258, "R": 128, "P": 512, "E": 1024},
        lambda e: {"D": e // 4, "G": e - e // 4, "E2": 2 * e, "F": 4 * e},
        (*LINEAR, AXIAL, SHARED, REFORMER_FEED, LOCAL_BLOCK, LSH_BLOCK), Drawn(1.6, tables=1.0),
        {"B": 2, "S": 24, "V": 131, "R": 3, "P": 40, "E": 64},
        [{"B": 1, "S": 1, "V": 7, "R": 1, "P": 1, "E": 16}, {"B": 3, "S": 7, "V": 31, "R": 2, "P": 13, "E": 24},
         {"B": 2, "S": 17, "V": 61, "R": 3, "P": 19, "E": 40}], [PAST, PAST, OTHERS, PAST] * 3),
}
# problem -> family, batch, length of a sequence
PROBLEMS = {
    1: ("gpt_neo_2p7b", 32, 256), 2: ("opt_1p3b", 1, 2047), 3: ("gpt_neo_2p7b", 1, 2047), 4: ("opt_1p3b", 32, 256),
    5: ("bigbird_sparse", 1, 4095), 6: ("bart_large", 1, 1023), 7: ("gpt2", 32, 256), 8: ("opt_1p3b", 512, 32),
    9: ("bigbird", 32, 256), 10: ("bigbird", 1024, 32), 11: ("electra_small", 1, 511), 12: ("electra_small", 1024, 32),
    13: ("reformer_enwik8", 32, 256), 14: ("electra_small", 32, 256), 15: ("reformer_enwik8", 1024, 32),
    16: ("gpt2", 1, 1023), 17: ("bart_large", 1024, 32), 18: ("gpt_neo_2p7b", 512, 32), 19: ("gpt2", 1024, 32),
    20: ("bart_large", 32, 256),
}
# Longer ones for single problems: a window of 256, and a sequence that is cut into chunks of 128.
LONGER = {3: {"B": 1, "S": 300, "V": 7, "P": 301, "E": 20},
          13: {"B": 1, "S": 151, "V": 7, "R": 2, "P": 151, "E": 16}}
WHY = ("the published problem loads trained weights, which are no part of a task, and those that the package transformers "
       "begins with are so small that a kernel may leave out most of a model; larger ones, and random values for what "
       "begins at zero or at one")


def tasks(level):
    add = Networks(level).add
    for number, (key, batch, length) in PROBLEMS.items():
        family = FAMILIES[key]
        ragged = family.ragged + ([LONGER[number]] if number in LONGER else [])
        full = family.load(B=batch, S=length, **family.full)
        for table, share in zip((level.contraction_parts, level.weight_parts), parts_needed(family, full), strict=True):
            if share != WHOLE:
                table[number] = share
        add(number, f"{key}_bs{batch}_seq{length}".replace("_sparse", ""),
            f"{family.title}: {batch} sequences of {length} tokens".replace(": 1 sequences", ": one sequence"),
            family.build, full, family.load(**family.small),
            [family.load(**r) for r in ragged], draws=family.draws, divide="fixed", why=WHY, allow=family.allow,
            functions=family.functions)
