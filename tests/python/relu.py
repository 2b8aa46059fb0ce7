# An honest ModelNew, and what has been tried instead of one: every twin meets a judge in another process.
# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin CACHED expect wrong_value -- keeps its first answer for every shape
# assay: twin INPUT expect wrong_value -- hands the input back
# assay: twin EMPTY expect wrong_value|wrong_class|unwritten -- memory that nobody wrote
# assay: twin COLLECTED expect wrong_value|unwritten|wrong_class -- the first tensor of this shape that the collector knows
# assay: twin NO_COPY expect unwritten -- changes the worker so that it copies nothing
# assay: twin CLOCKS expect pass -- patches every clock of Python and PyTorch, which nobody asks
# assay: twin COMPARES expect wrong_value -- patches torch.allclose and Tensor.__eq__, which nobody asks
# assay: twin LAZY expect pass -- computes when its result is copied, which is within the time
# assay: twin LATER expect late_work -- a thread finishes after forward has returned
# assay: twin ODD expect wrong_value -- computes every other call
# assay: twin TIRES expect changed_behaviour -- computes 60 calls and then no more
# assay: twin INPLACE expect wrote_input
# assay: twin FALLBACK expect pass -- its own way fails and PyTorch's is taken, silently
# assay: twin HALF expect low_precision|wrong_value
# assay: twin NAN expect wrong_class
# assay: twin MEMORY_OF_JUDGE expect raised -- there is no way to another process's memory
# assay: twin FILES expect raised -- nor to a file of the machine's
# assay: twin FORK expect forbidden_call
# assay: twin PROGRAM expect raised
# assay: twin SOCKET expect forbidden_call
# assay: twin KILL expect forbidden_call
# assay: twin LEAVES expect exited
# assay: twin EXITS expect raised -- sys.exit() is an exception
# assay: twin RAISES expect raised
# assay: twin SHAPE expect raised
# assay: twin DTYPE expect raised
# assay: twin NOTHING expect raised
# assay: twin ENDLESS expect timeout
# assay: twin GREEDY expect raised|out_of_memory
# assay: twin WANTS expect load_failed -- a ModelNew of parameters that nobody gives
# assay: twin NO_MODEL expect load_failed
# assay: twin IMPORTS expect load_failed -- a module that is not there
# assay: twin SPOILS expect pass -- stamps on what PyTorch has global; the judge has none of it
import ctypes
import gc
import os
import socket
import subprocess
import sys
import threading
import time

import torch

names = globals()
if "IMPORTS" in names:
    import there_is_no_such_module
if "CLOCKS" in names:
    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    torch.cuda.Event.elapsed_time = lambda *arguments: 1e-9
    torch.cuda.synchronize = lambda *arguments: None
if "COMPARES" in names:
    torch.allclose = torch.equal = lambda *arguments, **options: True
    torch.Tensor.__eq__ = lambda self, other: torch.ones_like(self, dtype=torch.bool)
if "NO_COPY" in names:
    import __main__
    __main__.results_of = lambda value, expected: []
if "SPOILS" in names:
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    torch.set_printoptions(precision=1)


class Later(torch.Tensor):
    """Holds the input, and is its ReLU when somebody looks."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        plain = [a.as_subclass(torch.Tensor).relu() if isinstance(a, Later) and function is torch.Tensor.copy_ else a
                 for a in arguments]
        return super().__torch_function__(function, types, plain, options or {})


def finish_later(x, y):
    time.sleep(0.004)
    torch.relu(x, out=y) if False else y.copy_(torch.relu(x))


class ModelNew(torch.nn.Module):
    if "WANTS" in names:
        def __init__(self, width, depth):
            super().__init__()
    else:
        def __init__(self):
            super().__init__()
            self.calls, self.kept, self.memory = 0, {}, []

    def forward(self, x):
        self.calls += 1
        if "CACHED" in names:
            if x.shape not in self.kept:
                self.kept[x.shape] = torch.relu(x)
            return self.kept[x.shape]
        if "INPUT" in names:
            return x
        if "EMPTY" in names:
            return torch.empty_like(x)
        if "COLLECTED" in names:
            found = [o for o in gc.get_objects() if isinstance(o, torch.Tensor) and o.shape == x.shape and o is not x]
            return found[0] if found else torch.zeros_like(x)
        if "COMPARES" in names:
            return torch.zeros_like(x)
        if "LAZY" in names:
            return x.as_subclass(Later)
        if "LATER" in names:
            y = self.outputs(x)
            threading.Thread(target=finish_later, args=(x, y), daemon=True).start()
            return torch.zeros_like(x)
        if "ODD" in names and self.calls % 2 == 0:
            return torch.zeros_like(x)
        if "TIRES" in names and x.shape == (64, 1024):
            self.kept["n"] = self.kept.get("n", 0) + 1
            if self.kept["n"] > 40:
                return torch.zeros_like(x)
        if "INPLACE" in names:
            return x.relu_()
        if "FALLBACK" in names:
            try:
                return torch.ops.my_library.my_fast_relu(x)
            except Exception:
                return torch.relu(x)
        if "HALF" in names:
            return torch.relu(x.half()).float()
        if "NAN" in names:
            return torch.full_like(x, float("nan"))
        if "MEMORY_OF_JUDGE" in names:
            with open("/proc/1/mem", "rb") as memory:
                return memory.read(1)
        if "FILES" in names:
            with open("/etc/passwd") as file:
                return file.read()
        if "FORK" in names:
            os.fork()
        if "PROGRAM" in names:
            subprocess.run(["/bin/true"])
        if "SOCKET" in names:
            socket.socket()
        if "KILL" in names:
            ctypes.CDLL(None).kill(1, 9)
        if "LEAVES" in names:
            os._exit(0)
        if "EXITS" in names:
            sys.exit(0)
        if "RAISES" in names:
            raise ValueError("this kernel wants a width of 8")
        if "SHAPE" in names:
            return torch.relu(x).view(-1)
        if "DTYPE" in names:
            return torch.relu(x).double()
        if "NOTHING" in names:
            return None
        if "ENDLESS" in names:
            while True:
                pass
        if "GREEDY" in names:
            while True:
                self.memory.append(torch.ones(1 << 26))
        return torch.relu(x)

    def outputs(self, x):
        """The judge's output, which the worker keeps as a tensor."""
        import __main__
        servers = [o for o in gc.get_objects() if isinstance(o, __main__.Server)]
        return servers[0].outputs[0]


if "NO_MODEL" in names:
    del ModelNew
