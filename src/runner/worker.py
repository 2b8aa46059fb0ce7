# SPDX-License-Identifier: Apache-2.0
"""The process of a Python candidate: the interpreter, PyTorch, and a ModelNew or a function that is not trusted.

  worker.py serve  WORKER_LIBRARY CANDIDATE THREADS BUILD DEVICE DEFINE...
                                                                     one workload after another, on the CPU or a GPU
  worker.py lift   LIFT_LIBRARY BUILD                                workloads on a GPU, recorded (docs/python-candidates.md)
  worker.py check  CANDIDATE OUT DEFINE...                           the build: syntax, and extensions in C++
  worker.py kept   CANDIDATE OUT DEFINE...                           the same; extensions of an earlier build are there
  worker.py syntax CANDIDATE OUT DEFINE...                           the build where extensions come later
  worker.py there  CANDIDATE OUT DEFINE...                           the same; extensions of an earlier build are there
  worker.py facts                                                    what this Python has, as JSON
  worker.py missing CANDIDATE DEVICE FAILURE                         what a source needs that is not here, and that it failed
                                                                     for by the FAILURE's words; it is not run

Nothing in this file protects anything: the candidate runs in the same interpreter and may change all of it. What
protects is outside: inputs that are fresh for every call and mapped read-only, outputs that the judge reads through a
mapping of its own, the judge's clock, and a process that is frozen between calls. So this file may be simple.
"""
import collections
import contextlib
import ctypes
import ctypes.util
import errno
import gc
import glob
import hashlib
import importlib.util
import inspect
import io
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings


def other_part(name):
    """A file next to this one. Python's own search would list the folder, which a sandbox does not let it do."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


worker_weights = other_part("worker_weights")
worker_call = other_part("worker_call")
worker_error = other_part("worker_error")
Complaint = worker_error.Complaint

# ONNX's numbers (include/assay/candidate.h).
DTYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
          16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz"}
# What a parameter is called in formulas, where a task does not use the module's names.
SHORT = {"w": "weight", "b": "bias", "gamma": "weight", "beta": "bias"}


def defined(names):
    """NAME or NAME=VALUE from the command line: global names of the candidate."""
    pairs = (name.partition("=") for name in names)
    return {name: value if equals else "1" for name, equals, value in pairs}


REDUCED = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")


def sum_in_single_precision():
    """PyTorch lets cuBLAS add the parts of a split product in 16 bits, at sizes of cuBLAS's choice; no contract does. A
    candidate may turn it on again."""
    switches = sys.modules.get("torch.backends.cuda")  # a build may load a file before PyTorch; it computes nothing
    for name in REDUCED if switches else ():
        setattr(switches.matmul, name, False)


def reduced():
    """What the candidate has turned on again."""
    switches = sys.modules.get("torch.backends.cuda")
    return [name for name in REDUCED if switches and getattr(switches.matmul, name)]


def in_tf32(model):
    """Where PyTorch takes TF32 for single precision on a GPU: in convolutions and recurrent networks if nobody turns it off,
    in products if somebody turns it on."""
    import torch
    parts = {"torch.backends.cuda.matmul": torch.backends.cuda.matmul}
    if any(isinstance(part, (torch.nn.modules.conv._ConvNd, torch.nn.RNNBase)) for part in model.modules()):
        parts["torch.backends.cudnn"] = torch.backends.cudnn

    def is_on(part):
        try:
            return part.allow_tf32
        except RuntimeError:  # it was set by its other name
            return getattr(part, "fp32_precision", "") == "tf32"
    return [f"{name}.allow_tf32" for name, part in parts.items() if is_on(part)]


def say_reduced():
    """Once, for the judge: errors may be due to it."""
    say_kept([f"torch.backends.cuda.matmul.{name}" for name in reduced()], "reduced")


def say_switches(model, device):
    say_reduced()
    if device == "cuda":
        say_kept(in_tf32(model), "tf32")


def load_source(path, names):
    """The candidate's module. Its source is on disk, where Triton looks for it."""
    sum_in_single_precision()
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(defined(names))
    sys.modules["candidate"] = module
    sys.argv = [path]  # a parser of options takes its defaults
    above = worker_call.above_tests(path)
    if above is None:  # not by the loader, which would take what a build may have put beside the source as its bytecode
        with open(path, "rb") as file:
            above = file.read()
    exec(compile(above, path, "exec"), vars(module))
    say_reduced()
    return module


# ---- a model for a workload

def takes(function, arguments, names=None):
    try:
        inspect.signature(function).bind(*arguments, **(names or {}))
        return True
    except TypeError:
        return False
    except ValueError:  # it has no signature that could be known
        return True


def init_arguments(module, symbols, usual):
    """The arguments for ModelNew: get_init_inputs() of the candidate, which may take the task's dimensions by name. A
    candidate that does not ask for them gets what the suite's own module gets (`usual`, in dimensions), if that is known
    and its ModelNew takes as many."""
    function = getattr(module, "get_init_inputs", None)
    wanted = inspect.signature(function).parameters if function else {}
    if not wanted and usual is not None:
        own = usual.partition(";")[0]
        arguments = list(eval(f"[{own}]", {"__builtins__": {}}, dict(symbols)))  # of a file of the suite, trusted
        if function is None or takes(module.ModelNew, arguments):
            return arguments
    if function is None:
        return []
    unknown = [name for name in wanted if name not in symbols and wanted[name].default is inspect.Parameter.empty]
    if unknown:
        raise Complaint(f"get_init_inputs wants {', '.join(unknown)}; this task's dimensions are {', '.join(symbols)}",
                        "get_init_inputs")
    return function(**{name: symbols[name] for name in wanted if name in symbols})


def places_and_names(arguments):
    """What get_init_inputs returned, as (list, dictionary): values, names and values, or as some suites have it both,
    [[...], {...}]."""
    if isinstance(arguments, dict):
        return [], arguments
    arguments = list(arguments)
    if len(arguments) == 2 and isinstance(arguments[0], (list, tuple)) and isinstance(arguments[1], dict):
        return list(arguments[0]), arguments[1]
    return arguments, {}


def make_model(module, workload):
    import torch
    if worker_call.is_function_file(module):
        return worker_call.model_of(module, workload)
    symbols = workload["symbols"]
    arguments, names = places_and_names(init_arguments(module, symbols, workload["init"]))
    if not takes(module.ModelNew, arguments, names):
        given = ", ".join([*map(repr, arguments), *(f"{name}={value!r}" for name, value in names.items())])
        raise Complaint(f"ModelNew{inspect.signature(module.ModelNew)} cannot be made " +
                        (f"with ({given})" if given else "without arguments") +
                        f": let def get_init_inputs({', '.join(symbols)}) return a list, or a dictionary, of what it takes")
    model = module.ModelNew(*arguments, **names)
    if not isinstance(model, torch.nn.Module):
        raise Complaint("ModelNew is not a torch.nn.Module")
    return model


def states_of(model, names, inputs):
    """The last inputs, by their names, where the model holds a tensor of each under that name and forward takes those before
    them alone: in older forms of the suite a module made its first states itself, as attributes."""
    import torch
    for n in range(1, len(inputs)):
        held = [getattr(model, name, None) for name in names[n:]]
        alike = all(isinstance(h, torch.Tensor) and h.dim() == x.dim() for h, x in zip(held, inputs[n:]))
        if alike and takes(model.forward, inputs[:n]):
            return names[n:]
    return []


def caller(model, workload, inputs):
    """A function that calls the model with the task's inputs, or else with the numbers that the suite passes to its own
    module, too (such as a factor, which is a constant in the task), or with the last inputs as its attributes; and the names of
    these."""
    import torch
    numbers = eval(f"[{[*(workload['init'] or '').split(';'), ''][1]}]", {"__builtins__": {}})
    if takes(model.forward, inputs):
        return model, []
    if numbers and takes(model.forward, [*inputs, *numbers]):
        return lambda *given: model(*given, *numbers), []
    if type(model).__call__ is not torch.nn.Module.__call__ or model._forward_pre_hooks:  # they may change what forward gets
        return model, []
    names = [i["name"] for i in workload["inputs"] if not i["static"]]
    states = states_of(model, names, inputs)
    if states:
        def with_states(*given):
            for name, state in zip(states, given[-len(states):]):
                setattr(model, name, state)
            return model(*given[:-len(states)])
        return with_states, states
    raise Complaint(f"forward{inspect.signature(model.forward)} is called with the task's inputs, {', '.join(names)}: "
                    "let it take these", "ModelNew.forward")


def flat(name):
    return name.replace(".", "_")


def short(name):
    return SHORT.get(name, name)


def same_name(name, weight):
    return flat(name) == weight


