# SPDX-License-Identifier: Apache-2.0
"""Loss: means over all elements or rows."""
from kernelbenchx.suite import NORMAL, SUITE, Input, loads, powers

MOVES = ("the published loss hardly changes from draw to draw, so that a constant or last call's answer is close; inputs "
         "of a scale drawn anew")
SCALED = "normal(0, 1) * uniform_scalar(0.5, 2.5)"
MEAN = "y = ReduceMean<keepdims = 0>"


def loss(name, title, inputs, body, workloads, **more):
    SUITE.task("Loss", name, title, inputs, [], body, workloads, f"{name}(input, target)", **more)


def vector(last):
    return loads("N", powers(12, last), 65536, 1, 3, 257, 1021, 4099)


loss("binary_cross_entropy", "Mean binary cross entropy of probabilities",
     [Input("input", ["N"], "uniform(0.02, 0.5) * uniform_scalar(0.1, 1.9) between(0, 1)"),
      Input("target", ["N"], "uniform(0, 1) * uniform_scalar(0, 1) between(0, 1)")],
     ["lp = Log(input)", "q = Sub(one, input)", "lq = Log(q)", "a = Mul(target, lp)", "u = Sub(one, target)",
      "b = Mul(u, lq)", "s = Add(a, b)", "n = Neg(s)", MEAN + "(n)"], vector(23), constants=["float one = {1.0}"],
     probes="-integers, -subnormal",
     note="probabilities and targets of levels drawn anew, where the ladder's are sigmoids of normal numbers and 0 or 1, "
          "whose loss hardly changes")
CLASSES = loads("B C", [(b, 1000) for b in powers(8, 15)], (128, 512), (1, 2), (3, 7), (7, 1021), (61, 33), (67, 1))
LABELS = Input("target", ["B"], "labels(C) fixed", dtype="int64")
loss("cross_entropy", "Mean cross entropy of logits against labels",
     [Input("input", ["B", "C"], "normal(0, 1) * uniform_scalar(0.5, 6)", NORMAL), LABELS],
     ['y = SoftmaxCrossEntropyLoss<reduction = "mean">(input, target)'], CLASSES, repair=MOVES,
     probes="near_overflow(1e4)")
loss("kl_div", "Kullback-Leibler divergence of probabilities from given logarithms, sum over rows' number",
     [Input("input", ["B", "C"], "uniform(-10, -0.5) * uniform_scalar(0.5, 1.5)"),
      Input("target", ["B", "C"], "normal(0, 1) * uniform_scalar(0.5, 2.5) softmax fixed")],
     ["lt = Log(target)", "d = Sub(lt, input)", "terms = Mul(target, d)", "rows = ReduceSum<keepdims = 0>(terms, axis)",
      MEAN + "(rows)"],
     loads("B C", [(b, 1024) for b in powers(8, 13)], (128, 512), (1, 2), (3, 7), (7, 1021), (13, 33), (1, 4099)),
     constants=["int64[1] axis = {1}"],
     note="logarithms are drawn free, where the ladder's are of normalised rows; the formula is the same")
loss("mse_loss", "Mean squared error", [Input(x, ["N"], SCALED, NORMAL) for x in ("input", "target")],
     ["d = Sub(input, target)", "s = Mul(d, d)", MEAN + "(s)"], vector(23), repair=MOVES, probes="near_overflow(1e15)")
loss("nll_loss", "Mean negative logarithm of the labels' likelihoods",
     [Input("input", ["B", "C"], "uniform(-12, 0) * uniform_scalar(0.25, 2)"), LABELS],
     ['y = NegativeLogLikelihoodLoss<reduction = "mean">(input, target)'], CLASSES, probes="near_overflow(1e30)",
     input_part="1/500",
     note="logarithms are drawn free, where the ladder's are of normalised rows; the formula is the same")
loss("smooth_l1_loss", "Mean of the smooth absolute error with threshold 1",
     [Input(x, ["N"], "normal(0, 1) * uniform_scalar(0.5, 4)", NORMAL) for x in ("input", "target")],
     ["e = Sub(input, target)", "d = Abs(e)", "s = Mul(d, d)", "quadratic = Mul(s, half)", "linear = Sub(d, half)",
      "inside = Less(d, one)", "h = Where(inside, quadratic, linear)", MEAN + "(h)"], vector(24), repair=MOVES,
     probes="near_overflow(1e30)", constants=["float half = {0.5}", "float one = {1.0}"])
