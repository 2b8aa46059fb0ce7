# SPDX-License-Identifier: Apache-2.0
"""Originals of level 3: the layers' constructors are given the widths that the task's symbols stand for."""
import contextlib
import re

from torch import nn

import level3_sequences
from originals import module

UNUSED = level3_sequences.UNUSED
# Constructor arguments that are not widths of layers, by the symbol that stands for them: problem -> {name: symbol}.
ARGUMENTS = {28: {"dim": "C512", "mlp_dim": "C2048", "image_size": "H", "num_classes": "CLASSES"},
             31: {"embed_dim": "C128"}, 32: {"embed_dim": "C128", "num_classes": "CLASSES"},
             46: {"num_clusters": "K", "feature_size": "D"}, 47: {"num_clusters": "K", "feature_size": "D"},
             **level3_sequences.ORIGINALS}
# Texts of an original that hard-code extents: problem -> {text: how it reads with the workload's symbols}.
TEXTS = {4: {"16*5*5": "{FEATURES}"},
         29: {"embed_dim=96": "embed_dim={C96}", "num_classes=1000": "num_classes={CLASSES}"},
         32: {"embed_dim * num_patches": "{FEATURES}"},
         46: {"ghost_clusters = 16": "ghost_clusters = {KG} - {K}"}}
TEXTS[30] = TEXTS[29]
REPAIRED = {28: {"x[:, 0]": "x[:, 1]"}}  # the token of the default form
DIGITS = {}


@contextlib.contextmanager
def narrowed(widths):
    """Layers made inside have the widths' images instead."""
    positions = {nn.Conv1d: 2, nn.Conv2d: 2, nn.ConvTranspose2d: 2, nn.Linear: 2, nn.BatchNorm1d: 1, nn.BatchNorm2d: 1,
                 nn.LayerNorm: 1}
    named = ("in_channels", "out_channels", "in_features", "out_features", "num_features")
    saved = {cls: cls.__init__ for cls in positions}

    def image(v):
        return tuple(map(image, v)) if isinstance(v, (tuple, list)) else widths.get(v, v)

    def patch(cls, init, count):
        def narrow(self, *args, **keywords):
            args = [image(a) if i < count else a for i, a in enumerate(args)]
            init(self, *args, **{k: image(v) if k in named else v for k, v in keywords.items()})
        cls.__init__ = narrow

    for cls, init in saved.items():
        patch(cls, init, positions[cls])
    try:
        yield
    finally:
        for cls, init in saved.items():
            cls.__init__ = init


def widths_of(task, sizes):
    """What the workload makes of each published width: symbols C64, G8 (a group's), CLASSES, FEATURES."""
    full = task.sizes("full")
    return {n: sizes[symbol] for symbol, n in full.items()
            if symbol in ("CLASSES", "FEATURES") or re.fullmatch(r"[CF]\d+", symbol)}


def inputs_of(task, model):
    return module.by_name(model, UNUSED.get(task.number, ()))


def original(task, path, sizes, texts):
    number, full = task.number, task.sizes("full")
    text = module.replaced(path.read_text(), {**TEXTS.get(number, {}), **texts}, sizes)
    for name, symbol in ARGUMENTS.get(number, {}).items():
        text, count = re.subn(rf"(?m)^{name} *= *{full[symbol]}\b", f"{name} = {sizes[symbol]}", text)
        assert count == 1, name
    names = module.executed(text, path, {}, rounded=False)
    widths = {} if number in ARGUMENTS or number in (29, 30) else widths_of(task, sizes)
    with narrowed(widths):
        model = names["Model"](*names["get_init_inputs"]())
    return module.Original(model, inputs_of(task, model))