def part_of_name(name, weight):
    """One is the end of the other, or the parameter's name begins with the weight's, or its last part is the weight's
    name in formulas: w, b, gamma, beta."""
    return (flat(name).startswith(weight) or flat(name).endswith("_" + weight) or weight.endswith("_" + flat(name)) or
            name.rpartition(".")[2] in (weight, short(weight)))


def same_role(name, weight):
    """Both are somebody's weight, or both are somebody's bias."""
    return short(name.rpartition(".")[2].rpartition("_")[2]) == short(weight.rpartition("_")[2])


class Pairing:
    """Which of the model's parameters is which of the task's weights: by their names, then by the order in which a
    module lists its parameters, then by shapes that only one of them has. Whatever is guessed here is never taken for
    granted: every weight has its own secret values, and with a wrong pairing the outputs are wrong."""

    def __init__(self, model, weights):
        self.own, self.weights = dict(model.named_parameters()), weights
        self.buffers = dict(model.named_buffers())
        self.give_shapes()
        self.pairs = {}  # parameter: weight
        self.guessed = {}  # those of them whose names do not say it
        self.left, self.missing = list(self.own), list(weights)

    def give_shapes(self):
        """Parameters of lazy modules have no shape before the first call: a weight of their name has."""
        import torch
        for name, parameter in self.own.items():
            if torch.nn.parameter.is_lazy(parameter):
                alike = [weight for kind in (same_name, part_of_name) for weight in self.weights if kind(name, weight)]
                if not alike:
                    raise Complaint(f"the parameter {name} has no shape before the first call, and no weight of the task has "
                                    f"its name ({', '.join(self.weights) or 'there are none'}): give its layer the sizes")
                parameter.materialize(self.weights[alike[0]].shape)

    def fits(self, name, weight):
        mine, wanted = self.own[name], self.weights[weight]
        return mine.shape == wanted.shape and mine.dtype == wanted.dtype

    def take(self, name, weight, how=None):
        self.pairs[name] = weight
        self.left.remove(name)
        self.missing.remove(weight)
        if how:
            self.guessed[name] = how

    def take_buffers(self):
        """Of a task in evaluation running statistics are weights. A buffer is one by its whole name alone."""
        for weight in list(self.missing):
            for name, buffer in self.buffers.items():
                wanted = self.weights[weight]
                if same_name(name, weight) and name not in self.pairs and \
                        buffer.shape == wanted.shape and buffer.dtype == wanted.dtype:
                    self.own[name] = buffer
                    self.left.append(name)
                    self.take(name, weight)
                    break

    def take_unique(self, alike, how=None):
        """Pairs what has one partner only, on both sides. All such pairs are taken at once: none is another's, and models have
        hundreds of weights."""
        partners = {weight: [name for name in self.left if alike(name, weight)] for weight in self.missing}
        wanted = collections.Counter(name for names in partners.values() for name in names)
        for weight, names in reversed(partners.items()):
            if len(names) == 1 and wanted[names[0]] == 1:
                self.take(names[0], weight, how)

    def orders(self):
        """The task's weights as a module may list them: as forward needs them, or its own parameters before those of
        its parts, as PyTorch does. Parameters without parts are listed as they were written down."""
        own_first = sorted(self.missing, key=lambda weight: weight.endswith(("_weight", "_bias")))
        in_parts = any("." in name for name in self.left)
        return [own_first, self.missing] if in_parts else [self.missing, own_first]

    def take_in_order(self):
        for order in self.orders() if len(self.left) == len(self.missing) else []:
            if all(map(self.fits, self.left, order)):
                for name, weight in list(zip(self.left, order)):
                    self.take(name, weight, "order")
                return

    def make(self, known):
        """`known`: pairs of an earlier workload, at which shapes may have told more."""
        for name, weight in known.items():
            if name in self.left and weight in self.missing and self.fits(name, weight):
                self.take(name, weight, "before")
        for alike in same_name, part_of_name:
            self.take_unique(lambda name, weight: alike(name, weight) and self.fits(name, weight))
        self.take_buffers()
        self.take_unique(lambda name, weight: same_role(name, weight) and self.fits(name, weight), "name")
        self.take_in_order()
        self.take_unique(self.fits, "shape")
        if self.missing:
            self.complain()
        return self.pairs

    def listed(self, names, tensors):
        return ", ".join(f"{name} {list(tensors[name].shape)}" for name in names)

    def complain(self):
        for weight in self.missing:  # the name is there, and nothing else is it
            for name in self.left:
                mine, wanted = self.own[name], self.weights[weight]
                if mine.is_complex() and same_name(name, weight) and (*mine.shape, 2) == tuple(wanted.shape):
                    raise Complaint(f"the parameter {name} is complex, and the weight {weight} {tuple(wanted.shape)} has real and "
                                    "imaginary parts as its last dimension: keep a real parameter of that shape, and let forward "
                                    f"take torch.view_as_complex(self.{name})")
                if (same_name(name, weight) or part_of_name(name, weight)) and mine.shape != wanted.shape:
                    raise Complaint(f"the parameter {name} has the shape {tuple(mine.shape)}, the weight {weight} of "
                                    f"this workload {tuple(wanted.shape)}: let get_init_inputs take the dimensions as "
                                    "parameters")
                if same_name(name, weight) and mine.dtype != wanted.dtype:
                    raise Complaint(f"the parameter {name} is {mine.dtype}, the weight {weight} {wanted.dtype}")
        for weight in self.missing:
            for name in self.left:
                mine, wanted = list(self.own[name].shape), list(self.weights[weight].shape)
                if len(mine) == 2 and mine != wanted and mine == wanted[::-1]:
                    raise Complaint(f"the parameter {name} {mine} is the weight {weight} {wanted} transposed: keep a "
                                    f"parameter of the shape {wanted}, and what forward needs of it as an attribute "
                                    f"(self.{name.replace('.', '_')} = self.weight.t().contiguous()), which is made again "
                                    "for each call's weights")
        raise Complaint("weights go by their names, then by their order and their shapes: ModelNew has no parameter "
                        "for " + self.listed(self.missing, self.weights) + (
                            f"; the task has no weight for {self.listed(self.left, self.own)}" if self.left else "") +
                        f" (the task's weights: {', '.join(self.weights) or 'none'})")


known_pairs = {}  # of this process's candidate: {parameter: weight}, where names alone did not decide


def pair_weights(model, weights):
    """{parameter: weight}. A parameter beyond the task's weights is the module's own: one of KernelBench's modules has
    one that it never uses. What was guessed is said, once."""
    pairing = Pairing(model, weights)
    pairs = pairing.make(known_pairs)
    new = {name: how for name, how in pairing.guessed.items() if how != "before"}
    known_pairs.update({name: pairs[name] for name in new})
    if new:
        print("assay: weights: " + ", ".join(f"{name} = {pairs[name]} (by {how})" for name, how in new.items()),
              file=sys.stderr, flush=True)
    return pairs


def set_weights(model, weights):
    """Makes the given tensors the parameters, and the buffers that are weights, without a copy, so that every call sees its
    own weights."""
    own = worker_weights.own_of(model)
    for name, weight in pair_weights(model, weights).items():
        own[name].data = weights[weight]


# ---- what a model keeps from one call to the next

class Keeps:
    """Names what a model has made and kept since this began. Weights are others in every call, so what was made of
    earlier ones (transposed, folded, in another order in memory) is wrong in the next."""

    def __init__(self, model, module=None, but=()):
        self.model, self.module = model, module
        self.before = self.ids()
        self.read_before = worker_weights.numbers_of(model, module)
        self.but = set(but)
        self.places = {name: p.data_ptr() for name, p in model.named_parameters() if name not in but}

    def ids(self):
        """A buffer that is written to, as running statistics are, stays the one that it was."""
        held = worker_weights.attributes_of(self.model, self.module) | worker_weights.buffers_of(self.model)
        return {name: [id(t) for t in tensors] for name, tensors in held.items()}

    def names(self):
        moved = [name for name, p in self.model.named_parameters()
                 if name not in self.but and self.places.get(name) != p.data_ptr()]
        made = [name for name, tensors in self.ids().items() if tensors and tensors != self.before.get(name)]
        return moved + made

    def numbers(self):
        """{name: numbers}: those that are new, or others."""
        return {name: numbers for name, numbers in worker_weights.numbers_of(self.model, self.module).items()
                if numbers != self.read_before.get(name)}


said_kept = set()


def not_said(what, names):
    """Those of the names of which this has not been said yet; now it is."""
    names = [name for name in names if (what, name) not in said_kept]
    said_kept.update((what, name) for name in names)
    return names


def say_kept(names, what="kept"):
    """Once, for the judge: a wrong value may be due to it, and a time."""
    names = not_said(what, names)
    if names:
        print(f"assay: {what}: " + ", ".join(names), file=sys.stderr, flush=True)


