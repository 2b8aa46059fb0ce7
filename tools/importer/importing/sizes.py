# SPDX-License-Identifier: Apache-2.0
"""The workloads of a task: full is the original's sizes; small and ragged ones are tried out on the original."""
from . import Refused, note

SMALL_ELEMENTS, SMALL_FLOPS = 1 << 18, 1 << 28  # of any tensor and of all contractions: quick for an oracle on a CPU
RAGGED_ELEMENTS, RAGGED_FLOPS = 1 << 14, 1 << 25
# What each ragged workload would like: one, primes, and numbers next to powers of two.
RAGGED = ((1, 2, 3), (3, 5, 7, 11, 13, 2), (17, 9, 33, 5, 7, 3), (2, 13, 3, 19, 6, 10))


class Sizes:
    """symbols: in the order of the inputs; full: symbol to number; run(binding): (largest tensor, FLOPs), or an
    exception where the original cannot take these sizes."""

    def __init__(self, symbols, full, run):
        self.symbols, self.full, self.run = list(symbols), dict(full), run
        self.tried = {}

    def cost(self, binding):
        """(elements, FLOPs), or None."""
        key = tuple(binding[s] for s in self.symbols)
        if key not in self.tried:
            try:
                self.tried[key] = self.run(binding)
            except Refused:
                raise
            except Exception:  # whatever the module says to sizes that it does not take
                self.tried[key] = None
        return self.tried[key]

    def small(self):
        """Halves the largest dimension that can be halved until the work is small."""
        binding, stuck = dict(self.full), set()
        cost = self.cost(binding)
        while cost and (cost[0] > SMALL_ELEMENTS or cost[1] > SMALL_FLOPS):
            open_ = [s for s in self.symbols if s not in stuck and binding[s] > 1]
            if not open_:
                break
            s = max(open_, key=lambda name: binding[name])
            trial = {**binding, s: binding[s] // 2}
            now = self.cost(trial)
            if now and now <= cost:
                binding, cost = trial, now
            else:
                stuck.add(s)
        if cost and (cost[0] > SMALL_ELEMENTS or cost[1] > SMALL_FLOPS):
            note(
                f"the workload small is large ({cost[0]:.0f} elements in one tensor, {cost[1]:.2g} FLOP): no dimension of "
                "the module can be smaller; checks will take their time"
            )
        return binding

    def ragged(self, small):
        """Up to four odd bindings, different from each other, each no larger than it has to be."""
        found, stuck = [], set()
        for row in RAGGED:
            binding = dict(small)
            for k, s in enumerate(self.symbols):
                if binding[s] != small[s] or s in stuck:
                    continue  # went along with another one, or goes nowhere
                wishes = row[k % len(row):] + row[:k % len(row)] + tuple(n for n in (4, 8, 16, 32) if n < small[s])
                changed = self.first_that_fits(binding, s, wishes)
                binding = changed or binding
                if not changed:
                    stuck.add(s)
            if binding not in found and binding != small and binding != self.full:
                found.append(binding)
        return found

    def first_that_fits(self, binding, symbol, wishes):
        """The binding with another number for the symbol; or else for it and all that are alike, as extents can depend
        on each other without PyTorch saying so."""
        before = self.cost(binding)
        alike = [s for s in self.symbols if self.full[s] == self.full[symbol] and binding[s] == binding[symbol]]
        for together in ([symbol], alike):
            for size in wishes:
                trial = {**binding, **{s: size for s in together}}
                cost = self.cost(trial)
                if cost and cost[0] <= max(RAGGED_ELEMENTS, before[0]) and cost[1] <= max(RAGGED_FLOPS, before[1]):
                    return trial
            if len(alike) < 2:
                break
        return None


def extent(dim, binding):
    if isinstance(dim, int):
        return dim
    value = dim.subs({s: n for s, n in binding.items()})
    if not value.is_Integer or value < 1:
        raise ValueError(f"{dim} is {value}")
    return int(value)
