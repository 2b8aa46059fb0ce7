# SPDX-License-Identifier: Apache-2.0
"""Optimizer: one step. All states come out; where the published function overwrites them, they are outputs here."""
from kernelbenchx.suite import DIGITS, NORMAL, SUITE, Input, loads, powers

STATE = "normal(0, 0.1)"
SMALL_STEP = ("input: one step is smaller than 1e-2, the contract sees it; affine: one step is smaller than 1e-2, the "
              "contract sees it")
SQUARES = "uniform(0.01, 1) above(0)"
# Of subnormal moments divided by the epsilon, the order of a product and a quotient decides how many bits are left.
NORMAL_ALONE = "-subnormal"


def optimizer(name, title, states, body, call, constants, first=10, last=28, **more):
    inputs = [Input("param", ["N"], NORMAL), Input("grad", ["N"], NORMAL)]
    inputs += [Input(state, ["N"], dist) for state, dist in states]
    outputs = [("new_param", "float", ["N"])] + [(f"new_{state}", "float", ["N"]) for state, _ in states]
    SUITE.task("Optimizer", name, title, inputs, outputs, body,
               loads("N", powers(first, last), 65536, 1, 3, 257, 1021, 4099), call,
               constants=[f"float {n} = {{{v}}}" for n, v in constants.items()], digits=DIGITS,
               allow=SMALL_STEP if name not in ("SGD", "RMSProp") else None,
               probes=NORMAL_ALONE if SQUARES in dict(states).values() else None, **more)


ADAM = ["m1 = Mul(exp_avg, b1)", "g1 = Mul(gradient, c1)", "new_exp_avg = Add(m1, g1)", "m2 = Mul(exp_avg_sq, b2)",
        "gg = Mul(gradient, gradient)", "g2 = Mul(gg, c2)", "new_exp_avg_sq = Add(m2, g2)", "r = Sqrt(new_exp_avg_sq)",
        "rc = Div(r, root)", "d = Add(rc, eps)", "q = Div(new_exp_avg, d)", "u = Mul(q, step)",
        "new_param = Sub(kept, u)"]
MOMENTS = [("exp_avg", STATE), ("exp_avg_sq", SQUARES)]
# The third step: corrections 1 - 0.9^3 = 0.271 and 1 - 0.999^3 = 0.002997001.
ADAM_NUMBERS = {"b1": 0.9, "c1": 0.1, "b2": 0.999, "c2": 0.001, "root": 0.0547448718, "eps": 1e-8, "step": 0.0036900369}
optimizer("AdamW", "Third step of AdamW with its defaults", MOMENTS,
          ["gradient = Identity(grad)", "kept = Mul(param, decay)"] + ADAM,
          "adamw_step(param, grad, exp_avg, exp_avg_sq, 3)", {**ADAM_NUMBERS, "decay": 0.99999},
          note="the ladder times the first step of its states; here the third, whose corrections are not the first's; its "
               "formula leaves these corrections out, which AdamW and the published function have")
optimizer("Lion", "One step of Lion with its defaults", [("exp_avg", NORMAL)],
          ["a = Mul(exp_avg, b1)", "b = Mul(grad, c1)", "update = Add(a, b)", "s = Sign(update)", "u = Mul(s, lr)",
           "new_param = Sub(param, u)", "c = Mul(exp_avg, b2)", "d = Mul(grad, c2)", "new_exp_avg = Add(c, d)"],
          "lion_step(param, grad, exp_avg)", {"b1": 0.9, "c1": 0.1, "b2": 0.99, "c2": 0.01, "lr": 0.0001})
optimizer("RMSProp", "One step of RMSProp with its defaults", [("square_avg", SQUARES)],
          ["a = Mul(square_avg, alpha)", "gg = Mul(grad, grad)", "b = Mul(gg, rest)", "new_square_avg = Add(a, b)",
           "r = Sqrt(new_square_avg)", "d = Add(r, eps)", "q = Div(grad, d)", "u = Mul(q, lr)",
           "new_param = Sub(param, u)"], "rmsprop_step(param, grad, square_avg)",
          {"alpha": 0.99, "rest": 0.01, "eps": 1e-8, "lr": 0.01})
optimizer("SGD", "One step of gradient descent with momentum", [("momentum_buffer", NORMAL)],
          ["m = Mul(momentum_buffer, momentum)", "new_momentum_buffer = Add(m, grad)",
           "u = Mul(new_momentum_buffer, lr)", "new_param = Sub(param, u)"], "sgd_step(param, grad, momentum_buffer)",
          {"momentum": 0.9, "lr": 0.1})
optimizer("Adam", "Third step of Adam with its defaults", MOMENTS,
          ["gradient = Identity(grad)", "kept = Identity(param)"] + ADAM,
          "[p := param.clone().requires_grad_(), setattr(p, 'grad', grad), o := Adam([p]), o.state[p].update(step="
          "torch.tensor(2.0), exp_avg=exp_avg.clone(), exp_avg_sq=exp_avg_sq.clone()), o.step(), (p.detach(), "
          "o.state[p]['exp_avg'], o.state[p]['exp_avg_sq'])][-1]", ADAM_NUMBERS, 12, 27, ladder=[["N"]],
          note="the published test compares hyper-parameters and takes no step; the ladder times the first step, here it "
               "is the third")
