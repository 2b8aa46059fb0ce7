# SPDX-License-Identifier: Apache-2.0
"""Originals of level 2."""
from originals import module

# Symbols of the task files, and the constants of the originals that they stand for.
CONSTANTS = {"N": ["batch_size"], "M": ["batch_size"], "CI": ["in_channels"], "CO": ["out_channels"],
             "D": ["depth", "D"], "H": ["height", "H"], "W": ["width", "W"], "K": ["in_features", "input_size"]}
OUTPUTS = ("out_features", "hidden_size", "output_size")  # of linear layers: N
# Their layer normalisations have the channels' size over the width, which only fits where the two agree. Elsewhere they
# are given the width's; these sizes they take as they are.
OWN_SIZES = {3: {"own": {"N": 2, "CI": 3, "CO": 16, "D": 2, "H": 3, "W": 8, "OW": 16}}}
OWN_SIZES[34] = OWN_SIZES[3]
TEXTS = {3: {"nn.LayerNorm(norm_shape)": "nn.LayerNorm({OW})"},
         34: {"nn.LayerNorm(out_channels,": "nn.LayerNorm({OW},"}}
# How texts read in the default form, where it has another graph.
REPAIRED = {80: {"x.mean(dim=1,": "x.mean(dim=0,"}, 83: {"torch.tensor(min_value,": "torch.tensor(0.5,"}}
UNUSED = {26: ("bias",)}  # parameters that the original never uses
DIGITS = {}


def constants_of(number, sizes):
    linear = "M" in sizes
    constants = {name: value for symbol, value in sizes.items() if not (linear and symbol == "N")
                 for name in CONSTANTS.get(symbol, [])}
    if linear:
        constants.update({45: {"hidden_size": sizes["N"], "output_size": sizes.get("P")}}.get(number) or
                         dict.fromkeys(OUTPUTS, sizes["N"]))
    return constants


def inputs_of(task, model):
    return module.by_name(model, UNUSED.get(task.number, ()))


def original(task, path, sizes, texts):
    text = module.replaced(path.read_text(), {**TEXTS.get(task.number, {}), **texts}, sizes)
    names = module.executed(text, path, constants_of(task.number, sizes))
    model = names["Model"](*names["get_init_inputs"]())
    return module.Original(model, inputs_of(task, model), module.of_inputs(task, names, sizes))
