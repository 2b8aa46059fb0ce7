"""What a module costs at other sizes, or whether it takes them at all."""
import torch
from torch.utils.flop_counter import FlopCounterMode

from .sizes import extent
from .substitutes import Largest, phase


def module_runner(source, dims, masks):
    """run() of Sizes for a module: on tensors without data where that works."""
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
                made.append(torch.zeros(shape, dtype=t.value.dtype) if t.value.shape != torch.Size(shape)
                            else t.value.clone())
        return made

    def once(binding):
        made = tensors(binding)
        n = len(source.inputs)
        with phase("record"), torch.no_grad(), FlopCounterMode(display=False) as flops, Largest() as largest:
            source.call(source.model, made[:n], made[n:])
        return max([largest.elements] + [t.numel() for t in made]), flops.get_total_flops()

    def run(binding):
        try:
            return once(binding)
        except (NotImplementedError, RuntimeError):
            if device[0] != "meta" or run.worked:
                raise
            device[0] = "cpu"
            return once(binding)
        finally:
            run.worked = True
    run.worked = False
    return run
