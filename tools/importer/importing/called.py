# SPDX-License-Identifier: Apache-2.0
"""A function of somebody else's file as the module that is imported: what a Definition or a problem of GPU MODE calls its
reference. Its text is run as it is; what it does on a GPU happens on the CPU."""
import contextlib
import linecache
import pathlib
import sys
import types

import torch
from torch.overrides import TorchFunctionMode

from . import Refused, note
from .distributions import fit_draws
from .selection import Guards
from .source import SEEDS, Source, Tensor, as_numpy, plain_name
from .watch import Watch


class Called(torch.nn.Module):
    """forward(*arguments) is function(*arguments); outputs given by name come in the order of `outputs`."""

    def __init__(self, function, outputs=()):
        super().__init__()
        self.function, self.outputs = function, list(outputs)

    def forward(self, *arguments):
        made = self.function(*arguments)
        if not isinstance(made, dict):
            return made
        missing = [name for name in self.outputs if name not in made]
        if missing:
            raise Refused(f"run returns a dictionary without {missing[0]}, which is one of the outputs")
        return [made[name] for name in self.outputs] if self.outputs else made


class CalledSource(Source):
    """What Source knows of a user's file, of a function and its arguments. names: of the tensors among the arguments'
    leaves; draws: a distribution for each, None: fitted to what `again` draws; axes: see Tensor."""
    what, given = "the reference", "a workload"

    def __init__(self, path, function, arguments, names, draws, axes, outputs=(), again=None):
        self.path, self.guards, self.module = path, Guards(), None
        self.models, self.state = None, []
        self.model = Called(function, outputs).eval()
        self.leaves, self.tree = torch.utils._pytree.tree_flatten(list(arguments))
        self.expressions, self.constants, self.workloads = {}, {}, {}
        self.inputs = []
        values = [v for v in self.leaves if isinstance(v, torch.Tensor)]
        for k, (value, name, draw, row) in enumerate(zip(values, names, draws, axes)):
            if "float8" in str(value.dtype) or "float4" in str(value.dtype):
                raise Refused(f"{name} is {value.dtype}: candidates are not given tensors of 8 or 4 bits that are no whole "
                              "numbers")
            t = Tensor(plain_name(name), value.detach(), "input")
            t.axes = row
            t.distribution = draw or self.fitted(t, [value, *(again(k) if again else [])])
            if not value.is_floating_point() and not t.distribution.endswith(" fixed"):
                t.distribution += " fixed"
            self.inputs.append(t)
        if not self.inputs:
            raise Refused("there is no tensor among the arguments")
        if "nn." in pathlib.Path(path).read_text(encoding="utf-8"):
            self.check_weights(function, arguments)

    @staticmethod
    def check_weights(function, arguments):
        """A module that the reference makes has the weights that it is given, and none that are drawn."""
        copies = torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, list(arguments))
        DRAWN.clear()
        with torch.no_grad():
            try:
                made = torch.utils._pytree.tree_flatten(function(*copies))[0]
            except Exception:  # whatever it is, the importer meets it again, and says so
                return
        if DRAWN and any(isinstance(v, torch.Tensor) and v.is_floating_point() and v.isnan().any() for v in made):
            raise Refused("its answers depend on weights that the reference draws as it makes a module; a task's graph is a "
                          "function of its inputs")

    @staticmethod
    def fitted(t, values):
        text = fit_draws([as_numpy(v) for v in values], 1 << 22)
        note(f"{t.name}: it is drawn in a way that is not followed; {text} fits its values")
        return text


PRODUCTS = {"linear", "matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm", "einsum"}


def half_product(name, leaves):
    """Whether this is a product of halves with data. PyTorch's own on a CPU is up to 200 times as slow as one in single
    precision, which rounded is as good. What is exported stays as it is written."""
    return name in PRODUCTS and not torch.compiler.is_exporting() and \
        any(type(v) in (torch.Tensor, torch.nn.Parameter) and v.dtype == torch.float16 and v.device.type == "cpu"
            for v in leaves)


