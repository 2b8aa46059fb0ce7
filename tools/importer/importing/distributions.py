# SPDX-License-Identifier: Apache-2.0
"""A task's distributions (grammar: src/task/distribution.h): known forms, and those that fit drawn values."""
import math

import numpy

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


def near_bound(largest, spread, n, candidates):
    """The bound that a uniform draw's largest element speaks for: a known one, or the next of three digits."""
    reach = largest + 6 * spread / n
    for bound in candidates:
        if largest <= bound * (1 + 1e-6) and bound <= reach:
            return bound
    unit = 10 ** (math.floor(math.log10(abs(largest))) - 2) if largest else 1
    rounded = math.ceil(largest / unit) * unit
    return float(f"{rounded:.3g}") if rounded <= reach + unit else largest


DEFINITE = "uniform(-1, 1) definite fixed"


def is_definite(values):
    """Symmetric, positive definite matrices; diagonal ones and the like, which are often masks, are not meant."""
    n = values.shape[-1] if values.ndim >= 2 else 0
    if not 3 <= n <= 1024 or values.shape[-2] != n or not numpy.issubdtype(values.dtype, numpy.floating):
        return False
    some = values.reshape(-1, n, n)[:4].astype(numpy.float64)
    return bool((some == some.swapaxes(-1, -2)).all() and numpy.count_nonzero(some) > some.size / 2
                and numpy.linalg.eigvalsh(some).min() > 0)


def fit_draws(draws, most):
    """Of several draws of a tensor, of whose elements the first `most` are looked at each: what fit says of them."""
    if all(map(is_definite, draws)):
        return DEFINITE
    return fit(numpy.concatenate([v.ravel()[:most] for v in draws]))[0]


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
