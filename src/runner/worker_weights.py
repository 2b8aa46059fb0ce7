# SPDX-License-Identifier: Apache-2.0
"""What a candidate makes of its weights ahead of its calls: in its __init__, and in its first call. Part of worker.py.

Every call has other weights, so what was made of earlier ones (transposed, folded, summed, in another order in memory)
has to be made again. While a module is made, and in a call that is looked at, PyTorch's dispatcher shows all operators;
those that lead from the weights to a tensor which the module keeps are noted (Tape), and are carried out again with the
weights of each call (Prepared). A weight counts as the task's own value from its birth: what __init__ writes to it, as
all initialisers do, is left out.

Not everything can be found so: numbers that were read back to the host, what NumPy or a kernel of the candidate's made.
Nothing here is trusted, and nothing has to be: a value that is out of date makes outputs wrong.
"""
import collections
import contextlib
import functools
import gc
import sys
import types
import weakref

# What these give depends on the shape of what they are given, or on chance, and on no value of it.
OF_SHAPE = {"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
            "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"}
MOST_SNAPSHOTS = 256 << 20  # bytes
SETS = {"copy_", "fill_", "set_", "zero_"}  # besides random ones: nothing is left of what they write to


class CannotPrepare(Exception):
    """The text says why, for the verdict."""


def operator_name(function):
    return function._schema.name.rpartition("::")[2]


def caller_of_operator():
    """The name of the module whose code called an operator under a tape."""
    between = (__name__, "torch._compile", "torch._dynamo", "torch.utils._python_dispatch")
    frame = sys._getframe(1)
    while frame and str(frame.f_globals.get("__name__")).startswith(between):
        frame = frame.f_back
    return frame and frame.f_globals.get("__name__")


def without_compiler(guarded):
    """The mode's dispatch without a look at PyTorch's compiler, which `guarded` loads at its first call, for seconds, to
    keep it off. Where the candidate has loaded it, `guarded` keeps it off."""
    if not hasattr(guarded, "__wrapped__"):  # a PyTorch that keeps nothing off
        return guarded
    plain = guarded.__wrapped__

    def dispatch(self, function, types, args=(), kwargs=None):
        of = guarded if "torch._dynamo" in sys.modules else plain
        return of(self, function, types, args, kwargs)

    try:
        from torch._C._dynamo.eval_frame import skip_code
        skip_code(dispatch.__code__)
    except ImportError:
        pass
    return dispatch


class Seen:
    """A tensor as an operator saw it: which part of which storage, and how often that had been written to."""
    __slots__ = "tensor", "key", "size", "stride", "offset", "dtype", "writes"

    def __init__(self, tape, tensor):
        storage = tensor.untyped_storage()
        self.tensor, self.key = tensor, storage._cdata
        self.size, self.stride, self.offset = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        self.dtype, self.writes = tensor.dtype, tape.writes.get(self.key, 0)
        tape.storages.setdefault(self.key, storage)

    def of(self, storage, shift=0):
        """The same part of another storage."""
        import torch
        return torch.empty(0, dtype=self.dtype, device=storage.device).set_(storage, self.offset + shift, self.size,
                                                                            self.stride)

    def is_laid_out_as(self, tensor):
        return (self.size, self.stride, self.dtype) == (tuple(tensor.shape), tensor.stride(), tensor.dtype)


class Step:
    """One operator that was carried out, with every tensor Seen."""
    __slots__ = "function", "args", "kwargs", "reads", "written", "results", "befores", "caller"