def say_evaluation(model, weights):
    """Once, for the judge: normalisations that take running statistics. A task that has some as inputs is in evaluation,
    too."""
    import torch
    names = [name or type(part).__name__ for name, part in model.named_modules()
             if isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.track_running_stats and not part.training]
    if names and not any("running" in weight for weight in weights):
        more = f" and {len(names) - 2} more" if len(names) > 3 else ""
        say_kept([", ".join(names[:2 if more else 3]) + more], "evaluation")


def say_training(model, paired):
    """Once, for who wrote it: normalisations in training write to their running statistics, here weights of the task."""
    names = not_said("training", [name or type(part).__name__ for name, part in model.named_modules()
                                  if part.training and f"{name}.running_mean".lstrip(".") in paired])
    if names:
        print(f"assay: {', '.join(names)}: in training, where a call writes to running statistics, which are weights of this "
              "task: let __init__ call self.eval()", file=sys.stderr, flush=True)


class Model:
    """A model, and what makes each of its calls right for weights that it has not seen: what it has made of others, in
    __init__ or in its first call, is made again before every call. Where that cannot be found out, the model is."""

    def __init__(self, module, workload, device, recorded=False):
        self.module, self.workload, self.device, self.recorded = module, workload, device, recorded
        self.model = self.prepared = self.keeps = self.way = None
        self.states = []  # attributes that are inputs
        self.first = None  # what the first call has kept: tensors with their names, and {name: numbers}
        self.file = worker_weights.File.of(module) if module else None
        self.anew = False  # every call begins with a new model

    def build(self):
        """The module, and the tape of its __init__; without one where that fails under the tape's eyes."""
        quick = empty_parameters if self.device == "cuda" else contextlib.nullcontext
        tape = worker_weights.Tape()
        try:
            with quick(), tape.on():
                return make_model(self.module, self.workload), tape
        except Exception:  # its own, most often: then it comes again
            with quick():
                return make_model(self.module, self.workload), None

    def make(self, weights):
        self.model = self.prepared = self.way = None
        if self.file:
            self.file.restore()
        model, tape = self.build()
        pairs = pair_weights(model, weights)
        self.prepared = self.made_in_init(tape, model, pairs)
        if self.device == "cuda":
            model = model.to("cuda")
        self.model = model
        self.try_to_renew(weights)
        self.keeps = Keeps(model, self.module, self.prepared.names())
        say_evaluation(model, weights)
        say_training(model, pairs or ())
        say_switches(model, self.device)

    def made_in_init(self, tape, model, pairs):
        prepared = worker_weights.Prepared()
        try:
            if tape and pairs:
                prepared.add_init(tape, model, self.module, pairs)
            return prepared
        except Exception as why:
            say_kept([f"what __init__ makes of the weights ({why})"])
            return worker_weights.Prepared()
        finally:
            say_kept(prepared.changed, "changed")

    def try_to_renew(self, weights):
        set_weights(self.model, weights)
        try:
            self.renew(weights)
            say_kept(self.prepared.names(), "prepared")
        except Exception as why:
            say_kept([f"{', '.join(self.prepared.names())} ({why})"])
            self.prepared = worker_weights.Prepared()
            set_weights(self.model, weights)

    def renew(self, weights):
        """Returns whether there is anything to prepare."""
        if self.prepared:
            self.prepared.renew(weights)
        return bool(self.prepared)

    def call(self, arguments):
        if not self.way:
            self.way, self.states = caller(self.model, self.workload, arguments)
        return self.way(*arguments)

    def notice(self):
        """After the first call: whether it has kept something."""
        names = set(self.keeps.names()) - set(self.states)
        held = [h for h in worker_weights.held_by(self.model, self.module) if h.name in names]
        tensors, numbers = [(h.name, h.tensor.detach().clone()) for h in held], self.keeps.numbers()
        self.first = (tensors, numbers) if tensors or numbers else None
        self.keeps = None

    def learn(self, weights, arguments):
        """A first call again, of a new model, and what it keeps of weights. What it keeps otherwise and is the same as
        before does not depend on them, unless they are the same too."""
        (first, first_numbers), self.first = self.first, None
        self.make(weights)
        tape = worker_weights.Tape()
        try:
            leaves = self.prepared.leaves_of_call(tape, weights)
            with tape.on():
                results = self.call(arguments)
        except Exception:  # its own, or because of the tape
            self.make(weights)
            self.renew(weights)
            results, tape = self.call(arguments), None
        names = set(self.keeps.names()) - set(self.states)
        kept = [h for h in worker_weights.held_by(self.model, self.module) if h.name in names]
        read = {name for name, numbers in self.keeps.numbers().items() if numbers != first_numbers.get(name)}
        self.keeps = None
        found, answers = self.made_in_call(tape, leaves, arguments, kept) if tape else ([], False)
        left = [h for h in kept if h not in found and not self.was(first, h)]
        # A process that keeps answers is left with them. What is recorded is at least computed.
        self.anew = bool(left or read) and (self.recorded or not answers)
        say_kept(sorted({h.name for h in left} | read))
        say_kept(sorted({h.name for h in found}), "prepared")
        return results

    def made_in_call(self, tape, leaves, arguments, kept):
        try:
            return self.prepared.add_call(tape, leaves, arguments, kept)
        except Exception:
            return [], False

    @staticmethod
    def was(first, held):
        import torch
        try:
            return any(name == held.name and tensor.shape == held.tensor.shape and tensor.dtype == held.tensor.dtype and
                       tensor.device == held.tensor.device and torch.equal(tensor, held.tensor) for name, tensor in first)
        except Exception:  # MKL-DNN's tensors, and quantized ones, cannot be compared
            return False

    def serve(self, weights, arguments):
        """A call, with all that comes before it."""
        if self.first:
            return self.learn(weights, arguments)
        if self.anew:
            self.make(weights)
        self.renew(weights)
        results = self.call(arguments)
        if self.keeps and not self.anew and weights:
            self.notice()
        return results


def results_of(value, expected):
    """What forward or the function returned, as a list of tensors of the right types and shapes."""
    import torch
    about = worker_call.Call.latest or "ModelNew.forward"
    several = isinstance(value, (tuple, list))
    results = list(value) if several else [value]
    if len(results) != len(expected):
        said = f"{len(results)} values" if several else "nothing" if value is None else f"a {type(value).__name__}"
        wanted = f"a tuple of the task's {len(expected)} outputs" if len(expected) > 1 else "the task's output alone"
        raise Complaint(f"it returned {said}, and not {wanted}", about)
    for i, (result, out) in enumerate(zip(results, expected)):
        if not isinstance(result, torch.Tensor):
            raise Complaint(f"it returned a {type(result).__name__}, not a tensor", about)
        if result.shape != out.shape or result.dtype != out.dtype:
            raise Complaint(f"it returned {result.dtype} of shape {tuple(result.shape)}, output {i} is {out.dtype} of "
                            f"shape {tuple(out.shape)}", about)
    return results


# ---- extensions in C++: compiled in the build, loaded in the runner, which may not run a compiler

# What says where an extension is made, and how much is printed of that, and not what it is.
NOT_CONTENT = ("build_directory", "verbose", "keep_intermediates")


