# SPDX-License-Identifier: Apache-2.0
"""How get_inputs draws its tensors."""
import torch
from torch.overrides import TorchFunctionMode

from .distributions import Draw

SAME = {"to", "float", "double", "half", "bfloat16", "contiguous", "clone", "detach", "view", "reshape", "unsqueeze",
        "squeeze", "permute", "transpose", "flatten", "cpu", "cuda", "requires_grad_", "t", "swapaxes", "long", "int"}

EMPTY = {"empty", "empty_like", "empty_strided", "new_empty"}


def writes(tensor):
    """How often its memory was written in place: views of one memory count together."""
    try:
        return tensor._version
    except (RuntimeError, AttributeError):  # a tensor of inference mode does not count
        return None


class Watch(TorchFunctionMode):
    """While get_inputs runs: how each tensor came to be."""

    def __init__(self):
        super().__init__()
        self.draws, self.kept, self.blank = {}, [], set()
        self.written = {}  # how often each had been written when it was last seen, by itself or through another view

    def is_blank(self, tensor):
        """Memory that nobody has written."""
        return id(tensor) in self.blank and self.written[id(tensor)] == writes(tensor)

    def of(self, tensor):
        """None also where something was put into a part of it since, as by x[:, 0] = y."""
        return self.draws.get(id(tensor)) if self.written.get(id(tensor)) == writes(tensor) else None

    def forget(self, tensor):
        if isinstance(tensor, torch.Tensor) and self.written.get(id(tensor)) != writes(tensor):
            self.draws.pop(id(tensor), None)
            self.blank.discard(id(tensor))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for x in args[:2]:
            self.forget(x)
        made = func(*args, **kwargs)
        try:
            draw = self.drawn(getattr(func, "__name__", ""), args, kwargs, made)
        except (TypeError, ValueError, IndexError, KeyError):
            draw = None
        if isinstance(made, torch.Tensor):
            self.kept.append(made)  # so that no other tensor gets its id
            name = getattr(func, "__name__", "")
            if name in EMPTY or (name in SAME and args and id(args[0]) in self.blank):
                self.blank.add(id(made))
            elif name != "__get__":
                self.blank.discard(id(made))
            self.draws.pop(id(made), None)
            if draw:
                self.draws[id(made)] = draw
            self.written[id(made)] = writes(made)
        return made

    def drawn(self, name, args, kwargs, made):
        if name in ("rand", "rand_like"):
            return Draw("uniform", 0, 1)
        if name in ("randn", "randn_like"):
            return Draw("normal", 0, 1)
        if name == "randint":
            bounds = [a for a in (*args, kwargs.get("low"), kwargs.get("high")) if isinstance(a, int)]
            return Draw("integers", *(bounds if len(bounds) == 2 else (0, bounds[0])))
        if name in ("zeros", "ones", "zeros_like", "ones_like"):
            return Draw("constant", float(name.startswith("ones")))
        if name in ("full", "full_like"):
            return Draw("constant", float(kwargs["fill_value"] if "fill_value" in kwargs else args[1]))
        if name == "uniform_":
            return Draw("uniform", *[float(a) for a in args[1:]] or (0, 1))
        if name == "normal_":
            return Draw("normal", *[float(a) for a in args[1:]] or (0, 1))
        return self.derived(name.strip("_"), args, kwargs, made)

    def derived(self, name, args, kwargs, made):
        x = self.draws.get(id(args[0])) if args else None
        y = args[1] if len(args) > 1 else None
        plain = isinstance(y, (int, float)) and not isinstance(y, bool)
        if name in ("rsub", "mul", "add", "sub", "div", "truediv", "rmul", "radd", "neg"):
            if x is None and isinstance(y, torch.Tensor):
                x, y = self.draws.get(id(y)), args[0]
                plain = isinstance(y, (int, float)) and name not in ("sub", "div", "truediv")
            other = self.draws.get(id(y)) if isinstance(y, torch.Tensor) else None
            if other and x and "mul" in name:  # a tensor times one drawn number
                small, large = (x, other) if isinstance(args[0], torch.Tensor) and args[0].numel() == 1 else (other, x)
                if (
                    small.kind == "uniform"
                    and not small.scalar
                    and not large.scalar
                    and 1 in (y.numel(), args[0].numel())
                ):
                    return Draw(large.kind, large.a, large.b, (small.a, small.b), large.modifiers)
            if x and name == "neg":
                return x.affine(-1, 0)
            if not x or not plain or kwargs:
                return None
            slope, shift = {"rsub": (-1, y), "sub": (1, -y), "add": (1, y), "radd": (1, y), "mul": (y, 0),
                            "rmul": (y, 0)}.get(name) or (1 / y, 0)
            return x.affine(slope, shift)
        if name in ("lt", "le", "gt", "ge"):
            return x.compared(name, y) if x and plain else None
        if name in ("triu", "tril"):
            return x.modified(name, kwargs.get("diagonal", y)) if x else None
        if name == "softmax":
            dim = kwargs.get("dim", y)
            return x.modified(name, -1 if dim == made.dim() - 1 else dim) if x else None
        if name == "bool" and x:
            return (
                Draw("bernoulli", 0.5)
                if x.kind == "integers" and (x.a, x.b) == (0, 2)
                else x if x.kind == "bernoulli" else None
            )
        if name in SAME and x:
            whole = made.dtype in (torch.int64, torch.int32)
            return x if x.kind in ("integers", "constant") or not whole else None
        return None
