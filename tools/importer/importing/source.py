# SPDX-License-Identifier: Apache-2.0
"""A user's module file in KernelBench's form: Model, get_inputs, get_init_inputs."""
import contextlib
import copy
import dataclasses
import importlib.util
import inspect
import math
import sys
import traceback

import numpy
import torch

from . import Refused, note
from .distributions import fit, fit_draws
from .selection import Guards, Observe
from .source_names import plain_name
from .substitutes import Rounded, Wide, narrow_limits, phase, with_derivatives
from .watch import Watch

SEEDS = (42, 43, 44, 45)  # a model is made once with each: what all agree on is not drawn
LARGEST_CONSTANT = 4096  # elements of a buffer that stays a constant of the graph
LARGEST_EMBEDDED = 1 << 20
UNWRITTEN = "normal(0, 0.02)"  # how parameters are drawn that no initialisation fills
SAMPLE = 1 << 22  # elements of one draw that a fit looks at


class Tensor:
    """One tensor that a module's computation takes: an input, a parameter, a buffer. axes: of an input, the names of its
    dimensions where the source has some: None for one that never varies, "" for one without a name."""
    axes = None

    def __init__(self, name, value, role):
        self.name, self.value, self.role = name, value, role
        self.distribution = None


def real(value):
    """A complex tensor as real ones, real and imaginary parts along a last dimension of two: a task's tensors are real."""
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def like(value, other):
    """What real() made of a tensor like `other`, as that one is."""
    return torch.view_as_complex(value.contiguous()) if other.is_complex() else value


def tensors_in(made):
    """In the order of what holds them. Dataclasses hold tensors, too."""
    found = []
    for leaf in torch.utils._pytree.tree_flatten(made)[0]:
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            found += tensors_in([getattr(leaf, field.name) for field in dataclasses.fields(leaf)])
    return found


def has_lazy(model):
    return any(torch.nn.parameter.is_lazy(p) for p in [*model.parameters(), *model.buffers()])


class Blank:
    """While a model is made, memory that nobody has written holds NaN (or the largest whole number)."""

    def __enter__(self):
        self.before = (torch.are_deterministic_algorithms_enabled(),
                       torch.is_deterministic_algorithms_warn_only_enabled())
        torch.use_deterministic_algorithms(True, warn_only=True)

    def __exit__(self, *_):
        torch.use_deterministic_algorithms(self.before[0], warn_only=self.before[1])


def is_blank(value):
    """Whether there are elements that nobody has written. Of bytes only if that may be all of them: the largest byte is
    a value like others, among quantized weights for example."""
    if value.is_floating_point():
        return bool(torch.isnan(value).any())
    if value.is_complex() or value.dtype == torch.bool or not value.numel():
        return False
    largest = value == torch.iinfo(value.dtype).max
    return bool(largest.all() if value.itemsize == 1 else largest.any())


@contextlib.contextmanager
def as_it_was(model):
    """What a module keeps from one call to the next is forgotten: of a call without data, or with dimensions that are
    open, it would be a tensor that no other call can use."""
    parts = [m for m in model.modules() if not isinstance(m, torch.jit.ScriptModule)]  # those have other tables
    tables = [table for m in parts for table in (vars(m), m._buffers, m._parameters, m._modules)]
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, kept in zip(tables, before):
            table.clear()
            table.update(kept)


