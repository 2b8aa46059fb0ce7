#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/fusedops/FAMILY/*.onnxtxt from the tables below, and the table in docs/fusedops.md.

`tools/tasks/make_fusedops.py` rewrites the files, `tools/tasks/make_fusedops.py --check` fails when one differs.
Three families (bf16 matmul, layer normalisation, product with bias and GELU) have the shapes and inputs of Red Hat's
comparison of kernel makers, KernelGeneration at 4c6e8f0, as their published form. Everything else is Assay's.
"""
import sys

from task_files import HOUSE, Input, check_limits, task_text, write_files

SCRIPT = "tools/tasks/make_fusedops.py"
PAGE = HOUSE / "docs" / "fusedops.md"
ROOT = HOUSE / "tasks" / "fusedops"
PUBLISHED = "KernelGeneration 4c6e8f0"
OURS = "Assay"
NORMAL, UNIT = "normal(0, 1)", "uniform(0, 1)"
# Kind of tensors -> contract, and the published tolerances (rtol, atol) where there are any.
CONTRACTS = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16"}
SHORT = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16"}
TOLERANCES = "1e-2, 1e-5"  # of the published check; its reference is the bf16 operator of PyTorch


def sweep(prefix, symbols, rows):
    """Workloads of equal rank, "size01" and on: each gets a verdict and a time."""
    return {f"{prefix}{i:02d}": dict(zip(symbols.split(), row, strict=True)) for i, row in enumerate(rows, 1)}


def loads(symbols, small, full, ragged, **sweeps):
    """small and ragged: probe shapes; full: what `full` means; sweeps: prefix -> rows."""
    names = symbols.split()
    row = lambda sizes: dict(zip(names, sizes, strict=True))
    rows = {"small": row(small), "full": row(full)}
    rows.update({f"ragged{i}": row(sizes) for i, sizes in enumerate(ragged)})
    for prefix, sizes in sweeps.items():
        rows.update(sweep(prefix, symbols, sizes))
    return rows


class Task:
    """What compare_fusedops.py needs of a task; the same names as in the suite of KernelBench-X."""

    mathematics, digits, ladder, inaccurate, check = None, "", None, (0, ""), None

    def __init__(self, key, inputs, outputs, workloads, call, probes):
        self.category, self.stem = key.split("/")
        self.name, self.inputs, self.outputs, self.workloads = f"fusedops/{key}", inputs, outputs, workloads
        self.call, self.probes = call, probes

    def path(self):
        return ROOT / self.category / f"{self.stem}.onnxtxt"

    def compared(self):
        return [w for w in self.workloads if w == "small" or w.startswith("ragged")]

    def probed(self):
        named = {p.strip().split("(")[0] for p in (self.probes or "").split(",") if p.strip()}
        usual = {"zero_mean", "row_scales", "heavy_mean", "integers", "subnormal"}
        return sorted((usual | named) - {p for n in named if n[0] == "-" for p in (n, n[1:])})


class Suite:
    def __init__(self):
        self.tasks, self.files, self.rows = {}, {}, []

    def task(self, family, name, title, inputs, outputs, body, workloads, call, kind="bfloat16", repair=None,
             origin=OURS, shapes=None, probes=None, allow=None, constants=(), contract=None, pytorch=None, domains=(), weight_part=None,
             contraction_part=None):
        """outputs: rows (name, type, dims). call: the same in PyTorch, of the inputs by their names and the sizes."""
        key = f"{family}/{name}"
        assert (repair is not None) == any(i.published for i in inputs), key
        props = [("assay.task", f"fusedops/{key}"), ("assay.title", title), ("assay.origin", origin),
                 ("assay.contract", contract or CONTRACTS[kind])]
        props += [("assay.allclose", TOLERANCES)] if origin != OURS else []
        props += [(f"assay.workload.{w}", ", ".join(f"{k}={v}" for k, v in sizes.items()))
                  for w, sizes in workloads.items()]
        props += [("assay.shapes", shapes)] if shapes else []
        props += [(f"assay.input.{i.name}", i.dist) for i in inputs]
        props += [(f"assay.published.input.{i.name}", i.published) for i in inputs if i.published]
        props += [(k, v) for k, v in (("assay.repair", repair), ("assay.probes", probes), ("assay.lint.allow", allow),
                                      ("assay.pytorch", pytorch), ("assay.weight_part", weight_part),
                                      ("assay.contraction_part", contraction_part)) if v]
        check_limits(key, workloads, [i.dims for i in inputs] + [dims for _, _, dims in outputs])
        self.tasks[key] = Task(key, inputs, [output for output, _, _ in outputs], workloads, call, probes)
        self.files[ROOT / family / f"{name}.onnxtxt"] = task_text(name, props, inputs, outputs, body, constants,
                                                                    domains=domains)
        timed = [w for w in workloads if w not in ("small", "full") and not w.startswith("ragged")]
        counts = {}
        for w in timed:
            counts[w.rstrip("0123456789")] = counts.get(w.rstrip("0123456789"), 0) + 1
        changes = "<br>".join(f"`{i.name}`: {i.published} → {i.dist}" for i in inputs if i.published)
        self.rows.append((key, ", ".join(f"{n} {prefix}" for prefix, n in counts.items()), changes, repair or title))

    def page(self):
        begin, end = f"<!-- tasks: written by {SCRIPT} -->\n", "<!-- end of tasks -->"
        before, rest = PAGE.read_text().split(begin)
        head = ["| task | workloads of equal rank | published → default | remark |", "|---|---|---|---|"]
        table = head + [f"| {' | '.join(row)} |" for row in sorted(self.rows)]
        return before + begin + "\n".join(table) + "\n" + end + rest.split(end, 1)[1]

    def main(self):
        if sys.argv[1:] not in ([], ["--check"]):
            sys.exit(f"usage: {SCRIPT} [--check]")
        write_files({**self.files, PAGE: self.page()}, SCRIPT, bool(sys.argv[1:]))


SUITE = Suite()

# ---- matrix product

# M, K, N of the published sweep: M = 256 + 128 i without 1920, K = M + 128, N = M + 256.
PUBLISHED_M = [*range(256, 1793, 128), *range(2048, 4097, 128)]
MATMUL = loads("M K N", (96, 128, 160), (4096, 4224, 4352), [(1, 1, 1), (7, 33, 129), (64, 72, 66), (63, 127, 61)],
               size=[(m, m + 128, m + 256) for m in PUBLISHED_M],
               odd=[(257, 385, 509), (1000, 1001, 1003), (1023, 1153, 1279), (2047, 2177, 2303), (4095, 4223, 4351)],
               thin=[(1, 4096, 4096), (16, 4096, 4096), (64, 4096, 14336), (4096, 64, 4096), (128, 16384, 128)],
               large=[(8192, 8192, 8192), (16384, 4096, 16384)])


def matmul(kind, note):
    published = UNIT if kind == "bfloat16" else None
    SUITE.task("matmul", f"{SHORT[kind]}_matmul", f"Matrix product in {SHORT[kind]}",
               [Input("a", ["M", "K"], NORMAL, published, kind), Input("b", ["K", "N"], NORMAL, published, kind)],
               [("y", kind, ["M", "N"])], ["y = MatMul(a, b)"], MATMUL, "a @ b", kind, note,
               PUBLISHED if published else OURS, probes="special" if kind == "float" else None)


matmul("bfloat16", "drawn from [0, 1), where a product hardly moves; numbers of both signs")
matmul("float16", None)
matmul("float", None)
SUITE.task("matmul", "fp8_matmul", "Matrix product of float8 (e4m3) numbers, result in bf16",
           [Input("a", ["M", "K"], NORMAL, None, "float8e4m3fn"), Input("b", ["K", "N"], NORMAL, None, "float8e4m3fn")],
           [("y", "bfloat16", ["M", "N"])],
           ["wa = Cast<to = 16>(a)", "wb = Cast<to = 16>(b)", "y = MatMul(wa, wb)"], MATMUL,
           "a.to(b16) @ b.to(b16)", contract="fp8")

# ---- layer normalisation

ROWS = loads("R D", (64, 384), (8192, 4096), [(1, 2), (3, 17), (7, 131), (5, 1021)],
             size=[(512, 512), (32, 1024), (2048, 2048)],
             odd=[(511, 513), (100, 1000), (2047, 2049), (33, 12289)],
             large=[(8192, 4096), (16384, 8192), (4096, 16384), (262144, 512)])


def layernorm(name, kind, x, repair=None, published=None, title="Layer normalisation"):
    affine = [Input("w", ["D"], "uniform(0.5, 1.5) static", published and "constant(1) static", kind),
              Input("b", ["D"], "uniform(-0.5, 0.5) static", published and "constant(0) static", kind)]
    SUITE.task("layernorm", name, f"{title} in {SHORT[kind]}", [Input("x", ["R", "D"], x, published, kind)] + affine,
               [("y", kind, ["R", "D"])], ["y = LayerNormalization<epsilon = 1e-5>(x, w, b)"], ROWS,
               "F.layer_norm(x, (D,), w, b, 1e-5)", kind, repair, PUBLISHED if published else OURS)


layernorm("bf16_layernorm", "bfloat16", "normal(-2.3, 0.5) * uniform_scalar(0.25, 4)",
          "one mean and spread for every row, and no scale and shift: a fixed straight line passes, and so does a "
          "kernel that ignores w and b; a scale drawn anew, random scale and shift", "normal(-2.3, 0.5)")
layernorm("fp16_layernorm", "float16", "normal(-2.3, 0.5) * uniform_scalar(0.25, 4)")
layernorm("fp32_layernorm", "float", "normal(-2.3, 0.5) * uniform_scalar(0.25, 4)")
layernorm("bf16_layernorm_far", "bfloat16", "normal(60, 3) * uniform_scalar(0.5, 2)",
          title="Layer normalisation of rows far from zero mean")
layernorm("fp32_layernorm_far", "float", "normal(500, 1) * uniform_scalar(0.5, 2)",
          title="Layer normalisation of rows far from zero mean")

# ---- product, bias, GELU

FUSED = loads("M K N", (96, 128, 160), (512, 2048, 4096), [(1, 1, 1), (7, 33, 129), (64, 72, 66), (63, 127, 61)],
              size=[(32, 64, 16), (128, 256, 64), (512, 1024, 128), (1024, 2048, 256), (512, 2048, 4096)],
              odd=[(33, 65, 17), (127, 255, 63), (513, 1023, 131), (511, 2047, 4095)],
              large=[(4096, 4096, 16384), (16384, 1024, 4096), (8192, 8192, 8192)])


def gemm_gelu(kind, repair):
    published = repair and UNIT
    SUITE.task("gemm_gelu", f"{SHORT[kind]}_gemm_gelu", f"Matrix product with bias and GELU in {SHORT[kind]}",
               [Input("x", ["M", "K"], NORMAL, published, kind),
                Input("w", ["K", "N"], "normal(0, 0.1) static", repair and f"{UNIT} static", kind),
                Input("b", ["N"], "normal(0, 0.5) static", repair and f"{UNIT} static", kind)],
               [("y", kind, ["M", "N"])], ["p = MatMul(x, w)", "s = Add(p, b)", "y = Gelu(s)"], FUSED,
               "F.gelu(x @ w + b)", kind, repair, PUBLISHED if published else OURS,
               pytorch="F.gelu(torch.matmul(x, w) + b)")


gemm_gelu("bfloat16", "drawn from [0, 1) every sum is above 12, where GELU is the identity; numbers of both signs, and "
                      "sums around zero")
gemm_gelu("float16", None)
gemm_gelu("float", None)

# ---- rows: softmax, RMS normalisation, SwiGLU, rotary embedding, cross entropy

VOCABULARY = loads("R D", (64, 384), (8192, 4096), [(1, 1), (3, 17), (7, 131), (5, 1021)],
                   size=[(4096, 256), (4096, 1024), (4096, 4096), (4096, 8192), (2048, 16384), (1024, 32768),
                         (512, 128256)],
                   odd=[(511, 513), (100, 1000), (33, 12289), (17, 50257)],
                   large=[(16384, 8192), (262144, 512)])
for kind in ("bfloat16", "float"):
    short = SHORT[kind]
    SUITE.task("softmax", f"{short}_softmax", f"Softmax over rows in {short}",
               [Input("x", ["R", "D"], "normal(0, 2) * uniform_scalar(0.5, 2)", None, kind)],
               [("y", kind, ["R", "D"])], ["y = Softmax<axis = -1>(x)"], VOCABULARY, "torch.softmax(x, -1)", kind)
    SUITE.task("rms_norm", f"{short}_rms_norm", f"Root mean square normalisation of rows in {short}",
               [Input("x", ["R", "D"], "normal(0, 1) * uniform_scalar(0.25, 4)", None, kind),
                Input("w", ["D"], "uniform(0.5, 1.5) static", None, kind)],
               [("y", kind, ["R", "D"])], ["y = RMSNormalization<epsilon = 1e-5>(x, w)"], ROWS,
               "F.rms_norm(x, (D,), w, 1e-5)", kind)
    SUITE.task("swiglu", f"{short}_swiglu", f"Gated linear unit with the sigmoid's gate in {short}",
               [Input("g", ["R", "D"], NORMAL, None, kind), Input("u", ["R", "D"], NORMAL, None, kind)],
               [("y", kind, ["R", "D"])], ["s = Sigmoid(g)", "h = Mul(g, s)", "y = Mul(h, u)"],
               loads("R D", (64, 384), (8192, 14336), [(1, 1), (3, 17), (7, 131), (5, 1021)],
                     size=[(1, 14336), (16, 14336), (512, 11008), (2048, 14336), (8192, 14336)],
                     odd=[(511, 513), (33, 12289)], large=[(16384, 28672)]),
               "F.silu(g) * u", kind, pytorch="F.silu(g) * u")
    SUITE.task("cross_entropy", f"{short}_cross_entropy", f"Cross entropy of every row in {short}",
               [Input("x", ["R", "D"], "normal(0, 2) * uniform_scalar(0.5, 2)", None, kind),
                Input("t", ["R"], "labels(D) fixed", None, "int64")],
               [("y", kind, ["R"])], ['y = SoftmaxCrossEntropyLoss<reduction = "none">(x, t)'],
               loads("R D", (64, 384), (4096, 32000), [(1, 2), (3, 17), (7, 131), (5, 1021)],
                     size=[(4096, 1000), (4096, 8192), (4096, 32000), (2048, 50257), (1024, 128256)],
                     odd=[(511, 513), (33, 12289)], large=[(16384, 32000), (8192, 128256)]),
               'F.cross_entropy(x, t, reduction="none")', kind)
    SUITE.task("rotary", f"{short}_rotary", f"Rotary position embedding of heads of 128 in {short}",
               [Input("x", ["B", "H", "S", 128], NORMAL, None, kind),
                Input("c", ["B", "S", 64], "uniform(-1, 1) fixed", None, kind),
                Input("s", ["B", "S", 64], "uniform(-1, 1) fixed", None, kind)],
               [("y", kind, ["B", "H", "S", 128])],
               # Written out: PyTorch rounds every product to the type, and the operator RotaryEmbedding would not.
               ["a, b = Split<axis = 3, num_outputs = 2>(x)", "ch = Unsqueeze(c, one)", "sh = Unsqueeze(s, one)",
                "ac = Mul(a, ch)", "bs = Mul(b, sh)", "as = Mul(a, sh)", "bc = Mul(b, ch)", "low = Sub(ac, bs)",
                "high = Add(as, bc)", "y = Concat<axis = 3>(low, high)"],
               loads("B H S", (2, 4, 48), (4, 32, 4096), [(1, 1, 1), (2, 3, 7), (3, 1, 17)],
                     size=[(1, 32, 128), (1, 32, 1024), (1, 32, 4096), (4, 32, 4096), (64, 32, 1)],
                     odd=[(1, 7, 1001), (3, 5, 77)], large=[(8, 32, 8192)]),
               "torch.cat([x[..., :64] * c[:, None] - x[..., 64:] * s[:, None], "
               "x[..., :64] * s[:, None] + x[..., 64:] * c[:, None]], -1)", kind, constants=["int64[1] one = {1}"])

# ---- attention

HEADS = [Input("q", ["B", "H", "S", "D"], NORMAL, None, "bfloat16"),
         Input("k", ["B", "H", "T", "D"], NORMAL, None, "bfloat16"),
         Input("v", ["B", "H", "T", "D"], NORMAL, None, "bfloat16")]
RAGGED = [(1, 1, 1, 1, 1), (2, 3, 5, 9, 7), (1, 2, 33, 35, 17), (1, 1, 7, 11, 129)]
SUITE.task("attention", "bf16_attention", "Attention in bf16", HEADS, [("y", "bfloat16", ["B", "H", "S", "D"])],
           ["y = Attention(q, k, v)"],
           loads("B H S T D", (1, 4, 96, 80, 64), (4, 16, 4096, 4096, 128), RAGGED,
                 size=[(b, h, s, s, d) for d, h in ((64, 32), (128, 16))
                       for b, s in ((16, 512), (8, 1024), (4, 2048), (2, 4096))],
                 odd=[(2, 16, 1023, 1025, 128), (3, 5, 777, 999, 80)], decode=[(16, 32, 1, 8192, 128)],
                 long=[(1, 16, 16384, 16384, 128)]),
           "F.scaled_dot_product_attention(q, k, v)", shapes="B=1..16, H=1..32, S=1..16384, T=1..16384, D=1..256")
CAUSAL_PART = "1/2"  # (S + 1) / 2S of all pairs are seen; this holds for every S
CAUSAL = [Input(i.name, ["B", "H", "S", "D"], NORMAL, None, "bfloat16") for i in HEADS]
SUITE.task("attention", "bf16_attention_causal", "Attention that looks back only, in bf16", CAUSAL,
           [("y", "bfloat16", ["B", "H", "S", "D"])], ["y = Attention<is_causal = 1>(q, k, v)"],
           loads("B H S D", (1, 4, 96, 64), (4, 16, 4096, 128), [(1, 1, 1, 1), (2, 3, 5, 7), (1, 2, 33, 17), (1, 1, 7, 129)],
                 size=[(b, h, s, d) for d, h in ((64, 32), (128, 16))
                       for b, s in ((16, 512), (8, 1024), (4, 2048), (2, 4096))],
                 odd=[(2, 16, 1023, 128), (3, 5, 777, 80)], long=[(1, 16, 16384, 128)]),
           "F.scaled_dot_product_attention(q, k, v, is_causal=True)", shapes="B=1..16, H=1..32, S=1..16384, D=1..256",
           contraction_part=CAUSAL_PART)
GROUPED = [Input("q", ["B", "H", "S", "D"], NORMAL, None, "bfloat16"),
           Input("k", ["B", "G", "S", "D"], NORMAL, None, "bfloat16"),
           Input("v", ["B", "G", "S", "D"], NORMAL, None, "bfloat16")]
SUITE.task("attention", "bf16_attention_gqa", "Causal attention in bf16 where four queries' heads share one of keys",
           GROUPED, [("y", "bfloat16", ["B", "H", "S", "D"])], ["y = Attention<is_causal = 1>(q, k, v)"],
           loads("B H G S D", (1, 4, 1, 96, 64), (4, 32, 8, 4096, 128),
                 [(1, 4, 1, 1, 1), (2, 8, 2, 5, 7), (1, 4, 1, 33, 17), (1, 4, 1, 7, 129)],
                 size=[(4, 32, 8, s, 128) for s in (512, 1024, 2048, 4096)],
                 odd=[(2, 32, 8, 1023, 128), (1, 12, 3, 777, 80)], long=[(1, 32, 8, 16384, 128)]),
           "F.scaled_dot_product_attention(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1), is_causal=True)",
           shapes="B=1..4, G=1..8, H=4*G, S=1..4096, D=1..128", contraction_part=CAUSAL_PART)

# ---- mixture of experts

SUITE.task("moe_gate", "fp32_moe_gate", "Router of a mixture of experts: the eight largest gates, made to add up to 1",
           [Input("x", ["R", "D"], NORMAL, None, "float"), Input("w", ["D", "E"], "normal(0, 0.1) static", None, "float")],
           [("y", "float", ["R", 8])],
           ["l = MatMul(x, w)", "p = Softmax<axis = -1>(l)", "g, i = TopK(p, k)", "t = ReduceSum(g, last)",
            "y = Div(g, t)"],
           loads("R D E", (64, 128, 64), (4096, 4096, 128), [(1, 1, 8), (3, 17, 9), (7, 131, 31)],
                 size=[(1, 4096, 128), (128, 4096, 128), (4096, 4096, 128), (4096, 7168, 256)],
                 odd=[(511, 1023, 61)]),
           "(lambda g: g / g.sum(-1, keepdim=True))(torch.topk(torch.softmax(x @ w, -1), 8, -1).values)", "float",
           constants=["int64[1] k = {8}", "int64[1] last = {-1}"], shapes="R=1..4096, D=1..4096, E=8..256")
GROUPS = [part for g in range(4) for part in (Input(f"x{g}", [f"M{g}", "K"], NORMAL, None, "bfloat16"),
                                              Input(f"w{g}", ["K", "N"], "normal(0, 1) static", None, "bfloat16"))]
SUITE.task("grouped_gemm", "bf16_grouped_gemm", "Four products of their own sizes in bf16",
           GROUPS, [(f"y{g}", "bfloat16", [f"M{g}", "N"]) for g in range(4)],
           [f"y{g} = MatMul(x{g}, w{g})" for g in range(4)],
           loads("M0 M1 M2 M3 K N", (96, 33, 7, 64, 128, 96), (4096, 4096, 4096, 4096, 4096, 4096),
                 [(1, 1, 1, 1, 1, 1), (7, 3, 1, 5, 33, 65), (61, 2, 17, 31, 67, 64)],
                 size=[(1024, 1024, 1024, 1024, 4096, 4096), (8192, 8192, 8192, 8192, 7168, 4096),
                       (64, 64, 64, 64, 7168, 4096)],
                 skew=[(4000, 64, 16, 16, 4096, 4096), (1, 1, 1, 4093, 2048, 7168)],
                 odd=[(1001, 333, 77, 5, 1003, 1005)]),
           "[x0 @ w0, x1 @ w1, x2 @ w2, x3 @ w3]")
SUITE.task("grouped_gemm", "bf16_batched_gemm", "A product for every expert, all of one size, in bf16",
           [Input("x", ["E", "M", "K"], NORMAL, None, "bfloat16"),
            Input("w", ["E", "K", "N"], "normal(0, 1) static", None, "bfloat16")],
           [("y", "bfloat16", ["E", "M", "N"])], ["y = MatMul(x, w)"],
           loads("E M K N", (3, 48, 64, 40), (8, 1024, 4096, 4096), [(1, 1, 1, 1), (3, 7, 33, 17), (2, 31, 67, 61)],
                 size=[(8, 64, 4096, 4096), (8, 1024, 4096, 4096), (64, 128, 2048, 1408), (4, 8192, 7168, 4096)],
                 odd=[(5, 1001, 1003, 333)]),
           "x @ w")
SUITE.task("grouped_gemm", "bf16_routed_gemm", "A product for every expert, whose rows data count, in bf16",
           [Input("x", ["T", "K"], NORMAL, None, "bfloat16"),
            Input("w", ["E", "K", "N"], "normal(0, 1) static", None, "bfloat16"), Input("ends", ["E"], "partition(T)", None, "int32")],
           [("y", "bfloat16", ["T", "N"])], ["y = ai.assay.GroupedMatMul(x, w, ends)"],
           loads("T E K N", (200, 4, 96, 80), (16384, 8, 4096, 4096), [(1, 1, 1, 1), (37, 5, 33, 17), (113, 3, 67, 31)],
                 size=[(512, 8, 4096, 4096), (8192, 8, 4096, 4096), (8192, 64, 2048, 1408), (32768, 4, 7168, 4096)],
                 decode=[(64, 64, 2048, 1408)], odd=[(5005, 5, 1003, 333)]),
           "torch.cat([x[b:e] @ w[g] for g, (b, e) in enumerate(zip([0] + ends.tolist()[:-1], ends.tolist()))])",
           domains=("ai.assay",), weight_part="1/4")  # experts without rows: some 40 of 64 have any of 64 rows

if __name__ == "__main__":
    SUITE.main()
