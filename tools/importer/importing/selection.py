# SPDX-License-Identifier: Apache-2.0
"""Rows that data choose (a mixture of experts, masked losses), while a module is exported.

How many rows torch.where, nonzero or x[mask] give depends on data, and a task's graph has no such shapes. Here they
give all rows, and it is remembered which of them were chosen: what adds them up, or writes them back, leaves out the
others. Whether that is what the module computes is seen when the task is compared with it.

Conditions in Python are followed as far as they are harmless: `if ...: raise` is not raised, and `if mask.any():` is
taken where the mask then selects rows, or where a run that is compared with the module did not take it (Guards)."""
import ast
import linecache
import sys

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from . import Refused, note

T = torch.Tensor
# Functions of rows that leave them rows: what they give is chosen where their arguments were.
ROWWISE = {T.add, T.sub, T.mul, T.div, T.pow, T.neg, T.abs, T.exp, T.log, T.sqrt, T.square, T.clamp, T.float, T.to,
           T.__add__, T.__radd__, T.__sub__, T.__rsub__, T.__mul__, T.__rmul__, T.__truediv__, T.__pow__, T.__neg__,
           torch.add, torch.sub, torch.mul, torch.div, torch.pow, torch.neg, torch.abs, torch.exp, torch.log,
           torch.sqrt, torch.square, torch.clamp, torch.sigmoid, torch.relu, T.sigmoid, T.relu, T.log1p, torch.log1p}
# These only change the form of indices.
RESHAPED = {T.squeeze, T.flatten, T.view, T.reshape, T.unsqueeze, T.expand, T.expand_as, T.long, T.clone, torch.squeeze,
            torch.flatten, torch.unsqueeze}
LOSSES = {F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.cross_entropy, F.nll_loss, F.kl_div,
          F.binary_cross_entropy, F.binary_cross_entropy_with_logits}
WRITES = {T.__setitem__, T.index_put_, T.index_put, torch.index_put}
ADDS = {T.index_add_, T.index_add, torch.index_add, T.scatter_add_, T.scatter_add, torch.scatter_add}


MOST_DEEP = 256  # how often rows may be chosen by what rows chosen before became, one choice after another
MOST_TURNS = 4096  # how often one line may choose rows at all


class Chosen:
    """Which of all rows were chosen. mask: the condition; axis: the dimension of it whose places an index counts (None:
    the rows are the condition's elements one after another)."""

    def __init__(self, mask, axis=None):
        self.mask, self.axis = mask, axis

    def column(self, rows):
        """The mask as a column next to `rows`."""
        return self.mask.reshape([-1] + [1] * (rows.dim() - 1))

    def only(self, rows):
        return torch.where(self.column(rows), rows, torch.zeros((), dtype=rows.dtype))

    def written(self, target, rows):
        """target with the chosen rows in their places."""
        mask, shape = self.mask, self.mask.shape
        if self.axis is None:
            rest = target.shape[len(shape):]
            rows = rows.reshape(*shape, *rest) if isinstance(rows, T) and rows.dim() > len(rest) else rows
            return torch.where(mask.reshape(*shape, *[1] * len(rest)), rows, target)
        if isinstance(rows, T) and rows.dim() == target.dim():
            rows = rows.reshape(*shape, *target.shape[1:]).movedim(self.axis, 0)
            mask = mask.movedim(self.axis, 0)
            rows, mask = rows.flatten(1, len(shape) - 1) if len(shape) > 1 else rows[:, None], mask.reshape(
                mask.shape[0], -1)
            wide = mask.reshape(*mask.shape, *[1] * (target.dim() - 1))
            rows = torch.where(wide, rows, torch.zeros((), dtype=rows.dtype)).sum(1)  # of each place one is chosen
        else:
            mask = mask.movedim(self.axis, 0).reshape(shape[self.axis], -1)
        return torch.where(mask.any(1).reshape([-1] + [1] * (target.dim() - 1)), rows, target)


def tensors_of(value):
    """The tensors in tuples, lists and dictionaries."""
    if isinstance(value, T):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_of(part)


