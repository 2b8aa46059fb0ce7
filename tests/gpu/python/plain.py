# PyTorch alone: no kernel of its own.
# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin CACHED expect wrong_value|unrecordable -- its first answer for ever: a copy of a constant
# assay: twin INPUT expect wrong_value -- hands the input back, which becomes a copy
# assay: twin READS expect unrecordable -- decides on the host by what the data are
# assay: twin COUNTS expect unrecordable -- another launch in every other call
# assay: twin INPLACE expect wrote_input
# assay: twin FALLBACK expect pass -- its own way fails and PyTorch's is taken, silently
# assay: twin SIDE expect unrecordable -- a stream that nobody waits for
# assay: twin JOINED expect pass -- a stream that is waited for
# assay: twin CLOCKS expect pass -- patches PyTorch's clocks, which nobody asks
# assay: twin RAISES expect raised
import time

import torch

names = globals()
if "CLOCKS" in names:
    time.perf_counter = time.time = time.monotonic = lambda: 0.0
    torch.cuda.Event.elapsed_time = lambda *arguments: 1e-9
    torch.cuda.synchronize = lambda *arguments: None


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.kept, self.stream = 0, None, None

    def forward(self, x):
        self.calls += 1
        if "CACHED" in names:
            if self.kept is None:
                self.kept = torch.relu(x)
            return self.kept
        if "INPUT" in names:
            return x
        if "READS" in names and x.max().item() <= 0:
            return torch.zeros_like(x)
        if "COUNTS" in names and self.calls % 2:
            return torch.relu(torch.relu(x))
        if "INPLACE" in names:
            return x.relu_()
        if "FALLBACK" in names:
            try:
                return torch.ops.my_library.my_fast_relu(x)
            except Exception:
                return torch.relu(x)
        if "SIDE" in names or "JOINED" in names:
            self.stream = self.stream or torch.cuda.Stream()
            main = torch.cuda.current_stream()
            self.stream.wait_stream(main)
            with torch.cuda.stream(self.stream):
                y = torch.relu(x)
            if "JOINED" in names:
                main.wait_stream(self.stream)
            return y
        if "RAISES" in names:
            raise ValueError("this kernel wants a width of 8")
        return torch.relu(x)
