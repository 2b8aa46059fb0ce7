# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch that mean something else while a module is imported.

They are exchanged once, before the user's file is run, and ask the phase what to do:

    None      what PyTorch does
    "record"  dropouts report the shapes of what they would keep; random numbers are refused
    "export"  dropouts take a mask that is an input of the graph; batch normalisation in training becomes ONNX's
              operator (PyTorch's exporter writes it as if it were in evaluation); attention is written out
    "double"  the same masks; all else is PyTorch's own, in double precision
"""
import functools
import inspect
import math

import numpy
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import Refused, functions, note
from .decompositions import float_above


DERIVATIVES = "derivatives that are taken inside forward are not followed; write out what they are"


def with_derivatives(said):
    """What PyTorch says, and where it is about derivatives, that."""
    of_them = any(words in said for words in ("storage of TensorWrapper", "does not require grad", "functorch"))
    return f"{said}: {DERIVATIVES}" if of_them else said


class Phase:
    name = None
    masks = ()  # of "export" and "double": what each dropout keeps, in the order of the calls
    wanted = ()  # of "record": (shape, probability to keep) of each
    installed = False


PHASE = Phase()


class phase:
    def __init__(self, name, masks=()):
        self.name, self.masks = name, masks

    def __enter__(self):
        self.before = PHASE.name, PHASE.masks, PHASE.wanted
        PHASE.name, PHASE.masks, PHASE.wanted = self.name, list(self.masks), []
        return PHASE

    def __exit__(self, *_):
        PHASE.name, PHASE.masks, PHASE.wanted = self.before


def keep(x, shape, p):
    """x with the elements that a mask keeps, scaled as a dropout scales them."""
    if PHASE.name == "record":
        PHASE.wanted.append((tuple(shape), 1 - p))
        return x * 1
    if not PHASE.masks:
        raise Refused("the module calls its dropouts in another order each time; import it with --eval")
    mask = PHASE.masks.pop(0)
    return x * mask.to(x.dtype) / (1 - p)


def dropout(original, channels=False):
    def substitute(input, p=0.5, training=True, inplace=False):
        if PHASE.name is None or not training or p == 0:
            return original(input, p, training, inplace) if PHASE.name is None else input
        if p == 1:
            return input * 0
        shape = tuple(input.shape)
        if channels:
            shape = shape[:2] + (1,) * (len(shape) - 2)
        return keep(input, shape, p)
    return substitute


def torch_dropout(original):
    def substitute(input, p, train):
        return original(input, p, train) if PHASE.name is None else F.dropout(input, p, train)
    return substitute


def layered(original):
    """A recurrent network with dropout between its layers, layer by layer, so that the dropouts are ours."""
    def substitute(*args):
        if PHASE.name is None or len(args) != 9 or isinstance(args[3], list) or not args[5] or not args[6]:
            return original(*args)
        x, state, weights, biases, layers, p, train, both_ways, batch_first = args
        states = state if isinstance(state, (tuple, list)) else [state]
        directions, each = 1 + bool(both_ways), len(weights) // layers
        last = []
        for k in range(layers):
            part = [s[k * directions:(k + 1) * directions] for s in states]
            x, *after = original(x, part if isinstance(state, (tuple, list)) else part[0],
                                 weights[k * each:(k + 1) * each], biases, 1, 0.0, train, both_ways, batch_first)
            last.append(after)
            x = F.dropout(x, p, True) if k + 1 < layers else x
        return x, *[torch.cat(s) for s in zip(*last)]
    return substitute


def attention(original):
    def substitute(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if PHASE.name is None:
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        if PHASE.name == "double" and not dropout_p:  # PyTorch's own, so that what follows is checked; scaled as written
            scale = float(numpy.float32(1 / math.sqrt(query.shape[-1]) if scale is None else scale))
            return original(query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)
        if enable_gqa:
            key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
            value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
        factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        scores = torch.matmul(query, key.transpose(-2, -1)) * factor
        if is_causal:
            ones = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device)
            scores = torch.where(torch.tril(ones), scores, float("-inf"))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = torch.where(attn_mask, scores, float("-inf"))
        elif attn_mask is not None:
            scores = scores + attn_mask
        return torch.matmul(F.dropout(torch.softmax(scores, -1), dropout_p, dropout_p > 0), value)
    return substitute


def batch_norm(original):
    def substitute(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
        if PHASE.name != "export" or not training:
            return original(input, running_mean, running_var, weight, bias, training, momentum, eps)
        like = weight
        if like is None:  # one element of each channel
            like = input.flatten(2)[0, :, 0] if input.dim() > 2 else input[0]
        zeros = torch.zeros_like(like)
        inputs = (input, zeros + 1 if weight is None else weight, zeros if bias is None else bias, zeros, zeros)
        attributes = {"epsilon": float(eps), "momentum": 0.9, "training_mode": 1}
        outputs = torch.onnx.ops.symbolic_multi_out("BatchNormalization", inputs, attributes, dtypes=[input.dtype] * 3,
                                                    shapes=[input.shape, zeros.shape, zeros.shape], version=15)
        return outputs[0]
    return substitute


def exported(original, form, phases=("export",)):
    """form while a module is exported, else PyTorch's own."""
    @functools.wraps(original)
    def substitute(*args, **kwargs):
        return (form if PHASE.name in phases else original)(*args, **kwargs)
    return substitute


def rms_norm(original):
    def substitute(input, normalized_shape, weight=None, eps=None):
        if PHASE.name == "double" and eps is None:  # the type's own epsilon: that of the task's type is meant
            eps = torch.finfo(torch.float32).eps
        return original(input, normalized_shape, weight, eps)
    return substitute


class narrow_limits:
    """torch.finfo of float64 is that of float32, the task's type, while a module runs in double precision. Only then,
    as PyTorch asks elsewhere whether something is a torch.finfo."""

    def __enter__(self):
        self.original = torch.finfo
        torch.finfo = lambda type=None: self.original(torch.float32 if type in (None, torch.float64) else type)

    def __exit__(self, *_):
        torch.finfo = self.original


def refused(original, name):
    @functools.wraps(original)  # PyTorch finds methods by name, and so does code that watches them
    def substitute(*args, **kwargs):
        if PHASE.name is not None:
            raise Refused(f"the module draws random numbers ({name}): a task's graph is a function of its inputs; make "
                          "them an input (get_inputs may draw them)")
        return original(*args, **kwargs)
    return substitute


class Random:
    """Functions that would draw; how get_inputs calls them is passed to `watch` (distributions.py)."""
    watch = None


EXPORTED = (
    (torch, "bincount", functions.bincount(torch.bincount)),
    (torch.Tensor, "bincount", functions.bincount(torch.bincount)),
    (torch, "cov", functions.covariance),
    (torch.Tensor, "cov", functions.covariance),
    (torch, "corrcoef", functions.correlation),
    (torch.Tensor, "corrcoef", functions.correlation),
    (F, "gaussian_nll_loss", functions.gaussian_nll),
    (F, "embedding_bag", functions.embedding_bag),
    (F, "ctc_loss", functions.ctc),
)
FACTORIES = (
    "rand",
    "randn",
    "randint",
    "rand_like",
    "randn_like",
    "randint_like",
    "normal",
    "bernoulli",
    "multinomial",
    "poisson",
    "randperm",
    "rrelu",
    "rrelu_",
    "alpha_dropout",
    "feature_alpha_dropout",
)
METHODS = ("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_", "geometric_", "log_normal_",
           "bernoulli", "multinomial")


def keep_plain():
    """What torch.jit would make of a module or a function is itself: an export cannot call compiled methods. What it has read
    from a file stays what it is."""
    def unless_read(original):
        first = next(iter(inspect.signature(original).parameters))

        @functools.wraps(original)
        def substitute(*args, **kwargs):
            made = args[0] if args else kwargs[first]
            return original(*args, **kwargs) if isinstance(made, torch.jit.ScriptModule) else made
        return substitute
    for name in ("script", "trace", "trace_module", "script_if_tracing", "script_method", "freeze", "optimize_for_inference"):
        setattr(torch.jit, name, unless_read(getattr(torch.jit, name)))


def install():
    if PHASE.installed:
        return
    PHASE.installed = True
    torch.distributions.Distribution.set_default_validate_args(False)  # they look at values, which a graph does not
    keep_plain()
    torch.backends.mha.set_fastpath_enabled(False)  # the layers' own code, not a fused kernel that nobody can export
    F.dropout = dropout(F.dropout)
    for name in ("dropout1d", "dropout2d", "dropout3d"):
        setattr(F, name, dropout(getattr(F, name), channels=True))
    torch.dropout = torch_dropout(torch.dropout)
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        setattr(torch._VF, name, layered(getattr(torch._VF, name)))
    F.scaled_dot_product_attention = attention(F.scaled_dot_product_attention)
    F.batch_norm = batch_norm(F.batch_norm)
    F.rms_norm = rms_norm(F.rms_norm)
    F.embedding = exported(F.embedding, functions.embedding(F.embedding))
    torch.fake_quantize_per_tensor_affine = exported(  # PyTorch's computes in single precision whatever its input is
        torch.fake_quantize_per_tensor_affine, functions.fake_quantize, ("export", "double"))
    for place, name, form in EXPORTED:
        setattr(place, name, exported(getattr(place, name), form))
    for name in FACTORIES:
        if hasattr(torch, name):
            setattr(torch, name, refused(getattr(torch, name), f"torch.{name}"))
    for name in METHODS:
        setattr(torch.Tensor, name, refused(getattr(torch.Tensor, name), f"Tensor.{name}"))
    for name in ("rrelu", "alpha_dropout", "feature_alpha_dropout", "gumbel_softmax", "fractional_max_pool2d",
                 "fractional_max_pool3d"):
        original = getattr(F, name)
        setattr(F, name, in_training(original, refused(original, f"F.{name}"), name))


def in_training(original, substitute, name):
    """Those that draw only in training."""
    def chosen(*args, **kwargs):
        draws = kwargs.get("training", name not in ("rrelu", "alpha_dropout", "feature_alpha_dropout"))
        return (substitute if draws else original)(*args, **kwargs)
    return chosen


class Wide(TorchFunctionMode):
    """Whatever asks for float32 by name gets float64 while a module runs in double precision, and complex64 complex128; so
    does what asks for `stored`, the type of a task in half precision, which the oracle does not round to on the way."""

    def __init__(self, stored=None):
        super().__init__()
        self.narrow = {torch.float32, stored}

    def wide(self, a):
        if a is torch.complex64:
            return torch.complex128
        return torch.float64 if isinstance(a, torch.dtype) and a in self.narrow else a

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.float or (func is torch.Tensor.half and torch.float16 in self.narrow) or \
                (func is torch.Tensor.bfloat16 and torch.bfloat16 in self.narrow):
            return args[0].double()
        if func is torch.Tensor.cfloat:
            return args[0].cdouble()
        if func in (torch.tensor, torch.as_tensor, torch.scalar_tensor) and kwargs.get("dtype") in (
            None,
            torch.float32,
            torch.float64,  # the type of an input, say, which is float32 in the graph
        ):
            made = func(*args, **{k: v for k, v in kwargs.items() if k != "dtype"})
            return made.float().double() if made.is_floating_point() or kwargs.get("dtype") else made
        args = tuple(self.wide(a) for a in args)
        kwargs = {k: self.wide(v) for k, v in kwargs.items()}
        return func(*args, **kwargs)


def is_integer(dtype):
    return dtype is not None and not dtype.is_floating_point and not dtype.is_complex and dtype != torch.bool


class Rounded(TorchDispatchMode):
    """Numbers that stand in a module's text are float32 in the graph; so they are when it runs in double precision."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        resamples = "upsample" in func.name()
        if resamples and func._overloadname == "vec":  # sizes are worked out with scales as written
            return func(*args, **(kwargs or {}))
        to_float = float_above if resamples else lambda a: float(numpy.float32(a))

        def number(a):
            return to_float(a) if isinstance(a, float) else a
        if func is torch.ops.aten._to_copy.default and args[0].dtype == torch.float64 and is_integer(kwargs.get("dtype")):
            args = (torch.where(args[0].abs() < 1 << 23, args[0].float().double(), args[0]),)  # as the oracle cuts
        return func(*[number(a) for a in args], **{k: number(v) for k, v in (kwargs or {}).items()})


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that is made."""
    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for t in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(t, torch.Tensor):
                self.elements = max(self.elements, t.numel())
        return made


def say_masks(count):
    if count:
        note(f"{count} dropout(s) in training: which elements are kept is an input (keep), drawn anew for every call; "
             "--eval imports the module without dropouts")