def what_is_built(function, given):
    """A name for what an extension is made of: sources, flags, everything that load or load_inline is given. Names that
    candidates give do not do: two extensions may have the same one."""
    told = {name: value for name, value in given.items() if name not in NOT_CONTENT}
    if function == "load":  # the sources are files
        told["sources"] = []
        for source in [given["sources"]] if isinstance(given["sources"], str) else given["sources"]:
            with open(source, "rb") as file:
                told["sources"].append([os.path.basename(source), hashlib.sha256(file.read()).hexdigest()])
    told["extra_include_paths"] = [os.path.realpath(path) for path in given.get("extra_include_paths") or []]
    text = json.dumps([function, told], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def program_identity(name):
    """A program's file and when it was changed; "": there is none."""
    path = shutil.which(name)
    if not path:
        return ""
    path = os.path.realpath(path)
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def made_with():
    """What extensions are compiled with on this machine: they may be kept as long as it is the same."""
    torch = importlib.util.find_spec("torch")
    cuda = os.environ.get("CUDA_HOME")
    programs = [os.environ.get("CXX") or "c++", os.path.join(cuda, "bin", "nvcc") if cuda else "nvcc"]
    return "\n".join([versions(), program_identity(sys.executable), *map(program_identity, programs),
                      str(torch and (torch.origin, os.stat(torch.origin).st_mtime_ns))]) + "\n"


def write_made_with(folder, with_what):
    """What is in the folder may be kept."""
    os.makedirs(os.path.join(folder, "extensions"), exist_ok=True)
    with open(os.path.join(folder, "extensions", "made_with"), "w", encoding="utf-8") as file:
        file.write(with_what)


def kept_extensions(folder):
    """Whether an earlier build's extensions lie in the folder and are good here; if not, they are removed."""
    place = os.path.join(os.path.realpath(folder), "extensions")
    try:
        with open(os.path.join(place, "made_with"), encoding="utf-8") as file:
            if file.read() == made_with():
                return True
    except (OSError, ValueError):
        pass
    shutil.rmtree(place, ignore_errors=True)
    return False


def not_compiled(name, compile_now):
    raise Complaint(f"the extension {name} was not compiled when the file was built: call load_inline outside of functions "
                    "and classes, where it is called as the file is imported, and with the same sources and flags each time")


def patch_extensions(folder, build, missing=not_compiled, file_read=lambda name: None):
    """torch.utils.cpp_extension.load_inline and load put what they compile into the folder, or take it from there: what
    is not there is `missing`'s. One that is made of files is `file_read`'s first. Returns the names of those so far."""
    import torch.utils.cpp_extension as extension
    compile_ = extension._jit_compile
    folder = os.path.join(os.path.realpath(folder), "extensions")
    place = [None]  # of the extension that is being compiled
    of_files = []

    def compiled(name, *arguments, **options):
        # PyTorch would number a second extension of this name, for it would put both into one folder.
        extension.JIT_EXTENSION_VERSIONER.entries.pop(name, None)
        bound = inspect.signature(compile_).bind(name, *arguments, **options)
        os.makedirs(place[0], exist_ok=True)
        bound.arguments["build_directory"] = place[0]
        return compile_(*bound.args, **bound.kwargs)

    def made(function):
        signature = inspect.signature(function)

        def make(*arguments, **options):
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            given = bound.arguments
            where = os.path.join(folder, what_is_built(function.__name__, given))
            files = [*(given.get("extra_include_paths") or []), *(given.get("extra_ldflags") or [])]
            if function.__name__ != "load_inline" or any(str(file).strip() for file in files):  # [""] is often written
                of_files.append(given["name"])
                file_read(given["name"])
            if build:
                place[0] = where
                return function(*arguments, **options)
            if not os.path.isdir(where) or not os.listdir(where):
                return missing(given["name"], lambda: function(*arguments, **options))
            return extension._import_module_from_library(given["name"], where, given["is_python_module"])
        return make

    if build:
        extension._jit_compile = compiled
    extension.load, extension.load_inline = made(extension.load), made(extension.load_inline)
    return of_files


def take_extensions(path):
    """On a GPU, where extensions are compiled as the file is imported: those that the judge kept are taken."""
    folder = os.path.dirname(path)
    if os.path.isdir(os.path.join(folder, "extensions")) and kept_extensions(folder):
        patch_extensions(folder, False, lambda name, compile_now: compile_now())


def make_extensions(path, names):
    """On a GPU: compiles what the file compiles as it is imported, for the judge to keep. No workload is known here, so that
    nothing of one can be left in what is kept. What is made of files cannot be kept, and is not compiled here."""
    folder, with_what = os.path.dirname(path), made_with()

    def nothing_to_keep(name=None):
        shutil.rmtree(os.path.join(folder, "extensions"), ignore_errors=True)
        write_made_with(folder, with_what)
        os._exit(0)

    patch_extensions(folder, True, file_read=nothing_to_keep)
    try:
        load_source(path, names)
    except BaseException as error:
        traceback.print_exc()
        if worker_error.is_of_a_compiler(error):  # it would fail again
            with open(os.path.join(folder, "failed"), "w", encoding="utf-8", errors="replace") as file:
                file.write(worker_error.told(error, path))
        return
    write_made_with(folder, with_what)


def has_extensions(source):
    return "cpp_extension" in source


# ---- the judge's memory, as tensors

def at_device(address, size, dtype, shape):
    """A GPU's memory at this address, as a tensor."""
    import torch
    if size == 0:
        return torch.empty(shape, dtype=dtype, device="cuda")
    holder = type("Memory", (), {"__cuda_array_interface__": {
        "data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}})()
    return torch.as_tensor(holder, device="cuda").view(dtype).view(shape)


generators = {}  # of this file, by device: PyTorch's own is the candidate's, and a broken capture leaves it unusable


def generator(device):
    import torch
    if str(device) not in generators:
        generators[str(device)] = torch.Generator(device=device)
        generators[str(device)].seed()
    return generators[str(device)]


def whole_numbers(kind, b, shape, how):
    """Indices and the like; b: how many there are, or their total."""
    import torch
    if kind == "seeds":  # four of them, below 2^52
        return torch.randint(0, 1 << 52, (4,), **how)[torch.randint(0, 4, shape, **how)]
    if kind == "partition":  # rises to the total
        sums = (torch.rand(shape, dtype=torch.float64, **how) + 1e-9).cumsum(-1)
        return (sums / sums[..., -1:] * b).round()
    order = torch.rand((int(b), *shape[1:]), **how).argsort(0)  # distinct along the first dimension
    return order[torch.arange(shape[0], device=how["device"]) % int(b)]


def base_draw(draw, shape, how):
    import torch
    kind, a, b = draw["kind"], draw["a"], draw["b"]
    if kind == "integers":
        return torch.randint(int(a), max(int(b), int(a) + 1), shape, **how)
    if kind == "bernoulli":
        return torch.rand(shape, **how) < a
    if kind == "signs":
        return torch.randint(0, 2, shape, **how) * 2 - 1
    if kind == "constant":
        return torch.full(shape, a, device=how["device"])
    if kind == "normal":
        return torch.randn(shape, **how) * b + a
    if kind in ("permutation", "partition", "seeds"):
        return whole_numbers(kind, b, shape, how)
    low, high = (a, b) if kind == "uniform" else (-a, a)  # slash
    return torch.rand(shape, **how) * (high - low) + low


def well_placed(x, draw, how):
    """Matrices that can be factored, as task/distribution.h makes them."""
    import torch
    mirrored, (m, n) = draw["symmetric"] or draw["definite"], x.shape[-2:]
    where = torch.arange(m, device=x.device)
    if draw["symmetric"]:
        where = where.flip(0)
    elif not (draw["definite"] or draw["triu"] or draw["tril"]):
        where = torch.randperm(m, **how)
    ones = torch.eye(m, max(m, n), device=x.device)[where][:, :n]
    return x / ((1 if draw["definite"] else 1.5) * ((2 if mirrored else 1) * m) ** 0.5) + ones


def fill_as_declared(tensor, draw):
    """Data of the task's own kind, where not any will do: an index has to be in range, a matrix to have an inverse."""
    import torch
    how = {"device": tensor.device, "generator": generator(tensor.device)}
    x = base_draw(draw, tuple(tensor.shape), how)
    low, high = draw["scale"]
    if (low, high) != (1, 1):
        x = x * (torch.rand((), **how) * (high - low) + low)
    if (draw["symmetric"] or draw["definite"]) and x.shape[-1] == x.shape[-2]:
        x = (x + x.mT) / 2
    if draw["regular"] or draw["definite"]:
        x = well_placed(x, draw, how)
    for half in "triu", "tril":
        if draw[half]:
            x = getattr(torch, half)(x)
    tensor.copy_(torch.softmax(x, -1) if draw["softmax"] else x)


def fill_tensors(tensors, inputs, low, high):
    """Arbitrary data, since the results are not used, but where the workload's inputs say how it is drawn."""
    import torch
    for tensor, told in zip(tensors, inputs):
        if told.get("draw"):
            fill_as_declared(tensor, told["draw"])
        elif tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:  # PyTorch draws no float8
            wide = torch.empty(tensor.shape, device=tensor.device)
            tensor.copy_(wide.uniform_(low, high, generator=generator(tensor.device)))
        elif tensor.dtype.is_floating_point:
            tensor.uniform_(low, high, generator=generator(tensor.device))
        else:
            tensor.zero_()


def bound(workload, tensors):
    """The task's weights by name, and what forward gets."""
    weights = {i["name"]: t for i, t in zip(workload["inputs"], tensors) if i["static"]}
    return weights, [t for i, t in zip(workload["inputs"], tensors) if not i["static"]]


@contextlib.contextmanager
def empty_parameters():
    """Weights are the task's: what a layer would draw for them takes seconds on the host and is thrown away."""
    import torch
    kept = {name: function for name, function in vars(torch.nn.init).items()
            if name.endswith("_") and not name.startswith("_") and callable(function)}

    def quick(function):
        def init(tensor, *arguments, **options):
            if isinstance(tensor, torch.nn.Parameter) and tensor.numel() >= 1 << 16:
                return tensor
            return function(tensor, *arguments, **options)
        return init

    for name, function in kept.items():
        setattr(torch.nn.init, name, quick(function))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(torch.nn.init, name, function)


# ---- serving

WARM_UPS = 3  # calls whose results are not used: compiling, tuning, libraries' own memory


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32)]

    def to_torch(self, device):
        import torch
        dtype = getattr(torch, DTYPES[self.dtype])
        shape = [self.dims[i] for i in range(self.rank)]
        count = 1
        for dim in shape:
            count *= dim
        size = count * torch.empty(0, dtype=dtype).element_size()
        if device == "cuda":
            return at_device(self.data, size, dtype, shape)
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        memory = (ctypes.c_char * size).from_address(self.data)
        return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)


class Args(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("n_inputs", ctypes.c_int32), ("n_outputs", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("inputs", ctypes.POINTER(Tensor)), ("outputs", ctypes.POINTER(Tensor)),
                ("parallel", ctypes.c_void_p)]


class Server:
    def __init__(self, path, names, device):
        self.path, self.names, self.device = path, names, device
        self.module = self.model = self.workload = self.outputs = None
        self.tensors = self.weights = self.inputs = None
        self.spot = None
        if device == "cuda":
            import torch
            self.spot = torch.zeros(1, device="cuda")
            torch.cuda.synchronize()

    def load(self):
        """The judge binds buffers before this, to measure the cost of a call that does nothing."""
        self.module = load_source(self.path, self.names)
        if self.workload:
            self.make()

    def bind(self, args, workload):
        self.workload = json.loads(workload)
        self.tensors = [args.inputs[i].to_torch(self.device) for i in range(args.n_inputs)]
        self.outputs = [args.outputs[i].to_torch(self.device) for i in range(args.n_outputs)]
        if self.module:
            self.make()

    def make(self):
        self.model = None
        worker_call.settle(self.module, self.workload, self.outputs)
        self.weights, self.inputs = bound(self.workload, self.tensors)
        model = Model(self.module, self.workload, self.device)
        model.make(self.weights)
        if self.device == "cuda":
            self.warm_up(model)
            if worker_weights.holds_graph(model.model) and not model.anew:
                self.capture_again(model)
        self.model = model

    def warm_up(self, model):
        """Compiling takes longer than a call may. Warming up uses inputs and weights of its own, since the buffers
        could hold anything, also bad indices."""
        import torch
        tensors = [torch.empty_like(tensor) for tensor in self.tensors]
        weights, _ = bound(self.workload, tensors)
        set_weights(model.model, weights)
        self.call_for_nothing(model, weights, tensors)
        set_weights(model.model, self.weights)
        torch.cuda.synchronize()

    def capture_again(self, model):
        """A CUDA graph reads weights where they were as it was captured, so a new module captures one while they are where
        they are in every call, whatever they hold now. What it keeps is made anew each time the graph is replayed."""
        import torch
        try:
            model.make(self.weights)
            model.keeps = None
            self.call_for_nothing(model, self.weights, [torch.empty_like(tensor) for tensor in self.tensors])
        except Exception:  # it does not get along with what the weights hold
            model.make(self.weights)
            self.warm_up(model)
        torch.cuda.synchronize()

    def call_for_nothing(self, model, weights, tensors):
        """The results are not used. `tensors`, of all inputs, are filled before each call; the weights may be among them."""
        import torch
        _, inputs = bound(self.workload, tensors)
        with torch.no_grad():
            for _ in range(WARM_UPS):
                fill_tensors(tensors, self.workload["inputs"], 0.01, 1)
                results_of(model.serve(weights, inputs), self.outputs)

    def call(self, nothing):
        """On a GPU a call ends when this process sees the device idle; the judge checks that itself. A call that does
        nothing still has the GPU switch to this process once, as every call does."""
        import torch
        if nothing:
            self.spot.zero_()
        else:
            with torch.no_grad():
                results = results_of(self.model.serve(self.weights, self.inputs), self.outputs)
                for result, out in zip(results, self.outputs):
                    out.copy_(result)
        if self.device == "cuda":
            torch.cuda.synchronize()


turns = itertools.count(1)


def guarded(function, path):
    """A callback for C: returns the number of the call, or 0 with the reason in the message buffer (the last two
    arguments). Where it fails to return, C finds an earlier number."""
    def call(*arguments):
        turn, (*rest, message, size) = next(turns), arguments
        try:
            function(*rest)
            return turn
        except BaseException as error:  # SystemExit too: it comes from the candidate
            text = worker_error.told(error, path).encode(errors="replace")[:size - 1]
            ctypes.memmove(message, text + b"\0", len(text) + 1)
            return 0
    return call


class Nothing(io.RawIOBase):
    """What /dev/null is to a writer. A locked process opens no file for writing, nor writes to one."""
    name = os.devnull

    def writable(self):
        return True

    def write(self, data):
        return len(data)


def open_nothing(mode, buffering, *text):
    """As open() would open it."""
    if "b" in mode and buffering == 0:
        return Nothing()
    writer = io.BufferedWriter(Nothing())
    return writer if "b" in mode else io.TextIOWrapper(writer, *text)


NO_FILES = ("a module on the CPU runs in a locked process, which makes no files and folders (load_inline compiles as the file "
            "is imported, before that)")


def ask_nothing_forbidden():
    """Libraries ask who the user is, make folders for caches, open /dev/null and try whether there is IPv6 as they are
    imported (torch._dynamo, torchvision, dill, urllib3). The calls behind that end a locked process, or fail, so Python
    answers: there is one user, folders cannot be made, programs cannot be run, and there is no IPv6."""
    import builtins
    import pwd
    import socket
    import subprocess
    open_file = builtins.open

    def open_(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        if isinstance(file, (str, os.PathLike)) and os.fspath(file) == os.devnull and set(mode) & set("wax+"):
            return open_nothing(mode, buffering, encoding, errors, newline)
        try:
            return open_file(file, mode, buffering, encoding, errors, newline, closefd, opener)
        except PermissionError as error:
            error.strerror = NO_FILES if set(mode) & set("wax+") else error.strerror
            raise

    builtins.open = io.open = open_
    socket.has_ipv6 = False
    user = pwd.struct_passwd((os.environ["USER"], "x", os.getuid(), os.getgid(), "", os.environ["HOME"], "/bin/sh"))

    def by_number(number):
        if number != user.pw_uid:
            raise KeyError(f"getpwuid(): uid not found: {number}")
        return user

    def by_name(name):
        if name != user.pw_name:
            raise KeyError(f"getpwnam(): name not found: {name!r}")
        return user

    def mkdir(path, mode=0o777, *, dir_fd=None):
        there = os.path.lexists(path)
        raise OSError(errno.EEXIST if there else errno.EACCES, "File exists" if there else NO_FILES, path)

    def popen(self, command, *arguments, **options):
        program = command[0] if isinstance(command, (list, tuple)) else command
        raise PermissionError(f"{program} cannot be run: a module on the CPU runs in a locked process. load_inline "
                              "compiles when the file is loaded, before that; torch.compile can have "
                              "backend=\"eager\" or \"aot_eager\" here")

    pwd.getpwuid, pwd.getpwnam, pwd.getpwall, os.mkdir = by_number, by_name, lambda: [user], mkdir
    subprocess.Popen.__init__ = popen


def settle_in(path, threads, device):
    """Starts everything while there is only trusted code in the process."""
    # PyTorch's import looks for a folder for temporary files, and runs programs to find libraries. Here the working
    # folder cannot be written, and on the CPU no program can be run.
    tempfile.tempdir = os.environ["TMPDIR"]
    if device == "cpu":
        ctypes.util.find_library = lambda name: None
        ask_nothing_forbidden()
    import torch
    if device == "cuda":
        prepare()
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    warm = torch.ones(1 << 16)
    (warm + warm).sum()  # the pool's threads
    torch.ones(64, 64) @ torch.ones(64, 64)
    if device == "cuda":
        torch.cuda.init()
        torch.cuda.synchronize()  # the context now exists and is current in this thread
    with open(path, encoding="utf-8-sig") as file:
        if not has_extensions(file.read()):
            return
    if device == "cuda":  # they are compiled where the device is: their source may ask what it is
        take_extensions(path)
    else:
        patch_extensions(os.path.dirname(path), False)


def serve(library, path, threads, build, device, names):
    settle_in(path, threads, device)
    worker = ctypes.CDLL(library)
    server = Server(path, names, device)
    place, size = ctypes.c_void_p, ctypes.c_size_t
    load = ctypes.CFUNCTYPE(ctypes.c_int, place, size)(guarded(server.load, path))
    bind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Args), ctypes.c_char_p, place, size)(
        guarded(lambda args, workload: server.bind(args.contents, workload), path))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, place, size)(guarded(server.call, path))
    return worker.assay_worker_serve(threads, build.encode(), device.encode(), load, bind, call)


