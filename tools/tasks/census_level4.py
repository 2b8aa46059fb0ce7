#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/tasks/level4_census.csv: what the originals of level 4 take, give, hold and multiply, by transformers.

usage: census_level4.py CHECKOUT > tests/tasks/level4_census.csv      (needs the packages torch and transformers)

Every published file is run at its own sizes on PyTorch's device "meta", which has shapes and no data. Parameters that no
result depends on are not counted, a parameter that has two names counts once, and multiply-adds are those of PyTorch's
counter (two operations each), with attention that sees all of a sequence, also in BigBird (5), as the task's graph has it.
"""
import pathlib
import sys
from unittest.mock import patch

import torch
from torch.utils.flop_counter import FlopCounterMode

from originals import level4, module
from originals.task import tasks_of


def counted(task, path, change=lambda config: None):
    """(ids' shape, logits' shape, parameters, operations)"""
    sizes = task.sizes("full")
    with level4.around(sizes, change), torch.device("meta"), torch.no_grad():
        names = module.executed(path.read_text(), path, {})
        model, ids = names["Model"](*names["get_init_inputs"]()).eval(), names["get_inputs"]()[0]
        # Reformer asks for its last position; others look for padding among the ids, and would only warn of it, or ask
        # whether a mask hides nothing.
        values = patch.multiple(torch.Tensor, item=lambda _: sizes["S"] - 1, __bool__=lambda _: True)
        with FlopCounterMode(display=False) as counter, values:
            logits = model(ids)
    owned = level4.inputs_of(task, model)
    total = sum(p.numel() for name, p in model.named_parameters(remove_duplicate=False) if owned[name])
    return ids.shape, logits.shape, total, counter.get_total_flops()


def main():
    print("id,inputs,output,parameters,contraction_flops")
    for task in tasks_of(4):
        path = next((pathlib.Path(sys.argv[1]) / "KernelBench" / "level4").glob(f"{task.number}_*.py"))
        full = lambda config: setattr(config, "attention_type", "original_full")
        ids, logits, parameters, operations = counted(task, path, full)
        by = lambda shape: "x".join(map(str, shape))
        print(f"{task.number},{by(ids)}:int64,{by(logits)}:float32,{parameters},{operations}", flush=True)


if __name__ == "__main__":
    main()