class Tape:
    """All operators since it began, in their order. It holds what they worked on, so that nothing takes its address."""

    def __init__(self):
        self.steps, self.storages, self.writes, self.slots = [], {}, {}, []
        self.unset, self.snapshots = set(), 0  # storages that nobody has written to; bytes
        self.broken = None

    def flatten(self, values):
        import torch
        from torch.utils import _pytree
        found = []

        def see(tensor):
            found.append(Seen(self, tensor))
            return found[-1]
        return _pytree.tree_map_only(torch.Tensor, see, values), found

    def written_by(self, step):
        """The tensors that the operator writes to, by its schema."""
        found = []
        for i, argument in enumerate(step.function._schema.arguments):
            if argument.alias_info and argument.alias_info.is_write:
                value = step.kwargs.get(argument.name, step.args[i] if i < len(step.args) else None)
                found += [s for s in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(s, Seen)]
        return found

    def keep_before(self, step):
        """What is about to be changed by something else than a number: a part of it may stay as it is."""
        befores = {}
        for key in {s.key for s in step.written}:
            if key in self.unset or all(s.key == key for s in step.reads):
                continue
            storage = self.storages[key]
            self.snapshots += storage.nbytes()
            if self.snapshots > MOST_SNAPSHOTS:
                raise CannotPrepare("it changes too much memory in place")
            befores[key] = storage.clone()
        return befores

    def begin(self, function, args, kwargs):
        step = Step()
        step.function = function
        (step.args, step.kwargs), step.reads = self.flatten((args, kwargs))
        step.written = self.written_by(step)
        step.caller = caller_of_operator()
        step.befores = self.keep_before(step)
        return step

    def end(self, step, results):
        _, step.results = self.flatten(results)
        for key in {s.key for s in step.written}:
            self.writes[key] = self.writes.get(key, 0) + 1
            self.unset.discard(key)
        known = {s.key for s in step.reads}
        if operator_name(step.function).startswith(("empty", "new_empty")):
            self.unset.update(s.key for s in step.results if s.key not in known)
        self.steps.append(step)

    def run(self, function, args, kwargs):
        step = None
        if not self.broken:
            try:
                step = self.begin(function, args, kwargs)
            except Exception as error:  # a tensor without a storage, most often
                self.broken = str(error)
        results = function(*args, **kwargs)
        if step:
            try:
                self.end(step, results)
            except Exception as error:
                self.broken = str(error)
        return results

    @contextlib.contextmanager
    def on(self):
        """Operators are noted, and which parameters a module has had, also those that it has replaced."""
        import torch
        from torch.utils._python_dispatch import TorchDispatchMode
        tape, register = self, torch.nn.Module.register_parameter

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                return tape.run(function, args, kwargs or {})

        Mode.__torch_dispatch__ = without_compiler(Mode.__torch_dispatch__)
        def noted(module, name, parameter):
            register(module, name, parameter)
            if parameter is not None:
                tape.note(module, name, parameter)

        torch.nn.Module.register_parameter = noted
        try:
            with Mode():
                yield
        finally:
            torch.nn.Module.register_parameter = register

    def note(self, module, name, parameter):
        try:
            self.slots.append((module, name, Seen(self, parameter)))
        except Exception as error:  # a lazy parameter
            self.broken = str(error)

    def parameters(self, model):
        """[name, Seen]: every memory that the model's parameters have had."""
        paths = {id(module): path for path, module in model.named_modules()}
        named = {id(p): name for name, p in model.named_parameters()}
        found = [(f"{paths[id(module)]}.{name}".lstrip("."), seen) for module, name, seen in self.slots
                 if id(module) in paths]
        for name, parameter in model.named_parameters(remove_duplicate=False):
            found.append((named[id(parameter)], Seen(self, parameter)))
        return found


# ---- what a module holds

def plain_object(value):
    """Of a class of the candidate's own, which may hold tensors."""
    return type(value).__module__ == "candidate" and not isinstance(value, type)


def attributes(value):
    """The values of an object's attributes, whether it has a dictionary or places for them."""
    found = list(vars(value).values()) if hasattr(value, "__dict__") else []
    for kind in type(value).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            with contextlib.suppress(AttributeError):  # one without a value
                found.append(getattr(value, name))
    return found


def closed_over(value):
    """What a function has closed over."""
    found = []
    for cell in (value.__closure__ if isinstance(value, types.FunctionType) else None) or ():
        with contextlib.suppress(ValueError):  # an empty one
            found.append(cell.cell_contents)
    return found


LISTS = (list, tuple, set, frozenset, collections.deque)
DICTIONARIES = (dict, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)
REMEMBERS = type(functools.lru_cache(len))


def parts_of(value):
    """What holds something else is made of: a list, a dictionary, an object of the candidate's own, a function, what
    functools makes of one, a module that is no part of another."""
    import torch
    if isinstance(value, LISTS):
        return list(value)
    if isinstance(value, DICTIONARIES):
        return list(value.values())
    if isinstance(value, types.FunctionType):
        return [*closed_over(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(),
                *vars(value).values()]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, REMEMBERS):  # a dictionary of results, or the results
        return gc.get_referents(value)
    if isinstance(value, torch.nn.Module):
        return [part for module in value.modules() for part in vars(module).values()]
    return attributes(value) if plain_object(value) else []


def tensors_in(value, but=(), depth=4):
    """The tensors in a value, also in its parts. `but`: modules that are looked at for themselves, by their addresses."""
    import torch
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and id(value) not in but:
        for part in parts_of(value):
            yield from tensors_in(part, but, depth - 1)


