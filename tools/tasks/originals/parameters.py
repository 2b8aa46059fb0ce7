# SPDX-License-Identifier: Apache-2.0
"""Names, shapes and initial distributions of an original's parameters at the published sizes, without data."""
import contextlib
import math

import torch
from torch import nn

import level3_sequences
from originals import module

READ = ((3, 29), (3, 30))  # these read numbers that they make
OWN = ((3, 20),)  # its convolutions are drawn otherwise
DRAWN = {(3, number): names for number, names in level3_sequences.DRAWN.items()}
NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)


def initial(key, prefix, layer, own):
    """What PyTorch's layer draws for its parameter; None for what is drawn in the original's text."""
    if isinstance(layer, (nn.Linear, nn.modules.conv._ConvNd)) and key not in OWN:
        bound = 1 / math.sqrt(nn.init._calculate_fan_in_and_fan_out(layer.weight)[0])
        zero = own == "bias" and prefix.endswith("out_proj")  # attention's, made zero afterwards
        return "constant(0) static" if zero else f"uniform({-bound:.8g}, {bound:.8g}) static"
    if isinstance(layer, NORMALISATIONS):
        return f"constant({int(own == 'weight')}) static"
    if isinstance(layer, nn.RNNBase):
        bound = 1 / math.sqrt(layer.hidden_size)
        return f"uniform({-bound:.8g}, {bound:.8g}) static"
    return None


def executed_whole(level, task, path):
    """The names of an original's file at its own sizes."""
    return module.executed(path.read_text(), path, {}) if path else level.without_file(task, task.sizes("full"))


def parameters_differ(task, path, level):
    """level: the module of it, with `around` a context if its files need one. Returns what differs, as texts."""
    key, sizes, wrong = (task.level, task.number), task.sizes("full"), []
    around = getattr(level, "around", lambda sizes: contextlib.nullcontext())
    with around(sizes), torch.device("cpu" if key in READ else "meta"):
        names = executed_whole(level, task, path)
        inputs = [x for x in names["get_inputs"]() if isinstance(x, torch.Tensor)]
        model = names["Model"](*names["get_init_inputs"]())
    data = [name for name in task.data() if name != module.KEEP and name not in DRAWN.get(key, ())]
    if [tuple(x.shape) for x in inputs] != [task.shape(name, sizes) for name in data]:
        wrong.append(f"inputs {data}")
    inputs_of = level.inputs_of(task, model)
    for prefix, layer in model.named_modules():
        for own, parameter in layer.named_parameters(recurse=False):
            name = inputs_of[f"{prefix}.{own}".lstrip(".")]
            if not name:
                continue
            if name not in task.dims or tuple(parameter.shape) != task.shape(name, sizes):
                wrong.append(f"{name} {tuple(parameter.shape)}")
                continue
            wanted = getattr(level, "initial", initial)(key, prefix, layer, own)
            if wanted and task.published(name).removesuffix(" fixed") != wanted:
                wrong.append(f"{name}: {task.published(name)}, not {wanted}")
    return wrong + [f"{name} is not the original's" for name in task.weights() if name not in inputs_of.values()]
