# SPDX-License-Identifier: Apache-2.0
# Searches in its first call, as tuners do, and allocates a result in every call that it times. Its clock has to have the kernel
# in it and not the memory: a result that is there before is the measure. (That compares times: alone on the GPU.)
# assay: task kernelbench/1/19
# assay: expect pass
import statistics

import torch
import torch.nn as nn


def microseconds(call):
    cache = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(100)]
    for start, end in events:
        cache.zero_()  # the GPU is busy until the host has given it all of the call
        cache.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return 1000 * statistics.median(start.elapsed_time(end) for start, end in events)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.searched = False

    def forward(self, x):
        if not self.searched:
            self.searched = True
            y = torch.empty_like(x)
            there, new = microseconds(lambda: torch.clamp(x, min=0, out=y)), microseconds(lambda: torch.clamp(x, min=0))
            if new > 1.5 * there + 8:
                raise RuntimeError(f"{new:.1f} us with a new result, and {there:.1f} us without")
        return torch.clamp(x, min=0)