# ---- lifting on a GPU

NOT_LOADED, REFUSED = 2, 4  # enum record_stage


class RecordedTensor(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 8)]

    def to_torch(self):
        import torch
        return at_device(self.address, self.bytes, getattr(torch, DTYPES[self.dtype]), list(self.dims[:self.rank]))


def site_packages():
    import torch
    return os.path.dirname(os.path.dirname(torch.__file__))


def load_cudnn():
    """Loads the parts of cuDNN, which it would load with the first convolution."""
    for path in sorted(glob.glob(os.path.join(site_packages(), "nvidia/cudnn/lib/libcudnn_*.so.*"))):
        try:
            ctypes.CDLL(path)
        except OSError:
            pass  # cuDNN reports that itself


def find_cupti():
    """The CUPTI that comes with PyTorch; otherwise the one that the loader finds."""
    site = site_packages()
    found = [path for pattern in ("nvidia/*/lib/libcupti.so.*", "torch/lib/libcupti*.so*")
             for path in sorted(glob.glob(os.path.join(site, pattern)))]
    system = sorted(glob.glob("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.*"))
    return (found + system + ["libcupti.so"])[0]


def never_search():
    """Keeps torch.backends.cudnn.benchmark off even if the candidate turns it on. Either the allocator cannot answer
    PyTorch's question for it (lift/pytorch.c), or the search has failed before."""
    import torch
    torch._C._set_cudnn_benchmark(False)
    torch._C._set_cudnn_benchmark = lambda value: None
    kind = type(torch.backends.cudnn)
    kind.benchmark = torch.backends.ContextProp(torch._C._get_cudnn_benchmark, torch._C._set_cudnn_benchmark)