class Here(TorchFunctionMode):
    """Devices that this machine lacks are its CPU."""

    def __torch_function__(self, func, types_, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name == "cuda" and args and isinstance(args[0], torch.Tensor):
            return args[0]
        if "device" in kwargs:
            kwargs["device"] = here(kwargs["device"])
        if name == "to":
            args = (args[0], *(here(a) for a in args[1:]))
        if name == "pin_memory":
            return args[0]
        if half_product(name, torch.utils._pytree.tree_leaves((args, kwargs))):
            single = torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.float, (args, kwargs))
            return func(*single[0], **single[1]).half()
        return func(*args, **kwargs)


def here(device):
    """The CPU for a device that is a GPU, by its name or as such; tensors without data stay what they are."""
    kind = device.type if isinstance(device, torch.device) else device.partition(":")[0] if isinstance(device, str) else ""
    return torch.device("cpu") if kind in ("cuda", "hip", "xpu", "mps") else device


class Generator(torch.Generator):
    def __new__(cls, device=None):
        return super().__new__(cls, "cpu")


DRAWN = []  # shapes of weights that nobody gave


def undrawn(tensor, *_, **__):
    """In place of PyTorch's initial values of weights: a reference that makes modules puts its own weights there. One that
    does not answers NaN (check_weights)."""
    DRAWN.append(tuple(tensor.shape))
    with torch.no_grad():
        return tensor.fill_(float("nan"))


def stays(original):
    """Module.to without devices: what is exported cannot be moved."""
    def to(module, *args, **kwargs):
        kwargs.pop("device", None)
        args = [a for a in args if not isinstance(a, (str, torch.device))]
        return original(module, *args, **kwargs) if args or kwargs else module
    return to


@contextlib.contextmanager
def on_this_machine():
    """While somebody else's text runs: no GPU is wanted."""
    before = torch.Generator, torch.cuda.synchronize, torch.cuda.is_available
    nothing = lambda *args, **kwargs: None  # noqa: E731
    torch.Generator, torch.cuda.synchronize = Generator, nothing
    initial = {n: f for n, f in vars(torch.nn.init).items() if n.endswith("_") and not n.startswith("_") and callable(f)}
    for n in initial:
        setattr(torch.nn.init, n, undrawn)
    moved = torch.nn.Module.to, torch.nn.Module.cuda
    torch.nn.Module.to, torch.nn.Module.cuda = stays(moved[0]), lambda module, *_: module
    try:
        with Here():
            yield
    finally:
        torch.nn.Module.to, torch.nn.Module.cuda = moved
        for n, f in initial.items():
            setattr(torch.nn.init, n, f)
        torch.Generator, torch.cuda.synchronize, torch.cuda.is_available = before


def run_text(text, path, name, others=()):
    """The module that the text makes, with the lines of `path` in what goes wrong. others: modules by their names, that
    it may import."""
    path = pathlib.Path(path)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    linecache.cache[str(path)] = (len(text), None, text.splitlines(True), str(path))
    before = {n: sys.modules.get(n) for n, _ in others}
    sys.modules.update(dict(others))
    sys.modules[name] = module
    try:
        with on_this_machine():
            exec(compile(text, str(path), "exec"), vars(module))
    except Exception as e:
        lines = [f.lineno for f in frames_of(e) if f.filename == str(path)]
        raise Refused(f"{path} cannot be run: {type(e).__name__}: {e}" + (f" (line {lines[-1]})" if lines else "")) from e
    finally:
        for n, old in before.items():
            if old is None:
                sys.modules.pop(n, None)
            else:
                sys.modules[n] = old
    return module


def frames_of(error):
    import traceback
    return traceback.extract_tb(error.__traceback__)


def drawn(make, seed=SEEDS[0]):
    """What make() draws, and the watch that saw how."""
    torch.manual_seed(seed)
    with Watch() as watch, on_this_machine():
        made = make()
    return made, watch
