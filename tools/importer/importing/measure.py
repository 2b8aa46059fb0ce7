# SPDX-License-Identifier: Apache-2.0
"""What a module costs at other sizes, or whether it takes them at all."""
import logging
import math
import multiprocessing
import os
import resource

import torch

logging.getLogger("torch.utils.flop_counter").setLevel(logging.ERROR)  # it wants Triton for what is not asked here
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from . import Refused
from .sizes import extent
from .substitutes import Largest, phase

LARGEST_RUN = 1 << 24  # elements of all inputs: beyond, a source's own workloads are not run to see what they cost


class Child:
    """Calls of a function in a process of its own, since PyTorch's recurrent layers end the process when extents do not
    fit together. A call raises what the function raises, or RuntimeError when the process ended."""

    def __init__(self, function):
        self.function, self.process = function, None

    def __call__(self, argument):
        if self.process is None or not self.process.is_alive():
            self.start()
        self.ours.send(argument)
        try:
            result = self.ours.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError(f"the process ended with signal {-self.process.exitcode}") from None
        if isinstance(result, Exception):
            raise result
        return result

    def start(self):
        context = multiprocessing.get_context("fork")  # the module's file is not run again
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=self.serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def serve(self, channel):
        self.ours.close()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        torch.set_num_threads(1)  # threads do not survive a fork
        while True:
            try:
                argument = channel.recv()
            except EOFError:
                os._exit(0)
            try:
                result = self.function(argument)
            except Refused as e:
                result = e
            except Exception as e:  # of a kind that perhaps cannot be sent
                result = RuntimeError(f"{type(e).__name__}: {e}")
            channel.send(result)


def filler(shape, dtype):
    """Values of a tensor of another size: different ones, as they may choose what is computed, but no indices."""
    made = torch.zeros(shape, dtype=dtype)
    if dtype.is_floating_point:
        made.view(-1).copy_(torch.sin(torch.arange(made.numel(), dtype=torch.float32) * 1.7))
    return made


def module_runner(source, dims, masks):
    """run() of Sizes for a module: on tensors without data where that works, else in a child."""
    device = ["meta" if source.runs_without_data() else "cpu"]

    def tensors(binding):
        roles = source.inputs + [None] * masks + source.state
        made = []
        for t, row in zip(roles, dims):
            shape = [extent(d, binding) for d in row]
            if t is None:
                continue
            if device[0] == "meta":
                made.append(torch.empty(shape, dtype=t.value.dtype, device="meta"))
            else:
                made.append(t.value.clone() if t.value.shape == torch.Size(shape) else filler(shape, t.value.dtype))
        return made

    def once(binding):
        made = tensors(binding)
        n = len(source.inputs)
        with phase("record"), torch.no_grad(), FlopCounterMode(display=False) as flops, Largest() as largest:
            source.call(source.model, made[:n], made[n:])
        return max([largest.elements] + [t.numel() for t in made]), flops.get_total_flops()

    child = Child(once)

    def run(binding):
        if device[0] == "cpu" and source.workloads:  # those of others may be larger than this machine
            elements = sum(math.prod(extent(d, binding) for d in row) for row in dims)
            if elements > LARGEST_RUN:
                return elements, math.inf
        try:
            return once(binding) if device[0] == "meta" else child(binding)
        except Refused:
            raise
        except Exception:  # some of what a module calls asks where its tensors are
            if device[0] != "meta" or run.worked:
                raise
            device[0] = "cpu"
            return child(binding)
        finally:
            run.worked = True
    run.worked = False
    return run
