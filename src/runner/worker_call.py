# SPDX-License-Identifier: Apache-2.0
"""A candidate that is a function, as KernelBench-X's are: `kernel_function`, or one named like its task. Part of worker.py.

What a function is called with comes from the suite's own call of its reference, which init_arguments.txt next to the task
says: an expression in the task's inputs and dimensions, and the reference's signature. A candidate need not have the same
parameters. Tensors and numbers go to parameters of their names, then to those at their places. Where a suite says
nothing, the task's inputs are what is given.

Nothing here is trusted: with a wrong pairing the outputs are wrong.
"""
import contextlib
import inspect
import sys

BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
OUT = ("out", "output", "outputs", "out_tensor", "output_tensor", "result")
ENTRY = "kernel_function"
NUMBERS = ("bool", "int", "float")  # annotations, as they are or as texts
SEPARATOR = "#" * 146  # KernelBench-X's files have a line of so many, and their tests below it


class Misfit(Exception):
    """The function `about` cannot be called for this task; the text is for its author."""

    def __init__(self, text, about=None):
        super().__init__(text)
        self.about = about


def above_tests(path):
    """The file's text above the suite's tests, which want a GPU and a folder of the suite's; None: it has none."""
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
    at = ("\n" + text).find("\n" + SEPARATOR)
    return text[:at] if at >= 0 else None


def is_function_file(module):
    return not inspect.isclass(getattr(module, "ModelNew", None))


def own_names(module):
    """What the file defines and may be called, in its order. Decorated functions (torch.compile) are found by name."""
    return [name for name, value in vars(module).items()
            if not name.startswith("__") and callable(value) and getattr(value, "__module__", None) == module.__name__]


def told(init):
    """(expression, the reference's name, its parameters' names) of the line in init_arguments.txt, or Nones."""
    parts = [part.strip() for part in (init or "").split(";")]
    if len(parts) < 4:
        return None, None, None
    name, _, parameters = parts[3].partition("(")
    return parts[2], name.strip(), [p.strip() for p in parameters.rstrip(") ").split(",") if p.strip()]


def stem_of(task):
    return task.rpartition("/")[2]


def entry_of(module, workload):
    """(name, function): the one named like the reference or the task, else kernel_function."""
    wanted = [told(workload["init"])[1], stem_of(workload["task"]), ENTRY]
    lower = {name.lower(): name for name in vars(module)}
    for name in filter(None, wanted):
        name = name if hasattr(module, name) else lower.get(name.lower())
        if name and callable(getattr(module, name, None)):
            return name, getattr(module, name)
    there = ", ".join(own_names(module)[:8])
    names = " or ".join(dict.fromkeys(n for n in [*wanted[:2], ENTRY] if n and n.isidentifier()))
    raise Misfit(f"the file has no class ModelNew and no function {names}, one of which is called with the task's inputs; "
                 f"it has {there or 'nothing that can be called'}")


class Given:
    """What is to be given: {the reference's name for it: value}, in the order of its signature, with places."""

    def __init__(self, parameters, places, names):
        self.values, self.places, self.nones = {}, {}, []
        for i, value in enumerate(places):
            self.add(parameters[i] if i < len(parameters) else f"argument {i + 1}", i, value)
        for name, value in names.items():
            self.add(name, parameters.index(name) if name in parameters else None, value)

    def add(self, name, place, value):
        if value is None:
            self.nones.append((name, place))
        else:
            self.values[name], self.places[name] = value, place

    def has_none_for(self, name, place):
        return any(name == own or (place is not None and place == where) for own, where in self.nones)