def use_allocator(library):
    """PyTorch gets its memory from the library; before CUDA is initialised, since it cannot change its allocator later."""
    import torch
    memory = torch.cuda.memory
    allocator = memory.CUDAPluggableAllocator(library, "assay_lift_malloc", "assay_lift_free")
    other_uses = ctypes.cast(ctypes.CDLL(library).assay_lift_record_stream, ctypes.c_void_p).value
    allocator.allocator().set_record_stream_fn(other_uses)  # else memory is given again while another stream uses it
    memory.change_current_allocator(allocator)


class Lift:
    def __init__(self, library, build):
        self.library = ctypes.CDLL(library)
        for name in "assay_lift_subscribe", "assay_lift_open", "assay_lift_end":
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.assay_lift_output.argtypes = [ctypes.c_uint64, ctypes.c_uint32]
        self.library.assay_lift_is_new.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        import torch
        self.must(self.library.assay_lift_subscribe(find_cupti().encode(), build.encode()))
        if not self.library.assay_lift_answer_largest_block():
            never_search()
        use_allocator(library)
        torch.cuda.init()
        torch.cuda.synchronize()  # the device's context now exists

    def open(self, descriptors):
        """Replaces the last workload's tensors by the next one's. Returns None, or why there is no memory for them."""
        why = self.library.assay_lift_open(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if self.library.assay_lift_has_no_memory():
            return why.decode()
        self.must(why)
        return None

    @staticmethod
    def must(why):
        if why:
            raise RuntimeError(why.decode(errors="replace"))

    def tensors(self, log):
        counts = (ctypes.c_uint32 * 2)()
        self.library.assay_lift_counts(log, counts)
        found = []
        for i in range(counts[0] + counts[1]):
            tensor = RecordedTensor()
            self.library.assay_lift_tensor(log, i, ctypes.byref(tensor))
            found.append(tensor.to_torch())
        return found[:counts[0]], found[counts[0]:]


def record(lift, log, recording, outputs):
    """One recorded call, after what it prepares. A result that is fresh memory of its own is the output itself; others are copied."""
    import torch
    taken = set()
    lift.library.assay_lift_begin(log)
    try:
        if recording.prepare():
            lift.library.assay_lift_prepared()
        results = results_of(recording.call(), outputs)
        for i, (result, out) in enumerate(zip(results, outputs)):
            address, size = result.data_ptr(), result.numel() * result.element_size()
            fresh = size and result.is_contiguous() and lift.library.assay_lift_is_new(address, size)
            if fresh and address not in taken:
                taken.add(address)
                lift.library.assay_lift_output(address, i)
            else:
                out.copy_(result)
    finally:
        why = lift.library.assay_lift_end()
    torch.cuda.synchronize()
    del results
    return why


def reads_left_overs(lift, call, outputs):
    """The reason why there is no plan, if results depend (or may depend) on what earlier calls left in memory that the
    recordings took for workspace."""
    import torch
    count = lift.library.assay_lift_left_overs(0)
    if count == 0:
        return None

    def results():
        return [t.contiguous().reshape(-1).view(torch.uint8).clone() for t in results_of(call(), outputs)]

    def same(a, b):
        return all(torch.equal(*pair) for pair in zip(a, b))

    emptied = settled = False
    try:
        before = results()
        if not same(before, results()):
            return b"its results differ from call to call, so that it cannot be seen what it reads of memory from before"
        emptied = lift.library.assay_lift_left_overs(1) > 0
        settled = same(before, results()) and emptied
    except Exception:  # out of memory, most often; or the inspection met something that it cannot read
        pass
    finally:
        lift.library.assay_lift_left_overs(2)
    if settled:
        lift.library.assay_lift_left_overs(3)
        return None
    if not emptied:
        return b"it cannot be seen what it reads of memory from before the call that it sets in part"
    return b"its results depend on what earlier calls left in memory"


def compiling_seconds():
    """What torch.compile has taken in this process so far, by its own clock: tracing, Inductor, Triton, autotuning."""
    try:
        return sys.modules["torch._dynamo.utils"].calculate_time_spent()["total_wall_time"]
    except Exception:  # it is not loaded, or another version
        return 0


def say_compiled(seconds, compiling):
    """For who compares makers: what the first call cost, which compiles."""
    if compiling > 0:
        print(f"assay: torch.compile: {compiling:.3f} s, in a first call of {seconds:.3f} s", file=sys.stderr, flush=True)


def processor_seconds():
    """What this process has used of processors, and all that it has started, also what is still there and waits, as
    Inductor's compilers do; that only where /proc can be read."""
    own = os.times()
    used, parents, tick = {}, {}, os.sysconf("SC_CLK_TCK")
    with contextlib.suppress(Exception):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat") as file:  # it may have ended
                numbers = file.read().rpartition(")")[2].split()
                parents[int(entry)], used[int(entry)] = int(numbers[1]), sum(map(int, numbers[11:15])) / tick

    def below(number):
        children = [child for child, parent in parents.items() if parent == number and child in used]
        return sum(used[child] + below(child) for child in children)
    return own.user + own.system + own.children_user + own.children_system + below(os.getpid())


def say_first_call(seconds, processors):
    """For who compares tuners, which search in the first call."""
    if "triton" in sys.modules or "torch._dynamo" in sys.modules:
        print(f"assay: first call: {seconds:.3f} s, {processors:.3f} s of processors", file=sys.stderr, flush=True)


class Recording:
    """The model of one workload, and how it is called."""

    def __init__(self, module, workload, outputs):
        self.workload = workload
        worker_call.settle(module, workload, outputs)
        self.model = Model(module, workload, "cuda", recorded=True)
        self.tensors = self.weights = self.arguments = None

    def take(self, tensors):
        self.tensors = tensors
        self.weights, self.arguments = bound(self.workload, tensors)
        if self.model.model:
            set_weights(self.model.model, self.weights)

    def ready(self):
        """Before what is recorded: a model to call. Where what its first call makes of the weights cannot be made again
        otherwise, every call begins with a new one, and is recorded with that."""
        if self.model.anew or not self.model.model:
            self.model.make(self.weights)

    def prepare(self):
        """What depends on the weights alone; returns whether there is any."""
        return self.model.renew(self.weights)

    def call(self):
        return self.model.call(self.arguments)

    def whole_call(self):
        self.ready()
        self.prepare()
        return self.call()

    def warm_up(self, lift, outputs):
        for i in range(WARM_UPS):
            self.ready()
            lift.library.assay_lift_look(i == WARM_UPS - 1)
            self.prepare()
            start, compiling, used = time.perf_counter(), compiling_seconds(), processor_seconds() if i == 0 else 0
            results = results_of(self.call(), outputs)
            if i == 0:
                seconds = time.perf_counter() - start
                say_compiled(seconds, compiling_seconds() - compiling)
                say_first_call(seconds, processor_seconds() - used)
            if i > 0:  # as in the recording, so that kernels which copy are loaded and then inspected
                for result, out in zip(results, outputs):
                    out.copy_(result)
            del results
            if i == 0:
                self.model.notice()
            if i == 0 and self.model.first:
                fill_tensors(self.tensors, self.workload["inputs"], 0.01, 1)
                results_of(self.model.learn(self.weights, self.arguments), outputs)
        lift.library.assay_lift_look(0)


def lift_workload(lift, module, workload, timed):
    """Makes both recordings. Returns whether they give one plan, as far as this process knows."""
    import torch
    inputs, outputs = lift.tensors(0)
    fill_tensors(inputs, workload["inputs"], 0.01, 1)
    recording = Recording(module, workload, outputs)
    recording.take(inputs)
    with torch.no_grad():
        recording.warm_up(lift, outputs)
        # New data, or a workspace would not change and look like a constant.
        fill_tensors(recording.arguments, [i for i in workload["inputs"] if not i["static"]], 0.01, 1)
        recording.ready()
        torch.cuda.synchronize()
        if record(lift, 0, recording, outputs):
            return False
        others, other_outputs = lift.tensors(1)
        fill_tensors(others, workload["inputs"], -2, 3)
        recording.take(others)
        recording.ready()
        torch.cuda.synchronize()
        if record(lift, 1, recording, other_outputs):
            return False
        why = reads_left_overs(lift, recording.whole_call, other_outputs)
        if why:
            lift.library.assay_lift_failed(REFUSED, why)
            return False
        if timed:
            recording.ready()
            recording.prepare()
            torch.cuda._sleep(20000000)  # some 10 ms, so that kernels are queued and do not wait for the host
            lift.library.assay_lift_time(1)
            recording.call()
            lift.library.assay_lift_time(0)
    return True


# What errors say that may be the recording's doing: its allocator cannot do all that PyTorch's can, it looks at memory and
# modules while a graph is captured, and an algorithm that reads beyond a tensor's end meets no memory there.
MAYBE_OURS = ("CUDA error", "CUDA driver error", "capture", "CUDAGraph", "CUDA graph", "cudaGraph", "pluggable",
              "CUBLAS_STATUS", "CUDNN_STATUS")


def is_maybe_ours(error):
    """Whether a module that raised this while it was recorded may be one that works: a process, where nothing is
    recorded, tells."""
    chain = []
    while error and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return any(isinstance(e, RuntimeError) and any(mark in str(e) for mark in MAYBE_OURS) for e in chain)


AGAIN = "ASSAY_LIFT_AGAIN"  # number of the first workload, and descriptors, of a program that was started again


def start_again(first, order, descriptors):
    """Starts again at this workload, without cuDNN's search. Some algorithms that the search tries read beyond a
    tensor's end, where no memory is mapped; this process cannot use the device after that."""
    print("with torch.backends.cudnn.benchmark on it fails; recorded again with it off", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    left = [order] + [fd for workload in descriptors for fd in workload]
    for fd in left:
        os.set_inheritable(fd, True)
    os.environ[AGAIN] = ",".join(map(str, [first, *left]))
    try:
        os.execv(sys.executable, sys.orig_argv)
    except OSError:
        traceback.print_exc()  # the first failure is reported instead


def receive_order(come_up):
    """Waits for the judge's order: {"candidate", "defines", "workloads"}. Returns it with four descriptors for every
    workload (request and log, twice), the first workload's number, whether this is the second start, and the order's
    descriptor. A single byte announces the order, so that the device can be initialised meanwhile; a byte in reply
    says that it is."""
    import array
    import socket
    again = os.environ.pop(AGAIN, None)
    if again:
        first, *descriptors = map(int, again.split(","))
        never_search()
        return read_order(first, True, descriptors)
    with socket.socket(fileno=3) as judge:
        while True:
            said, ancillary, _, _ = judge.recvmsg(1, socket.CMSG_SPACE(65 * 4))
            if not said:
                os._exit(0)  # the judge is gone
            if ancillary:
                break
            come_up()
            judge.send(said)
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data[:len(data) - len(data) % descriptors.itemsize])
    return read_order(0, False, list(descriptors))


def read_order(first, again, descriptors):
    with open(descriptors[0], "rb", closefd=False) as file:
        file.seek(0)
        order = json.load(file)
    order["workloads"] = order["workloads"][first:]
    fours = [descriptors[1 + 4 * i:5 + 4 * i] for i in range(len(order["workloads"]))]
    return order, fours, first, again, descriptors[0]


def prepare():
    """What takes seconds and needs neither the device nor the candidate."""
    import torch
    try:
        import triton
    except Exception:
        triton = None
    return torch, triton


def lift(library, build):
    tempfile.tempdir = os.environ["TMPDIR"]
    prepare()
    load_cudnn()
    early = []
    order, descriptors, first, again, own = receive_order(lambda: early or early.append(Lift(library, build)))
    import torch
    path = order["candidate"]
    if order.get("extensions") == "make":
        make_extensions(path, order["defines"])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    take_extensions(path)
    lift = early[0] if early else Lift(library, build)
    module = None
    for i, workload in enumerate(order["workloads"]):
        spare = [os.dup(fd) for fd in descriptors[i]]
        why = lift.open(descriptors[i])
        if why:
            lift.library.assay_lift_failed(REFUSED, why.encode())
            break
        try:
            if module is None:
                module = load_source(path, order["defines"])
            if not lift_workload(lift, module, workload, first + i == 0):
                break
        except BaseException as error:
            traceback.print_exc()
            if not again and torch.backends.cudnn.benchmark and isinstance(error, RuntimeError):
                start_again(first + i, own, [spare, *descriptors[i + 1:]])
            stage, text = NOT_LOADED, worker_error.told(error, path)
            if is_maybe_ours(error):
                stage, text = REFUSED, worker_error.told(error, path, "while it was recorded it raised ")
            if lift.library.assay_lift_has_no_memory():  # PyTorch goes on with memory at address 0
                stage, text = REFUSED, worker_error.told(error, path, "the device has no memory left for what it allocates "
                                                         "while it is recorded, and without that it raised ")
            lift.library.assay_lift_failed(stage, text.encode(errors="replace"))
            break
        for fd in spare:
            os.close(fd)
        if i + 1 < len(order["workloads"]):
            gc.collect()  # models of a workload are large
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the recordings are complete; what modules do at exit is not needed


# ---- building

def versions():
    """What the candidate will run with, one line."""
    from importlib import metadata
    found = [f"Python {sys.version.split()[0]}"]
    for title, name in ("PyTorch", "torch"), ("Triton", "triton"):
        try:
            found.append(f"{title} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def read_source(path):
    """The text of a file whose syntax is right; None, and what is wrong on stderr."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        source = data.decode("utf-8-sig")  # some editors begin a file with a mark, which Python's import reads over
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first thing that is said is the error
            compile(source, path, "exec")
        return source
    except UnicodeDecodeError as error:
        before = data[:error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        why = f"the file is not UTF-8: byte 0x{data[error.start]:02x}"
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        why = getattr(error, "msg", error)
    except (RecursionError, MemoryError) as error:
        line, column, why = 1, 1, f"{type(error).__name__}: the source is nested too deeply"
    print(f"{os.path.basename(path)}:{line}:{column}: error: {why}", file=sys.stderr)
    return None


def check(path, out, names, extensions, kept):
    source = read_source(path)
    if source is None:
        return 1
    line, folder = versions(), os.path.dirname(out)
    if has_extensions(source) and (extensions or kept):
        if kept and kept_extensions(folder):  # where the file compiles none as it is imported, there is a list of none
            if len(os.listdir(os.path.join(folder, "extensions"))) > 1:
                line += ", extensions as they were compiled before"
        elif extensions:
            of_files = patch_extensions(folder, True)
            with_what = made_with()
            try:
                load_within_functions(source, load_source(path, names))
            except BaseException as error:
                print(f"{worker_error.told(error, path)}\n{worker_error.text_of(error)}", file=sys.stderr)
                return 1
            if not of_files and os.path.isdir(os.path.join(folder, "extensions")):
                write_made_with(folder, with_what)
    with open(out, "w", encoding="utf-8") as file:
        file.write(line + "\n")
    return 0


def calls_of(tree, name):
    """The calls of what has this name, or another that an import gives it."""
    import ast
    names = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
             if alias.name == name} | {name}
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", None)) in names - {None}]


def load_within_functions(source, module):
    """Extensions that the file compiles in a function or in __init__ only, which may run where nothing can be compiled:
    those whose arguments can be known from here."""
    import ast
    tree = ast.parse(source)
    within = {id(inner) for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))
              for inner in ast.walk(node)}
    for node in calls_of(tree, "load_inline"):
        if id(node) in within:
            try:
                eval(compile(ast.Expression(node), module.__file__, "eval"), vars(module))
            except Exception as error:  # names of the function's, most often
                if worker_error.is_of_a_compiler(error):
                    raise


# What published kernels import besides PyTorch, and how it is told. A name that is not here may be of no package at all:
# its absence is the candidate's own fault.
PACKAGES = {
    "triton": "Triton", "helion": "Helion (pip install helion; 1.5.0 is for PyTorch 2.11)", "cupy": "CuPy",
    "tilelang": "TileLang", "cutlass": "CUTLASS's Python (pip install nvidia-cutlass-dsl)", "cuda": "cuda-python",
    "numba": "Numba", "warp": "Warp (pip install warp-lang)", "taichi": "Taichi", "tvm": "TVM", "jax": "JAX",
    "flash_attn": "FlashAttention", "flashinfer": "FlashInfer", "xformers": "xFormers", "apex": "Apex",
    "transformer_engine": "Transformer Engine", "deep_gemm": "DeepGEMM", "quack": "QuACK", "liger_kernel": "Liger Kernel",
    "thunderkittens": "ThunderKittens", "pycuda": "PyCUDA", "torchvision": "torchvision", "torchaudio": "torchaudio",
    "timm": "timm", "transformers": "transformers", "einops": "einops", "numpy": "NumPy", "scipy": "SciPy", "Cython": "Cython",
    "pybind11": "pybind11", "cffi": "cffi",
}
FOR_GPUS = {"triton", "helion", "cupy", "tilelang", "cutlass", "cuda", "flash_attn", "flashinfer", "apex", "transformer_engine",
            "deep_gemm", "quack", "liger_kernel", "thunderkittens", "pycuda"}


def imported(tree):
    """Roots of the names of all imports, but of those that a `try` lets fail. Without Triton and Helion there is no kernel
    in a file that uses them, whatever else it tries."""
    import ast
    spared = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers
              for part in node.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        roots = {name.partition(".")[0] for name in names}
        yield from roots & {"triton", "helion"} if id(node) in spared else roots


def failed_for(name, failure):
    """Whether the words of a failure are about this package. What a `try` lets fail is missed later, under another name."""
    import re
    absent = re.search(rf"No module named '{name}['.]", failure)
    return bool(absent) or name in ("triton", "helion") and re.search(rf"{name}|NameError|NoneType", failure, re.IGNORECASE)


def name_in(node):
    """The name by which a node reads something, also as a string, for getattr(); None: it reads none."""
    import ast
    if isinstance(getattr(node, "ctx", None), ast.Load):
        return getattr(node, "id", getattr(node, "attr", None))
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and value.isidentifier() else None


def unused_functions(tree):
    """Functions that nothing names which may run: not another function of the kind either. What a decorator may have
    noted, and what a class inherits its callers for, is used where the class is. A file without ModelNew may be called
    by any name."""
    import ast
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    defined = [node for node in tree.body if isinstance(node, (*functions, ast.ClassDef))]
    used = {"ModelNew", "forward"}
    if not any(isinstance(node, ast.ClassDef) and node.name == "ModelNew" for node in defined):
        used.update(node.name for node in defined)
    waiting, ready = {}, [(tree, None)]
    while ready:
        node, owner = ready.pop()
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, functions) and not node.decorator_list:
            inherits = owner is not None and (owner.bases or node.name.startswith("__"))
            key = owner.name if inherits else node.name
            if key not in used:
                waiting.setdefault(key, []).append(node)
                children = [node.args]  # defaults are made with the function
        name = name_in(node)
        if name is not None and name not in used:
            used.add(name)
            children += [child for function in waiting.pop(name, []) for child in ast.iter_child_nodes(function)]
        ready += [(child, node if isinstance(node, ast.ClassDef) else None) for child in children]
    return [function for functions in waiting.values() for function in functions]


def what_may_run(source):
    """The source's tree, with nothing in the functions that are not used."""
    import ast
    tree = ast.parse(source)
    for function in unused_functions(tree):
        function.body = [ast.Pass()]
    return tree


def uses_extensions(tree):
    """Whether anything of torch.utils.cpp_extension is used, not only imported."""
    import ast
    names = {"cpp_extension"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names
                         if "cpp_extension" in (node.module or "") or alias.name == "cpp_extension")
        elif isinstance(node, ast.Import):
            names.update(alias.asname for alias in node.names if alias.asname and "cpp_extension" in alias.name)
    return any(name_in(node) in names or "cpp_extension" in str(getattr(node, "value", ""))
               for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute, ast.Constant)))


