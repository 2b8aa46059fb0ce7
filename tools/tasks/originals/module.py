# SPDX-License-Identifier: Apache-2.0
"""An original module: its text, run with other constants than it has, and itself, run on what Assay drew."""
import ast

import numpy
import torch

DTYPES = {"float": numpy.float32, "bool": numpy.bool_, "int64": numpy.int64}
KEEP = "keep"  # the input that stands for what a dropout keeps


def replaced(text, texts, sizes):
    """texts: how passages read instead; sizes: what the symbols in braces stand for there."""
    for old, new in texts.items():
        assert old in text, old
        text = text.replace(old, new.format(**sizes))
    return text


class Rounded(ast.NodeTransformer):
    """Numbers that the text has become what ONNX makes of them, whose attributes and constants are 32-bit."""

    def visit_Constant(self, node):
        if isinstance(node.value, float):
            return ast.copy_location(ast.Constant(float(numpy.float32(node.value))), node)
        return node


def executed(text, path, constants, rounded=True):
    """The text's names; its module-level constants are overridden while it runs, so that what is computed from them
    follows."""
    names, tree = {"__name__": "original"}, ast.parse(text)
    if rounded:
        tree = Rounded().visit(tree)
    for statement in tree.body:
        exec(compile(ast.Module([statement], []), str(path), "exec"), names)
        if isinstance(statement, ast.Assign):
            names.update({k: v for k, v in constants.items() if isinstance(names.get(k), (int, tuple))})
    return names


class Kept(torch.nn.Module):
    """A dropout that keeps the elements it is given."""

    def __init__(self, keep, p):
        super().__init__()
        self.keep, self.factor = keep, float(numpy.float32(1 / (1 - p)))

    def forward(self, x):
        return x * self.keep * self.factor


def loaded(task, folder, name, sizes):
    """An input as the program `answers` wrote it."""
    numbers = numpy.fromfile(folder / name, DTYPES[task.dtypes[name]])
    return torch.from_numpy(numbers.reshape(task.shape(name, sizes)))


class Original:
    """model: in training; inputs_of: parameter -> input of the task, None where the task has none; arguments: what
    forward takes, None where it is the next of the task's data (default: all of these)."""

    def __init__(self, model, inputs_of, arguments=None):
        self.model, self.inputs_of, self.arguments = model, inputs_of, arguments

    def run(self, task, sizes, folder, dtype):
        """On the files of a draw, whose folder gets the file of the result. Returns its shape."""
        model = self.model.to(dtype).requires_grad_(False)
        for module in model.modules():
            for name in ("eps", "negative_slope"):
                if isinstance(getattr(module, name, None), float):
                    setattr(module, name, float(numpy.float32(getattr(module, name))))  # as ONNX has it
        for name, parameter in model.named_parameters():
            own = self.inputs_of[name]
            if own and tuple(parameter.shape) != task.shape(own, sizes):
                raise ValueError(f"{own} is {tuple(parameter.shape)} there, {task.shape(own, sizes)} here")
            if own:
                parameter.copy_(loaded(task, folder, own, sizes))
        for name, buffer in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.fill_(float(name.endswith("var")))
        data = {name: loaded(task, folder, name, sizes) for name in task.data()}
        data = {name: x.to(dtype) if x.is_floating_point() else x for name, x in data.items()}
        if KEEP in data:
            model.dropout = Kept(data.pop(KEEP).to(dtype), model.dropout.p)
        left = iter(data.values())
        arguments = [next(left) if a is None else a for a in self.arguments or [None] * len(data)]
        assert model.training and next(left, None) is None
        with torch.no_grad():
            y = model(*arguments)
        y.double().numpy().tofile(folder / "y")
        return list(y.shape)


def by_name(model, unused=()):
    """Which input each parameter is, where they have the state_dict's names."""
    names = ((name, name.replace(".", "_")) for name, _ in model.named_parameters())
    return {name: None if own in unused else own for name, own in names}


def of_inputs(task, names, sizes, compare=True):
    """Arguments of forward: those of get_inputs, a hole for every tensor. Their shapes are compared with the task's."""
    data = [name for name in task.data() if name != KEEP]
    found = names["get_inputs"]()
    shapes = [tuple(x.shape) for x in found if isinstance(x, torch.Tensor)]
    wanted = [task.shape(name, sizes) for name in data]
    if compare and shapes != wanted:
        raise ValueError(f"inputs {shapes} there, {wanted} here")
    return [None if isinstance(x, torch.Tensor) else x for x in found]