class Binding:
    """The parameters of a function, and what each gets: {parameter: (name of what is given, how)}."""

    def __init__(self, function, workload, inputs, outputs):
        self.inputs, self.symbols, self.outputs = inputs, workload["symbols"], outputs
        self.taken, self.left_out, self.out = {}, [], None
        try:
            self.parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            self.parameters = [inspect.Parameter("given", inspect.Parameter.VAR_POSITIONAL)]

    def free(self, kinds, required=False):
        return [p for p in self.parameters if p.kind in kinds and p.name not in self.taken and p.name != self.out and
                (not required or p.default is p.empty)]

    def takes_rest(self, kind):
        return any(p.kind == kind for p in self.parameters)

    def pair(self, given):
        """Returns {parameter: value} and what goes to *rest."""
        values, left = {}, dict(given.values)

        def take(parameter, name, value, how):
            values[parameter.name] = value
            self.taken[parameter.name] = (name, how)
            left.pop(name, None)

        for p in self.free(NAMED):
            if p.name in left:
                take(p, p.name, left[p.name], "name")
        own = {id(tensor): name for name, tensor in self.inputs.items()}
        for name, value in list(left.items()):  # the reference may call the task's input otherwise
            p = next((p for p in self.free(NAMED) if p.name == own.get(id(value))), None)
            if p:
                take(p, name, value, "name")
        by_place = [p for p in self.parameters if p.kind in BY_PLACE]

        def take_places(kinds):
            for name, value in list(left.items()):
                place = given.places[name]
                p = by_place[place] if place is not None and place < len(by_place) else None
                if p and p.name not in values and p.name not in OUT and kinds(p, value):
                    take(p, name, value, "place")

        def take_rest(kinds):
            for p in self.free(BY_PLACE, True):
                fitting = [name for name, value in left.items() if kinds(p, value)]
                if p.name not in OUT and fitting and not given.has_none_for(p.name, None):
                    take(p, fitting[0], left[fitting[0]], "order")

        at = {name: by_place[place] for name in left
              if (place := given.places[name]) is not None and place < len(by_place)}
        if all(p.name in values or p.name in OUT or self.same_kind(p, left[name]) for name, p in at.items()):
            take_places(self.same_kind)  # else places say nothing, of those that would fit either
        for p in self.free(NAMED + BY_PLACE[:1], True):
            if p.name in self.inputs:
                take(p, p.name, self.inputs[p.name], "name")
            elif p.name in self.symbols and p.name not in values:
                take(p, p.name, self.symbols[p.name], "name")
        take_rest(self.same_kind)
        take_places(self.may_stand)  # whatever annotations say
        take_rest(self.may_take)
        for p in self.free(NAMED + BY_PLACE[:1], True):  # where the suite says None, and there is no default for it
            if given.has_none_for(p.name, by_place.index(p) if p in by_place else None):
                values[p.name] = None
                self.taken[p.name] = ("None", "name")
        if self.takes_rest(inspect.Parameter.VAR_KEYWORD) and not self.takes_rest(inspect.Parameter.VAR_POSITIONAL):
            values.update(left)
            left = {}
        rest = list(left.values()) if self.takes_rest(inspect.Parameter.VAR_POSITIONAL) else []
        self.finish(values, {} if rest else left)
        return values, rest

    @staticmethod
    def may_take(parameter, value):
        """Not so where a tensor would go to a parameter whose default is a number."""
        import torch
        return not (isinstance(parameter.default, (bool, int, float, str)) and isinstance(value, torch.Tensor))

    @classmethod
    def may_stand(cls, parameter, value):
        """Nor where a number would go to a parameter that can do without."""
        return cls.may_take(parameter, value) and (parameter.default is parameter.empty or
                                                   not isinstance(value, (bool, int, float)))

    @classmethod
    def same_kind(cls, parameter, value):
        """Whether a number would go where a tensor's place is, or the reverse, as far as a default or an annotation says."""
        said = parameter.annotation if isinstance(parameter.annotation, str) else getattr(parameter.annotation, "__name__", "")
        no_kind = NUMBERS if not isinstance(value, (bool, int, float)) else ("Tensor", "torch.Tensor")
        return said not in no_kind and cls.may_take(parameter, value)

    def finish(self, values, left):
        import torch
        for p in self.free(NAMED, True):
            if p.name in OUT and self.outputs:
                made = [torch.empty_like(out) for out in self.outputs]
                values[p.name] = made[0] if len(made) == 1 else tuple(made)
                self.out = p.name
        lost = [name for name, value in left.items() if isinstance(value, torch.Tensor)]
        if lost:
            raise Misfit(f"it has no parameter for {', '.join(lost)}; {self.listed()}")
        self.left_out = list(left)
        wanting = [p.name for p in self.free(NAMED + BY_PLACE[:1], True)]
        if wanting:
            raise Misfit(f"it wants {', '.join(wanting)}, which this task does not give; {self.listed()}")

    def listed(self):
        inputs = ", ".join(f"{name} {list(t.shape)}" for name, t in self.inputs.items())
        return f"the task's inputs are {inputs}, and its dimensions {', '.join(self.symbols) or 'fixed'}"

    def said(self):
        """What names do not say, and what was left out."""
        pairs = [f"{parameter} = {name} (by {how})" for parameter, (name, how) in self.taken.items() if how != "name"]
        pairs += [f"{name} left out" for name in self.left_out]
        return pairs + ([f"{self.out} = new memory"] if self.out else [])