def asked_for(source):
    """What a source needs of the machine: "extension", "CUDA" in an extension, packages by name, "GPU". It is read, but
    for functions that nobody calls: what stands there is not what the source failed for."""
    import ast
    tree = what_may_run(source)
    found = set(imported(tree)) & set(PACKAGES)
    found.update({"GPU"} if found & FOR_GPUS else ())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update({"GPU"} if node.value.partition(":")[0] == "cuda" else ())
            found.update({"CUDA"} if node.value.endswith(".cu") else ())
        elif isinstance(node, ast.Attribute):
            # Inductor runs a compiler when it is called, which a module on the CPU may not. It comes in many ways:
            # torch.compile, self.compile(), torch._dynamo.optimize. That it failed is seen by its exception.
            found.update({"GPU"} if node.attr in ("cuda", "compile", "optimize") else ())
        elif isinstance(node, ast.ImportFrom):
            found.update({"GPU"} if {alias.name for alias in node.names} & {"compile", "optimize"} else ())
    for node in calls_of(tree, "load_inline"):
        given = node.args[2:3] + [k.value for k in node.keywords if k.arg == "cuda_sources"]
        found.update({"CUDA"} if any(getattr(value, "elts", True) and getattr(value, "value", True)
                                     for value in given) else ())
    if uses_extensions(tree):
        found.update({"extension", "GPU"} if "CUDA" in found else {"extension"})
    else:
        found.discard("CUDA")
    return found