class Source:
    what, given = "the module", "get_inputs()"  # for messages
    stored = None  # the task's type, where that is half precision
    kept = None  # masks()
    origin = ""  # where it comes from, for a reader of the task
    expressions, constants = {}, {}  # of axes that follow from others
    workloads = {}  # those that the source brings, full among them: name to the extents of every input
    properties = None  # what the task keeps of it: a function of the attempt that gives (key, value)

    def __init__(self, path, evaluation=False):
        self.path, self.guards = path, Guards()
        spec = importlib.util.spec_from_file_location("assay_import_source", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses and pickles look there
        # As for `python FILE`, to the end: constructors and forward import, too, and from where the file says.
        sys.path.insert(0, str(path.resolve().parent))
        try:
            spec.loader.exec_module(module)
        except Exception as e:
            raise Refused(f"{path} cannot be run: {type(e).__name__}: {e}") from e
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not hasattr(module, name):
                raise Refused(
                    f"{path} has no {name}: the file must define the class Model and the functions get_inputs() "
                    "(the arguments of forward) and get_init_inputs() (those of the constructor), as "
                    "KernelBench's files do"
                )
        self.module = module
        self.models = []
        for seed in SEEDS:
            torch.manual_seed(seed)
            try:
                with Blank():
                    arguments = module.get_init_inputs()
                    model = module.Model(**arguments) if isinstance(arguments, dict) else module.Model(*arguments)
                    if has_lazy(model):  # a first call gives these parameters their sizes
                        modes = [(m, m.training) for m in model.modules()]
                        with torch.no_grad():
                            model.eval()(*module.get_inputs())  # in training it would move running statistics
                        for m, training in modes:
                            m.training = training
            except Exception as e:
                raise Refused(f"Model cannot be made with what get_init_inputs() gives: {type(e).__name__}: {e}") from e
            self.models.append(model.eval() if evaluation else model)
        self.model = self.models[0].requires_grad_(False)
        modes = {m.training for m in self.model.modules()}
        self.mode = {True: "training mode", False: "evaluation mode"}[modes.pop()] if len(modes) == 1 else (
            "training mode but for the parts that its constructor has put into evaluation mode")
        self.read_inputs()
        self.read_state()

    # ---- inputs -----------------------------------------------------------------------------------------------------

    def read_inputs(self):
        torch.manual_seed(SEEDS[0])
        with Watch() as watch:
            arguments = self.module.get_inputs()
        if not isinstance(arguments, (list, tuple)):
            arguments = [arguments]
        try:
            bound = inspect.signature(self.model.forward).bind(*arguments)
        except TypeError as e:
            raise Refused(f"forward does not take what get_inputs() gives: {e}") from e
        names = list(bound.arguments)
        leaves, self.tree = torch.utils._pytree.tree_flatten(list(arguments))
        self.leaves, self.inputs = leaves, []
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, torch.Tensor):
                continue
            name = self.leaf_name(i, names, arguments)
            if leaf.layout != torch.strided:
                raise Refused(f"the input {name} is a sparse tensor: a task's tensors are dense; give .to_dense(), or its "
                              "indices and values as tensors")
            t = Tensor(name, real(leaf.detach()), "input")
            if leaf.is_complex():
                note(f"{name}: complex; its real and imaginary parts are the input's last dimension")
            draw = None if leaf.is_complex() else watch.of(leaf)
            if draw:
                t.distribution = draw.text()
            else:
                t.distribution = fit_draws([as_numpy(real(v)) for v in self.again(i, leaf)], SAMPLE)
                note(f"{t.name}: get_inputs draws it in a way that is not followed; {t.distribution} fits its values")
            if leaf.dtype in (torch.bool, torch.int64, torch.int32) and not t.distribution.endswith(" fixed"):
                t.distribution += " fixed"  # what is not a real number keeps its meaning only as declared
            self.inputs.append(t)
        if not self.inputs:
            raise Refused("get_inputs() gives no tensor")

    def again(self, i, first):
        """The values of leaf i in this and further calls of get_inputs."""
        values = [first]
        for seed in SEEDS[1:]:
            torch.manual_seed(seed)
            leaves = torch.utils._pytree.tree_flatten(list(self.module.get_inputs()))[0]
            values += [leaves[i]] if i < len(leaves) and isinstance(leaves[i], torch.Tensor) else []
        return values

    def leaf_name(self, leaf, names, arguments):
        """The parameter of forward that it belongs to, numbered where that is a list or a dictionary."""
        at = 0
        for k, argument in enumerate(arguments):
            count = len(torch.utils._pytree.tree_flatten(argument)[0])
            if leaf < at + count:
                variadic = k >= len(names) or inspect.signature(self.model.forward).parameters[names[k]].kind.name \
                    == "VAR_POSITIONAL"
                name = names[min(k, len(names) - 1)]
                if variadic:
                    return plain_name(f"{name}_{k - len(names) + 1 if k >= len(names) else 0}")
                return plain_name(f"{name}_{leaf - at}" if isinstance(argument, (list, tuple, dict)) else name)
            at += count
        raise AssertionError

    # ---- parameters and buffers -------------------------------------------------------------------------------------

    def read_state(self):
        self.state = []
        modules = dict(self.model.named_modules())
        for name, parameter in self.model.named_parameters():
            t = Tensor(plain_name(name), real(parameter.detach()), "parameter")
            values = [real(dict(m.named_parameters())[name].detach()) for m in self.models]
            t.key = name
            if parameter.is_complex():
                note(f"{t.name}: complex; its real and imaginary parts are the input's last dimension")
            if any(is_blank(v) for v in values):
                t.value = torch.nan_to_num(t.value)
                t.distribution = UNWRITTEN + " static"
                note(f"{t.name}: nobody initialises it (torch.empty); drawn as {UNWRITTEN}")
            else:
                t.distribution = self.initial(t, values, modules[name.rpartition(".")[0]]) + " static"
            self.state.append(t)
        for name, buffer in self.model.named_buffers():
            t = Tensor(plain_name(name), real(buffer.detach().clone()), "buffer")
            t.key = name
            values = [real(dict(m.named_buffers())[name].detach()) for m in self.models]
            t.distribution = self.buffer_distribution(t, values)
            self.state.append(t)
        self.models = None

    def initial(self, t, values, owner):
        """How the parameter is initialised, from its values in several models."""
        same = all(torch.equal(v, values[0]) for v in values)
        pooled = as_numpy(values[0]) if same else numpy.concatenate([as_numpy(v).ravel()[:SAMPLE] for v in values])
        siblings = [p for k, p in owner.named_parameters(recurse=False) if p.dim() > 1]
        fans = set()
        for p in [t.value] * (t.value.dim() > 1) + siblings:
            rest = math.prod(p.shape[2:])
            fans.update([(p.shape[1] * rest, p.shape[0] * rest), (p.shape[0] * rest, p.shape[1] * rest)])
        bounds, deviations = [], [1.0, 0.02]
        for fan_in, fan_out in sorted(fans):
            bounds += [1 / math.sqrt(fan_in), math.sqrt(6 / fan_in), math.sqrt(6 / (fan_in + fan_out))]
            deviations += [1 / math.sqrt(fan_in), math.sqrt(2 / fan_in), math.sqrt(2 / (fan_in + fan_out))]
        if hasattr(owner, "hidden_size"):
            bounds.insert(0, 1 / math.sqrt(owner.hidden_size))
        text, assumed = fit(pooled, bounds, deviations)
        if same and not text.startswith("constant"):
            note(f"{t.name}: its initial values are the same in every model but not all alike; drawn as {text} instead")
        elif assumed:
            note(f"{t.name}: {text} ({assumed})")
        return text

    def buffer_distribution(self, t, values):
        """None: the buffer stays a constant of the graph. values: what it is in several models."""
        if any(is_blank(v) for v in values):
            raise Refused(f"nobody writes all of the buffer {t.key} before forward (torch.empty): give it values")
        v = as_numpy(t.value)
        if any(not torch.equal(other, values[0]) for other in values):
            if not t.value.is_floating_point():
                note(f"{t.name}: a buffer of whole numbers that are drawn when the model is made; those of seed "
                     f"{SEEDS[0]} are kept")
                return None
            text, _ = fit(numpy.concatenate([as_numpy(v).ravel()[:SAMPLE] for v in values]), deviations=(1.0,))
            note(f"{t.name}: a buffer that is drawn when the model is made; an input, drawn as {text}")
            return text + " static"
        statistics = t.key.endswith(("running_mean", "running_var"))
        if statistics or (v.size > LARGEST_CONSTANT and (v == v.flat[0]).all()):
            text, _ = fit(v)
            return text + (" static fixed" if t.key.endswith("running_var") else " static")
        triangle = v.ndim >= 2 and v.size > LARGEST_CONSTANT and next(
            (name for name, cut in (("tril", numpy.tril), ("triu", numpy.triu))
             if (v == cut(numpy.full_like(v, v.flat[0 if name == "tril" else 0]))).all()), None)
        if triangle and v.flat[0] != 0:
            return f"constant({fit(v.ravel()[:1])[0][9:-1]}) {triangle} static fixed"
        if v.size > LARGEST_EMBEDDED:
            raise Refused(
                f"the buffer {t.key} has {v.size} elements that no distribution makes: a task file is text and "
                f"keeps constants of at most {LARGEST_EMBEDDED}"
            )
        return None

    # ---- running ----------------------------------------------------------------------------------------------------

    def call(self, model, inputs, state):
        """model's outputs, a flat list of tensors; inputs and state are in the order of self.inputs, self.state."""
        rest = list(inputs)
        leaves = [like(rest.pop(0), leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        arguments = torch.utils._pytree.tree_unflatten(leaves, self.tree)
        kept = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}
        named = {t.key: like(v, kept[t.key]) for t, v in zip(self.state, state)}
        with as_it_was(model):
            made = torch.func.functional_call(model, named, tuple(arguments), tie_weights=True)
        outputs = [real(o) for o in tensors_in(made)]
        if not outputs:
            raise Refused(f"forward returns no tensor but {type(made).__name__}: return a tensor, or tensors in a tuple, a "
                          "list, a dictionary or a dataclass")
        return outputs

    def runs_without_data(self):
        """PyTorch's recurrent layers end the process when they are called on tensors without data."""
        return not any(isinstance(m, torch.nn.RNNBase) for m in self.model.modules())

    def masks(self):
        """Shapes and probabilities of what the dropouts keep. It is asked for every export, and run once."""
        if self.kept is None:
            self.kept = self.recorded_masks()
        return list(self.kept)

    def recorded_masks(self):
        for make in ((lambda v: v.to("meta"),) if self.runs_without_data() else ()) + (torch.clone,):
            try:
                with phase("record") as p, torch.no_grad():
                    self.call(self.model, [make(t.value) for t in self.inputs], [make(t.value) for t in self.state])
                    return list(p.wanted)
            except Refused:
                raise
            except Exception as e:
                error = e
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(self.path)]
        where = f" (line {frames[-1].lineno}: {frames[-1].line})" if frames else ""
        raise Refused(f"{self.what} does not run on what {self.given} gives: {type(error).__name__}: "
                      f"{with_derivatives(str(error))}{where}")

    def wide_model(self):
        model = copy.deepcopy(self.model).double()
        for m in model.modules():  # tensors that are neither parameters nor buffers
            for key, value in vars(m).items():
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    object.__setattr__(m, key, value.double())
        return model

    def run_double(self, inputs, state, masks):
        """The outputs in double precision, with the numbers in the module's text rounded as the graph has them."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with phase("double", masks), torch.no_grad(), narrow_limits(), Rounded(), Wide(self.stored), \
                    Observe(self.guards):
                return self.call(self.wide_model(), inputs, state)
        finally:
            torch.set_default_dtype(before)


def as_numpy(tensor):
    t = tensor.detach().cpu()
    return (t.float() if t.dtype in (torch.bfloat16, torch.float16) else t).numpy()