def call_with(function, values, rest):
    """Positional where a parameter has to be."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function(*values.values(), *rest)
    many = any(p.kind == p.VAR_POSITIONAL for p in parameters) and bool(rest)
    first = [p.name for p in parameters if p.kind == p.POSITIONAL_ONLY or (many and p.kind == p.POSITIONAL_OR_KEYWORD)]
    places = [values[name] for name in first if name in values]
    names = {name: value for name, value in values.items() if name not in first}
    return function(*places, *rest, **names)


said_pairs = set()


class Asked:
    """Whether the candidate had PyTorch's dropout take the choices that are an input of the task."""

    def __init__(self, keep):
        self.keep, self.count = keep, 0

    def dropout(self, input, p=0.5, training=True, inplace=False, **_):
        import torch
        if not training or not p:
            return input
        self.count += 1
        if input.shape != self.keep.shape:
            raise Misfit(f"a dropout of shape {tuple(input.shape)}; this task's choices (keep) are {tuple(self.keep.shape)}")
        return torch.where(self.keep, input / (1 - p), torch.zeros((), dtype=input.dtype, device=input.device))

    @contextlib.contextmanager
    def on(self):
        import torch
        places = [(torch.nn.functional, "dropout"), (torch, "dropout")]
        before = [getattr(*place) for place in places]
        for place in places:
            setattr(*place, self.dropout)
        try:
            yield
        finally:
            for place, function in zip(places, before):
                setattr(*place, function)


class Call:
    """The function of one workload, called as the suite calls its reference."""
    latest = None  # its name

    def __init__(self, module, workload):
        self.workload, self.outputs = workload, workload.get("outputs_like")
        self.name, self.function = entry_of(module, workload)
        Call.latest = self.name
        self.expression, self.reference, self.parameters = told(workload["init"])
        self.code = compile(self.expression, "init_arguments", "eval") if self.expression else None
        self.names = [i["name"] for i in workload["inputs"]]
        self.direct = None  # whether the function has the task's own inputs as parameters, where the reference has others

    def numbers(self):
        """The numbers that a suite passes next to the tensors, where it says no more."""
        parts = (self.workload["init"] or "").split(";")
        return eval(f"[{parts[1]}]", {"__builtins__": {}}) if len(parts) == 2 else []

    def bound(self, inputs, places, names):
        binding = Binding(self.function, self.workload, inputs, self.outputs)
        given = Given(self.parameters or [], places, names)
        try:
            values, rest = binding.pair(given)
        except Misfit as error:
            raise Misfit(f"{self.name}: {error}", self.name) from None
        new = [pair for pair in binding.said() if pair not in said_pairs]
        said_pairs.update(new)
        if new:
            print("assay: arguments: " + ", ".join(new), file=sys.stderr, flush=True)
        return values, rest, binding.out

    def call(self, inputs, places, names):
        values, rest, out = self.bound(inputs, places, names)
        result = call_with(self.function, values, rest)
        return values[out] if out and result is None else result

    def is_direct(self, inputs):
        own = [name for name, tensor in inputs.items() if tensor.numel() and name != "keep"]
        return not all(name in self.parameters for name in own) and all(map(self.takes, own)) and \
            not self.is_given([inputs[name] for name in own], inputs)

    def is_given(self, tensors, inputs):
        """Whether the suite's call gives these as they are, so that what it gives besides goes with them."""
        class Passed(Exception):
            pass

        def seen(*places, **names):
            raise Passed([*places, *names.values()])
        try:
            self.evaluated(seen, inputs)
        except Passed as given:
            return all(any(value is tensor for value in given.args[0]) for tensor in tensors)
        return False

    def as_told(self, inputs):
        """The suite's expression, with the candidate's function under the reference's name."""
        return self.evaluated(lambda *places, **names: self.call(inputs, places, names), inputs)

    def evaluated(self, function, inputs):
        import torch
        space = {"torch": torch, "F": torch.nn.functional, **self.workload["symbols"], **inputs, self.reference: function}
        return eval(self.code, space)

    def __call__(self, *tensors):
        inputs = dict(zip(self.names, tensors))
        if self.direct is None:
            self.direct = not self.expression or self.is_direct(inputs)
        if self.direct:
            self.parameters = self.names + [f"number {i + 1}" for i in range(len(self.numbers()))]
            return self.call(inputs, [*tensors, *self.numbers()], {})
        keep = inputs.get("keep")
        if keep is None or "keep" in self.expression or self.takes("keep"):
            return self.as_told(inputs)
        asked = Asked(keep)
        with asked.on():
            result = self.as_told(inputs)
        if not asked.count:
            raise Misfit(f"{self.name} drops by numbers of its own; in this task the choices are an input: take a "
                         f"parameter keep, {list(keep.shape)} of bool, or call torch.nn.functional.dropout", self.name)
        return result

    def takes(self, name):
        try:
            return name in inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return False


def settle(module, workload, outputs=None):
    """For a function no input is a weight that a module keeps: all of them are arguments, in every call."""
    if not is_function_file(module):
        return
    workload["outputs_like"] = outputs
    for told_input in workload["inputs"]:
        told_input["static"] = False


def model_of(module, workload):
    """The function as a module without parameters, so that all else is as for a ModelNew."""
    import torch
    call = Call(module, workload)

    class Function(torch.nn.Module):
        def forward(self, *inputs):
            return call(*inputs)

    return Function()