def compiles(compiler):
    """Whether it is there and works. CXX may be several words."""
    import subprocess
    try:
        done = subprocess.run([*compiler.split(), "-x", "c++", "-fsyntax-only", "-"], input=b"#include <vector>\n",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        return done.returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def missing_for_extensions(with_cuda):
    import torch.utils.cpp_extension as extension
    lacking = []
    if not extension.is_ninja_available():
        lacking.append("ninja (pip install ninja)")
    if not compiles(extension.get_cxx_compiler()):
        lacking.append(f"a C++ compiler that works ({extension.get_cxx_compiler()}; CXX names another)")
    if with_cuda:
        import torch
        if not torch.version.cuda:
            lacking.append("a PyTorch with CUDA")
        if not extension.CUDA_HOME or not os.access(os.path.join(extension.CUDA_HOME, "bin", "nvcc"), os.X_OK):
            lacking.append("the CUDA toolkit's nvcc (CUDA_HOME names the toolkit)")
    return lacking


def missing(path, device, failure):
    """What the source needs and this machine has not, as one line for a reader. That of a source which cannot be read
    is nothing. A package that stands in a function which nobody called is not what the source failed for."""
    lacking = []
    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read()
        needs = asked_for(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        source, needs = "", set()
    if has_extensions(source) and not importlib.util.find_spec("torch"):  # it was imported to be built
        lacking.append("PyTorch")
    elif "extension" in needs:
        lacking += missing_for_extensions("CUDA" in needs)
    lacking += [PACKAGES[name] for name in PACKAGES
                if name in needs and failed_for(name, failure) and not importlib.util.find_spec(name)]
    if "GPU" in needs and device == "cpu":
        lacking.append("a GPU")
    print("missing: " + ", ".join(lacking))
    return 0


def facts():
    found = {"python": sys.version.split()[0], "prefixes": sorted({sys.prefix, sys.base_prefix})}
    try:
        import torch
        found["torch"] = torch.__version__
        found["cuda"] = torch.version.cuda
        found["folder"] = os.path.dirname(os.path.dirname(torch.__file__))
    except Exception as error:
        found["error"] = worker_error.said(error)
    print(json.dumps(found))
    return 0


def main(arguments):
    mode, *rest = arguments or [""]
    if mode == "serve" and len(rest) >= 5:
        return serve(rest[0], rest[1], int(rest[2]), rest[3], rest[4], rest[5:])
    if mode == "lift" and len(rest) >= 2:
        return lift(rest[0], rest[1])
    if mode in ("check", "kept", "syntax", "there") and len(rest) >= 2:
        return check(rest[0], rest[1], rest[2:], mode in ("check", "kept"), mode in ("kept", "there"))
    if mode == "missing" and len(rest) == 3:
        return missing(*rest)
    if mode == "facts":
        return facts()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(f"Python {sys.version.split()[0]}")
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