def numbers_in(value, but=(), depth=4):
    """The numbers in a value that may have been read from tensors, as what compares: floats, and NumPy's."""
    if isinstance(value, float):
        yield repr(value)
    elif type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") == "f":
        yield value.tobytes()
    elif depth and id(value) not in but:
        for part in parts_of(value):
            yield from numbers_in(part, but, depth - 1)


def owners_of(module):
    """Where the candidate's file keeps what outlives a model: its global names and its classes."""
    name = getattr(module, "__name__", None)
    classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == name]
    return [(module, "global ")] + [(c, f"class {c.__name__}.") for c in dict.fromkeys(classes)]


def values_of(model, module=None):
    """What modules hold besides parameters, buffers and parts, and the candidate's file: (name, value) of each."""
    own = ("_parameters", "_buffers", "_modules")
    found = [(f"{path}.{name}".lstrip("."), value)
             for path, part in model.named_modules() for name, value in vars(part).items() if name not in own]
    for owner, label in owners_of(module) if module else ():
        found += [(label + name, value) for name, value in list(vars(owner).items())]
    return found


def attributes_of(model, module=None):
    """{name: tensors}."""
    but = {id(part) for part in model.modules()}
    return {name: list(tensors_in(value, but)) for name, value in values_of(model, module)}


def numbers_of(model, module=None):
    """{name: numbers}, where there are any."""
    but = {id(part) for part in model.modules()}
    found = {name: list(numbers_in(value, but)) for name, value in values_of(model, module)}
    return {name: numbers for name, numbers in found.items() if numbers}


