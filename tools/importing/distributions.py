"""A task's distributions (grammar: src/task/distribution.h), from what a file draws and how."""
import math

import numpy
import torch
from torch.overrides import TorchFunctionMode

SAME = {"to", "float", "double", "half", "bfloat16", "contiguous", "clone", "detach", "view", "reshape", "unsqueeze",
        "squeeze", "permute", "transpose", "flatten", "cpu", "cuda", "requires_grad_", "t", "swapaxes", "long", "int"}


def number(x):
    text = f"{float(x):.9g}"
    return text[:-2] if text.endswith(".0") else text


class Draw:
    """A distribution whose form is known: kind, two parameters, a scalar's range, modifiers."""

    def __init__(self, kind, a=0.0, b=0.0, scalar=None, modifiers=()):
        self.kind, self.a, self.b, self.scalar, self.modifiers = kind, a, b, scalar, tuple(modifiers)

    def text(self):
        both = f"{number(self.a)}, {number(self.b)}"
        base = {"uniform": f"uniform({both})", "normal": f"normal({both})", "integers": f"integers({both})",
                "constant": f"constant({number(self.a)})", "bernoulli": f"bernoulli({number(self.a)})"}[self.kind]
        if self.scalar:
            base += f" * uniform_scalar({number(self.scalar[0])}, {number(self.scalar[1])})"
        return " ".join([base, *self.modifiers])

    def affine(self, slope, shift):
        """Of slope * x + shift, or None."""
        if self.modifiers or (self.scalar and shift):
            return None
        ends = slope * self.a + shift, slope * self.b + shift
        if self.kind == "uniform":
            return Draw("uniform", min(ends), max(ends), self.scalar)
        if self.kind == "normal":
            return Draw("normal", slope * self.a + shift, abs(slope) * self.b, self.scalar)
        if self.kind == "constant":
            return Draw("constant", slope * self.a + shift, 0, self.scalar)
        if self.kind == "integers" and slope == 1 and float(shift).is_integer():
            return Draw("integers", self.a + shift, self.b + shift)
        return None

    def compared(self, name, other):
        """Of x < other and the like."""
        if self.kind != "uniform" or self.scalar or self.modifiers or self.b <= self.a:
            return None
        below = min(1, max(0, (other - self.a) / (self.b - self.a)))
        return Draw("bernoulli", below if name in ("lt", "le") else 1 - below)

    def modified(self, name, argument):
        if self.modifiers or self.kind not in ("uniform", "normal", "constant"):
            return None
        if name in ("triu", "tril") and argument in (None, 0):
            return Draw(self.kind, self.a, self.b, self.scalar, (name,))
        if name == "softmax" and argument == -1:
            return Draw(self.kind, self.a, self.b, self.scalar, ("softmax", "fixed"))
        return None


class Watch(TorchFunctionMode):
    """While get_inputs runs: how each tensor came to be."""

    def __init__(self):
        super().__init__()
        self.known, self.kept = {}, []

    def of(self, tensor):
        return self.known.get(id(tensor))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        try:
            draw = self.drawn(getattr(func, "__name__", ""), args, kwargs, made)
        except (TypeError, ValueError, IndexError, KeyError):
            draw = None
        if isinstance(made, torch.Tensor):
            self.kept.append(made)  # so that no other tensor gets its id
            self.known.pop(id(made), None)
            if draw:
                self.known[id(made)] = draw
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
        x = self.of(args[0]) if args else None
        y = args[1] if len(args) > 1 else None
        plain = isinstance(y, (int, float)) and not isinstance(y, bool)
        if name in ("rsub", "mul", "add", "sub", "div", "truediv", "rmul", "radd", "neg"):
            if x is None and isinstance(y, torch.Tensor):
                x, y = self.of(y), args[0]
                plain = isinstance(y, (int, float)) and name not in ("sub", "div", "truediv")
            other = self.of(y) if isinstance(y, torch.Tensor) else None
            if other and x and "mul" in name:  # a tensor times one drawn number
                small, large = (x, other) if isinstance(args[0], torch.Tensor) and args[0].numel() == 1 else (other, x)
                if small.kind == "uniform" and not small.scalar and not large.scalar and 1 in (y.numel(), args[0].numel()):
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
            return Draw("bernoulli", 0.5) if x.kind == "integers" and (x.a, x.b) == (0, 2) else x if x.kind == "bernoulli" else None
        if name in SAME and x:
            whole = made.dtype in (torch.int64, torch.int32)
            return x if x.kind in ("integers", "constant") or not whole else None
        return None


def near_bound(largest, spread, n, candidates):
    """The bound that a uniform draw's largest element speaks for: a known one, or the next of three digits."""
    reach = largest + 6 * spread / n
    for bound in candidates:
        if largest <= bound * (1 + 1e-6) and bound <= reach:
            return bound
    unit = 10 ** (math.floor(math.log10(abs(largest))) - 2) if largest else 1
    rounded = math.ceil(largest / unit) * unit
    return float(f"{rounded:.3g}") if rounded <= reach + unit else largest


def fit(values, bounds=(), deviations=()):
    """(distribution, what was assumed) of drawn values: a numpy array. bounds, deviations: those that initialisations
    of such a tensor would have, the likeliest first."""
    if not values.size:
        return "constant(0)", None
    if values.dtype == numpy.bool_:
        mean = values.mean()
        if mean in (0, 1):
            return f"constant({int(mean)})", None
        return f"bernoulli({number(float(f'{mean:.2g}'))})", "which are true is taken to be drawn element by element"
    if not numpy.issubdtype(values.dtype, numpy.floating):
        low, high = int(values.min()), int(values.max())
        if low == high:
            return f"constant({low})", None
        return f"integers({low}, {high + 1})", "taken to be drawn evenly between the least and the greatest"
    v = values.astype(numpy.float64).ravel()
    n, low, high = v.size, v.min(), v.max()
    if low == high:
        return f"constant({number(low)})", None
    largest = max(-low, high)
    if largest > 1e30:  # whose powers a double does not hold
        return f"uniform({number(low)}, {number(high)})", "between the least and the greatest"
    mean, deviation = v.mean(), v.std()
    for bound in bounds:
        if largest <= bound * (1 + 1e-6) and abs(deviation * math.sqrt(3) / bound - 1) < 4 / math.sqrt(n) \
                and bound <= largest + 8 * 2 * largest / n:
            return f"uniform({number(-bound)}, {number(bound)})", None
    kurtosis = ((v - mean) ** 4).mean() / deviation ** 4
    if n >= 16 and kurtosis < 2.3:
        if abs(mean) < 4 * deviation / math.sqrt(n):
            bound = near_bound(largest, 2 * largest, n, bounds)
            return f"uniform({number(-bound)}, {number(bound)})", f"bounds read off {n} values"
        top, bottom = near_bound(high, high - low, n, ()), -near_bound(-low, high - low, n, ())
        return f"uniform({number(bottom)}, {number(top)})", f"bounds read off {n} values"
    if abs(mean) < 4 * deviation / math.sqrt(n):
        mean = 0.0
    for known in deviations:
        if abs(deviation / known - 1) < 4 / math.sqrt(2 * n):
            return f"normal({number(float(f'{mean:.3g}'))}, {number(known)})", None
    return (f"normal({number(float(f'{mean:.3g}'))}, {number(float(f'{deviation:.3g}'))})",
            f"mean and deviation of {n} values")