class Guards:
    """Conditions of Python that are taken while a module is exported, by the place where they stand, and what they were
    in the runs that it is compared with."""

    def __init__(self):
        self.taken, self.selecting, self.seen = {}, set(), {}

    def check(self):
        """Refused when nobody has seen what such a condition does when it does not hold."""
        for place, line in self.taken.items():
            if place in self.selecting or False in self.seen.get(place, ()):
                continue
            raise Refused(f"control flow depends on data: `{line}` (line {place[1]}) held in every run that was "
                          "compared; compute both sides and choose with torch.where")
        if self.taken:
            note("conditions that ask whether any row is chosen are left out: rows that are not chosen count nothing")


def place_of(frame):
    return frame.f_code.co_filename, frame.f_lineno


def caller(internal):
    """The frame of whoever asked, outside PyTorch's dispatch and this package."""
    frame = sys._getframe(2)
    while frame and (frame.f_code.co_filename in internal or "torch/overrides" in frame.f_code.co_filename or
                     "torch/_tensor" in frame.f_code.co_filename or "torch/_export" in frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def raises(filename, line):
    """What a condition at this place must be for nothing to be raised: True, False, or None where that is not asked."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and all(isinstance(s, ast.Raise) for s in node.body):
            wanted = False
        elif isinstance(node, ast.Assert):
            wanted = True
        else:
            continue
        if node.test.lineno <= line <= node.test.end_lineno and not isinstance(node.test, ast.BoolOp):
            return not wanted if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not) else wanted
    return None


class Observe(TorchFunctionMode):
    """What conditions are in a run with data."""

    def __init__(self, guards):
        super().__init__()
        self.guards = guards

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if func is T.__bool__:
            self.guards.seen.setdefault(place_of(caller({__file__})), set()).add(made)
        return made


class Select(TorchFunctionMode):
    def __init__(self, guards):
        super().__init__()
        self.guards = guards
        self.chosen, self.asked, self.kept, self.turns = {}, {}, [], {}
        self.depths, self.deep = WeakTensorKeyDictionary(), 0

    def mark(self, tensor, chosen):
        self.kept.append(tensor)  # so that no other tensor gets its id
        self.chosen[id(tensor)] = chosen
        return tensor

    def of(self, x):
        return self.chosen.get(id(x)) if isinstance(x, T) else None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        handler, self.deep = HANDLERS.get(func), 0
        made = handler(self, func, args, kwargs) if handler else NotImplemented
        made = func(*args, **kwargs) if made is NotImplemented else made
        deep = max([self.deep, *map(self.depth, tensors_of((args, kwargs)))]) if self.deep or self.depths else 0
        if deep:
            for tensor in tensors_of((made, args[:1] if func in WRITES else ())):
                self.depths[tensor] = deep
        return made

    def depth(self, tensor):
        """How many choices of rows, of which each decides the next, lead to a tensor."""
        return self.depths.get(tensor, 0)

    # ---- choosing

    def places(self, mask):
        """An index of every dimension for all places of a mask."""
        self.count(self.depth(mask) + 1)
        self.kept.append(mask)
        self.guards.selecting.update(self.asked.pop(id(mask), ()))
        made = []
        for axis, size in enumerate(mask.shape):
            at = torch.arange(size, device=mask.device).reshape([-1 if k == axis else 1 for k in range(mask.dim())])
            made.append(self.mark(at.expand(mask.shape).reshape(-1), Chosen(mask, axis)))
        return tuple(made)

    def count(self, deep):
        """Refused where it goes on and on: a loop that ends when no rows are left. Loops over layers and experts choose rows
        often, too, but of what they choose in one layer nothing decides what else they choose there."""
        place = place_of(caller({__file__}))
        self.deep, self.turns[place] = deep, self.turns.get(place, 0) + 1
        if deep <= MOST_DEEP and self.turns[place] <= MOST_TURNS:
            return
        often = f"by rows that were chosen before, {MOST_DEEP} times over" if deep > MOST_DEEP else f"more than {MOST_TURNS} times"
        raise Refused(f"`{linecache.getline(*place).strip()}` (line {place[1]}) chooses rows {often}. How many they are depends on "
                      "data; here they are all rows, so that a loop that ends when none are left has no end: write one of a "
                      "fixed number of turns, fewer than these, and a mask of what is left")

    def where(self, func, args, kwargs):
        return self.places(args[0] != 0) if len(args) == 1 and not kwargs and args[0].dtype != torch.bool else \
            self.places(args[0]) if len(args) == 1 and not kwargs else NotImplemented

    def nonzero(self, func, args, kwargs):
        mask = args[0] if args[0].dtype == torch.bool else args[0] != 0
        made = self.places(mask)
        if kwargs.get("as_tuple") or args[1:2] == (True,):
            return made
        return self.mark(torch.stack(made, 1), Chosen(mask, 0))

    def getitem(self, func, args, kwargs):
        x, index = args
        if isinstance(index, T) and index.dtype == torch.bool and index.dim():
            self.places(index)
            return self.mark(x.reshape(-1, *x.shape[index.dim():]) if index.dim() != 1 else x * 1, Chosen(index))
        chosen = self.of(x)
        if chosen and isinstance(index, tuple) and index[0] == slice(None):  # [:, 0] of what nonzero gave, [:, None]
            axis = index[1] if isinstance(index[1], int) and x.dim() == 2 else chosen.axis
            return self.mark(func(x, index), Chosen(chosen.mask, axis))
        return NotImplemented

    def masked_select(self, func, args, kwargs):
        return self.getitem(func, (args[0], args[1].expand_as(args[0])), {})

    def row_of(self, func, args, kwargs):
        marked = [c for c in map(self.of, args) if c]
        if not marked:
            return NotImplemented
        made = func(*args, **kwargs)
        return self.mark(made, marked[0]) if isinstance(made, T) else made

    # ---- using what was chosen

    def add(self, func, args, kwargs):
        x, dim, index, rows = args
        chosen = self.of(index)
        return func(x, dim, index, chosen.only(rows), **kwargs) if chosen and dim == 0 else NotImplemented

    def write(self, func, args, kwargs):
        x, index, rows, *more = args
        accumulate = more[0] if more else kwargs.get("accumulate", False)
        index = index[0] if isinstance(index, (tuple, list)) and len(index) == 1 else index
        if isinstance(index, T) and index.dtype == torch.bool and index.dim():
            self.places(index)
            chosen = Chosen(index)
        else:
            chosen = self.of(index)
        if not chosen:
            return NotImplemented
        if accumulate:
            made = x.index_add(0, index, chosen.only(rows))
        else:
            made = chosen.written(x, rows)
        if func in (torch.index_put, T.index_put):
            return made
        x.copy_(made)
        return x

    def total(self, func, args, kwargs):
        chosen = self.of(args[0]) if args else None
        if not chosen or chosen.axis is not None or args[1:] or kwargs:
            return NotImplemented
        total = chosen.only(args[0]).sum()
        if func in (T.sum, torch.sum):
            return total
        each = args[0].numel() // chosen.mask.numel()
        return total / (chosen.mask.sum() * each)

    def loss(self, func, args, kwargs):
        chosen = self.of(args[0])
        reduction = kwargs.get("reduction", "mean")
        if not chosen or reduction not in ("mean", "sum"):
            return NotImplemented
        rows = self.mark(func(*args, **{**kwargs, "reduction": "none"}), chosen)
        return self.total(T.sum if reduction == "sum" else T.mean, (rows,), {})

    # ---- conditions

    def any(self, func, args, kwargs):
        if args[1:] or kwargs:
            return NotImplemented
        made = func(*args)
        self.mark(made, None)
        self.asked.setdefault(id(made), args[0])
        return made

    def bool(self, func, args, kwargs):
        frame = caller({__file__})
        place, line = place_of(frame), linecache.getline(*place_of(frame)).strip()
        wanted = raises(*place)
        if wanted is not None:
            note(f"`{line}` is taken never to raise")
            return wanted
        mask = self.asked.get(id(args[0]))
        if mask is None:
            return NotImplemented
        self.kept.append(mask)
        self.guards.taken[place] = line
        self.asked.setdefault(id(mask), []).append(place)
        return True


HANDLERS = {torch.where: Select.where, torch.nonzero: Select.nonzero, T.nonzero: Select.nonzero,
            T.__getitem__: Select.getitem, T.masked_select: Select.masked_select,
            torch.masked_select: Select.masked_select, T.__bool__: Select.bool, T.any: Select.any,
            torch.any: Select.any}
HANDLERS.update(dict.fromkeys(ROWWISE | RESHAPED, Select.row_of))
HANDLERS.update(dict.fromkeys(ADDS, Select.add))
HANDLERS.update(dict.fromkeys(WRITES, Select.write))
HANDLERS.update(dict.fromkeys({T.sum, torch.sum, T.mean, torch.mean}, Select.total))
HANDLERS.update(dict.fromkeys(LOSSES, Select.loss))