class File:
    """What the candidate's file holds under its global names and its classes' before a model is made: every model finds
    it so. Else a new one would take what an earlier one has made of other weights."""
    known = weakref.WeakKeyDictionary()

    def __init__(self, module):
        self.owners = owners_of(module)
        self.found = {(owner, name): (value, [(part, self.content(part)) for part in self.changeable(value)])
                      for owner, _ in self.owners for name, value in vars(owner).items()}

    @staticmethod
    def changeable(value):
        """What of a global value can hold more than it did: itself, and what a function has at hand."""
        if isinstance(value, types.FunctionType):
            inside = [*closed_over(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            return [vars(value)] + [part for part in inside if isinstance(part, (*DICTIONARIES, list))]
        return [value] if isinstance(value, (*DICTIONARIES, list)) else []

    @staticmethod
    def content(value):
        return list(value) if isinstance(value, list) else dict(value)

    @classmethod
    def of(cls, module):
        if module not in cls.known:
            cls.known[module] = cls(module)
        return cls.known[module]

    def restore(self):
        """Of what holds tensors or numbers now. The rest (compiled extensions, counts) is made of no weights."""
        for owner, _ in self.owners:
            for name, value in list(vars(owner).items()):
                if not any(True for inside in (tensors_in, numbers_in) for _ in inside(value)):
                    continue
                if (owner, name) not in self.found:
                    delattr(owner, name)
                    continue
                before, contents = self.found[owner, name]
                if value is not before:
                    setattr(owner, name, before)
                    continue
                if isinstance(value, REMEMBERS):
                    value.cache_clear()
                for part, content in contents:
                    if isinstance(part, list):
                        part[:] = content
                    else:
                        part.clear()
                        part.update(content)


def holds_graph(model):
    """Whether a module, or what it holds, has captured a CUDA graph."""
    import torch

    def inside(value, depth):
        if isinstance(value, torch.cuda.CUDAGraph):
            return True
        if not depth or isinstance(value, (torch.Tensor, torch.nn.Module)):
            return False
        return any(inside(part, depth - 1) for part in parts_of(value))

    return any(inside(value, 4) for part in model.modules() for name, value in vars(part).items()
               if name not in ("_parameters", "_buffers", "_modules"))


def own_of(model):
    """{name: tensor}: the parameters, and the buffers, which are weights where a task has one of their name."""
    return dict(model.named_buffers()) | dict(model.named_parameters())


def buffers_of(model):
    """{name: tensors}, none of a buffer that is not there yet: register_buffer(name, None)."""
    return {f"{path}.{name}".lstrip("."): [] if buffer is None else [buffer]
            for path, part in model.named_modules() for name, buffer in part._buffers.items()}


class Held:
    """A tensor that a model holds under a name, and how to give it another value."""

    def __init__(self, name, tensor, buffers=None, key=None):
        self.name, self.tensor, self.buffers, self.key = name, tensor, buffers, key
        self.seen = None

    def set(self, value):
        tensor = self.buffers[self.key] if self.buffers is not None else self.tensor  # .to() makes buffers anew
        tensor.data = value


def held_by(model, module=None):
    found = [Held(name, tensor) for name, tensors in attributes_of(model, module).items() for tensor in tensors]
    for path, part in model.named_modules():
        for name, buffer in part._buffers.items():
            if buffer is not None:
                found.append(Held(f"{path}.{name}".lstrip("."), buffer, part._buffers, name))
    return found + [Held(name, parameter) for name, parameter in model.named_parameters()]


# ---- from the weights to what is held

class Leaf:
    """Memory whose value is known: a weight's, by its name, or what an earlier stage made."""

    def __init__(self, seen, source):
        self.seen, self.source = seen, source

    def storage_for(self, value):
        """A storage with the value in this layout, and where in it the part of this leaf begins."""
        import torch
        if self.seen.is_laid_out_as(value):
            return value.untyped_storage(), value.storage_offset() - self.seen.offset
        laid = torch.empty_strided(self.seen.size, self.seen.stride, dtype=self.seen.dtype, device=value.device)
        laid.copy_(value)
        return laid.untyped_storage(), -self.seen.offset


class Stage:
    """The operators of a tape that lead from leaves to `held`. `foreign`: storages of a call's inputs, of which nothing
    may be kept."""

    def __init__(self, tape, leaves, foreign=()):
        if tape.broken:
            raise CannotPrepare(tape.broken)
        self.tape, self.leaves, self.steps, self.constants = tape, leaves, [], {}
        self.made, self.poisoned, self.read_by_host = set(leaves), set(foreign), False
        self.changed = []  # (leaf, operator) of what the candidate writes to leaves and is made of what was there
        for step in tape.steps:
            self.take(step)
        self.held = []

    def take(self, step):
        import torch
        name = operator_name(step.function)
        reads, written = {s.key for s in step.reads}, {s.key for s in step.written}
        results = {s.key for s in step.results}
        if step.caller == "torch.nn.init":  # some read numbers back, to draw again what is out of their bounds
            return
        if written and written <= set(self.leaves):  # an initialiser, too
            random = torch.Tag.nondeterministic_seeded in step.function.tags
            if step.caller == "candidate" and name not in SETS and not random:
                self.changed += [(key, name) for key in written]
            return
        if name in OF_SHAPE or not reads & (self.made | self.poisoned):
            return
        if reads & self.poisoned:
            self.poisoned |= (results | written) - set(self.leaves)
            return
        if not results and not written:
            self.read_by_host = True
            return
        if results and not written and results <= set(self.leaves):
            return
        self.made |= results | written
        self.steps.append(step)

    def check(self):
        """Whether the steps can be carried out again: nothing that they read was changed later, nothing is random."""
        import torch
        for step in self.steps:
            if torch.Tag.nondeterministic_seeded in step.function.tags:
                raise CannotPrepare(f"{operator_name(step.function)} is random")
            if {s.key for s in step.written} & set(self.leaves):
                raise CannotPrepare(f"{operator_name(step.function)} writes to weights and to other memory")
            for seen in step.reads:
                if seen.key not in self.made and self.tape.writes.get(seen.key, 0) != seen.writes:
                    raise CannotPrepare(f"{operator_name(step.function)} reads memory that is changed later")

    def find(self, held):
        """Of these, those that the steps make."""
        for h in held:
            h.seen = Seen(self.tape, h.tensor)
        self.held = [h for h in held if h.seen.key in self.made]
        return self.held

    def prune(self):
        """Leaves out what leads to nothing that is held."""
        wanted, left = {h.seen.key for h in self.held}, []
        for step in reversed(self.steps):
            touched = {s.key for s in step.results} | {s.key for s in step.written}
            if touched & wanted:
                wanted |= {s.key for s in step.reads}
                left.append(step)
        self.steps = left[::-1]

    def argument(self, seen, storages, device):
        import torch
        if not isinstance(seen, Seen):
            # "cpu" was where the weights were.
            return device if isinstance(seen, torch.device) and seen.type == "cpu" else seen
        if seen.key in storages:
            return seen.of(*storages[seen.key])
        if id(seen) not in self.constants:
            constant = seen.tensor.detach()
            self.constants[id(seen)] = constant if constant.dim() == 0 else constant.to(device)
        return self.constants[id(seen)]

    def writable(self, key, step, storages, device):
        """Memory like that which the step changes, as it was before."""
        import torch
        before, storage = step.befores.get(key), self.tape.storages[key]
        fresh = torch.empty(storage.nbytes(), dtype=torch.uint8, device=device)
        if before is not None:
            fresh.copy_(torch.empty(0, dtype=torch.uint8).set_(before))
        storages[key] = fresh.untyped_storage(), 0

    def run(self, weights, earlier, device):
        """{key: (storage, shift)}: everything made again, of these weights and an earlier stage's storages."""
        import torch
        from torch.utils import _pytree
        storages = {}
        for key, leaf in self.leaves.items():
            kind, source = leaf.source
            storages[key] = leaf.storage_for(weights[source]) if kind == "weight" else (earlier[source][0], 0)
        for step in self.steps:
            for key in {s.key for s in step.written} - set(storages):
                self.writable(key, step, storages, device)
            args, kwargs = _pytree.tree_map(lambda value: self.argument(value, storages, device),
                                            (step.args, step.kwargs), is_leaf=lambda value: isinstance(value, Seen))
            made = [t for t in _pytree.tree_leaves(step.function(*args, **kwargs)) if isinstance(t, torch.Tensor)]
            for seen, tensor in zip(step.results, made):
                if seen.key in storages:
                    continue
                if not seen.is_laid_out_as(tensor):
                    raise CannotPrepare(f"{operator_name(step.function)} gives another layout here")
                storages[seen.key] = tensor.untyped_storage(), tensor.storage_offset() - seen.offset
        return storages


class Prepared:
    """What one model has to be given before every call: what its __init__ made of its weights (or did to their layout),
    and what its first call kept."""

    def __init__(self):
        self.stages = []
        self.laid = []  # (parameter's name, parameter, the layout that __init__ gave it, its weight)
        self.where = {}  # the storages of the last time: {key: (storage, shift)}
        self.changed = []  # parameters that __init__ changes in place, with the operators: that counts for nothing

    def __bool__(self):
        return bool(self.stages or self.laid)

    def names(self):
        return sorted({h.name for stage in self.stages for h in stage.held} | {name for name, *_ in self.laid})

    def renew(self, weights):
        """Makes all of it again. It works on the weights' device, and reads nothing back."""
        import torch
        with torch.no_grad():
            device = next(iter(weights.values())).device
            for _, parameter, layout, weight in self.laid:
                parameter.data = torch.empty_strided(layout.size, layout.stride, dtype=layout.dtype,
                                                     device=device).copy_(weights[weight])
            self.where = {}
            for stage in self.stages:
                self.where.update(stage.run(weights, self.where, device))
                for h in stage.held:
                    storage, shift = self.where[h.seen.key]
                    h.set(h.seen.of(storage, shift))

    def add(self, stage, held):
        """Takes the stage, if it makes any of the held."""
        if stage.read_by_host:
            raise CannotPrepare("a number is read back from them to the host")
        if stage.find(held):
            stage.prune()
            stage.check()
            self.stages.append(stage)

    def add_init(self, tape, model, module, pairs):
        """What __init__ made of the parameters that are weights. `pairs`: {parameter: weight}."""
        leaves, own, of = {}, own_of(model), {}
        buffers = [(name, Seen(tape, buffer)) for name, buffer in model.named_buffers()]
        for name, seen in tape.parameters(model) + buffers:
            if name in pairs and seen.size == tuple(own[name].shape) and seen.dtype == own[name].dtype:
                other = leaves.setdefault(seen.key, Leaf(seen, ("weight", pairs[name])))
                of[seen.key] = name
                if other.source[1] != pairs[name]:
                    raise CannotPrepare(f"{pairs[name]} and {other.source[1]} share memory")
        stage = Stage(tape, leaves)
        self.changed = sorted({f"{of[key]} ({operator})" for key, operator in stage.changed})
        self.add(stage, [h for h in held_by(model, module) if h.name not in pairs])
        for name, weight in pairs.items():
            if not own[name].is_contiguous():
                self.laid.append((name, own[name], Seen(tape, own[name]), weight))

    def leaves_of_call(self, tape, weights):
        """What a call finds: the weights, and what is prepared already."""
        leaves = {}
        for weight, tensor in weights.items():
            seen = Seen(tape, tensor)
            leaves[seen.key] = Leaf(seen, ("weight", weight))
        for _, parameter, _, weight in self.laid:
            seen = Seen(tape, parameter)
            leaves[seen.key] = Leaf(seen, ("weight", weight))
        for key, (storage, _) in self.where.items():
            if storage._cdata not in leaves:
                tape.storages.setdefault(storage._cdata, storage)
                leaves[storage._cdata] = Leaf(None, ("before", key))
        return leaves

    def add_call(self, tape, leaves, inputs, held):
        """What a call left in `held`, of what it found. Returns what of these is made again from now on, and whether
        any of the others is made of the call's inputs."""
        stage = Stage(tape, leaves, {Seen(tape, tensor).key for tensor in inputs})
        answers = any(Seen(tape, h.tensor).key in stage.poisoned for h in held)
        self.add(stage, held)
        return stage.held, answers
