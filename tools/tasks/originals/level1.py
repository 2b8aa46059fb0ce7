# SPDX-License-Identifier: Apache-2.0
"""Originals of level 1. Parameters are the task's weights in their order."""
from originals import module

# What the originals' texts call the extents: problems -> {name: what it is made of the workload's symbols}.
IMAGE = "batch_size=N in_channels=CI out_channels=CO "
DEPTHS = IMAGE + "depth=D height=H width=W"
PLANES = IMAGE + "height=H width=W"
PLANES_IN = IMAGE + "height_in=H width_in=W"
LINES = IMAGE + "length=L"
ROWS = "batch_size=M dim=N"
FEATURES = "batch_size=N features=C dim1=H dim2=W"
MIDDLE = "batch_size=B dim1=M dim2=N"
SCANNED = "batch_size=M input_shape=(N,)"
LOSSES = "batch_size=B input_shape=(F,)"
CONSTANTS = {
    (1, 13, 14): "N=N", (15,): "M=N", (2, 6, 7, 8, 16, 17, 18): "M=M K=K N=N", (3,): "batch_size=B m=M k=K n=N",
    (4,): "M=M K=K", (5, 12): "M=M N=N", (9,): "M=M N=K", (10,): "N=B M=M K=K L=N", (11,): "b=B i=I j=J l=L k=K",
    (*range(19, 33), 38, 39, 88): ROWS, (33, 34, 35, 36, 37, 40): FEATURES,
    (41,): "batch_size=N features=C sequence_length=L", (42, 45): "batch_size=N channels=C height=H width=W",
    (43,): "batch_size=N channels=C dim1=D dim2=H dim3=W", (44,): "batch_size=N in_channels=C input_length=L",
    (46,): "batch_size=N channels=C depth=D height=H width=W", (47, 48, 49, 51, 52, 53): MIDDLE,
    (50,): "batch_size=N", (54, 68): IMAGE + "depth=D width=H height=W", (61, 66, 70, 73, 77): DEPTHS,
    (60,): IMAGE + "width=D height=H depth=W",
    (59,): IMAGE + "height=D width=H depth=W", (58,): IMAGE + "depth_in=D height_in=H width_in=W",
    (55, 56, 57, 62, 63, 65, 78, 80, 87): PLANES, (69, 71, 81): PLANES_IN, (64, 67, 74, 76, 79): LINES,
    (72,): "batch_size=N in_channels=CI out_channels=4*COG depth=D height=H width=W",
    (75,): "batch_size=N in_channels=CI out_channels=4*COG height=H width=W",
    (82, 83, 85): "batch_size=N height=H width=W", (84,): "batch_size=N height_in=H width_in=W",
    (86,): "batch_size=N out_channels=CO height=H width=W", tuple(range(89, 94)): SCANNED,
    (94, 96, 98, 99, 100): LOSSES, (95,): "batch_size=B num_classes=C",
    (97,): "batch_size=B num_heads=H sequence_length=S embedding_dimension=E"}
TEXTS = {50: {"in_channels=3": "in_channels={CI}", "out_channels=96": "out_channels={CO}",
              "batch_size, 3, 224, 224": "batch_size, {CI}, {H}, {W}"}}
REPAIRED = {}
REFUSED = {46: ("ragged0",)}  # PyTorch wants an image of a window's size even before it pads it
UNUSED = {}
# Whose get_inputs has one name for two extents that the task keeps apart; forward does not mind.
ALIKE = (9, 100)
# Numbers inside PyTorch's functions, which have more digits there than in a 32-bit attribute.
DIGITS = {27: "PyTorch's two constants have more digits than ONNX's 32-bit attributes",
          28: "PyTorch divides by 6 where ONNX multiplies by a 32-bit attribute"}
EXACT = (88,)  # whose text has numbers that the ONNX operator has with all their digits


def constants_of(number, sizes):
    text = next(row for numbers, row in CONSTANTS.items() if number in numbers)
    return {name: eval(value, {}, sizes) for name, value in (pair.split("=") for pair in text.split())}


def inputs_of(task, model):
    names = [name for name, _ in model.named_parameters()]
    if len(names) != len(task.weights()):
        raise ValueError(f"parameters {names}, not {task.weights()}")
    return dict(zip(names, task.weights()))


def original(task, path, sizes, texts):
    number = task.number
    text = module.replaced(path.read_text(), {**TEXTS.get(number, {}), **texts}, sizes)
    names = module.executed(text, path, constants_of(number, sizes), number not in EXACT)
    model = names["Model"](*names["get_init_inputs"]())
    return module.Original(model, inputs_of(task, model), module.of_inputs(task, names, sizes, number not in ALIKE))
