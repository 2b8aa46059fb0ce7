# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin LIES expect wrong_value -- a tensor that says it has the right shape
# assay: twin WORKER expect pass -- the worker's own function for a call is another: too late, it is called by its address
# assay: twin LURKS expect late_work -- a thread of Python that looks at the inputs between calls
# assay: twin TIMER expect forbidden_call -- asks for a signal between calls
"""What a module may hand back, and what it may do to the process that calls it: nothing of either decides."""
import gc
import signal
import threading

import torch

names = globals()


class Lies(torch.Tensor):
    @property
    def shape(self):
        return self.told


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.thread = None

    def forward(self, x):
        if "LIES" in names:
            y = torch.relu(x[:1]).as_subclass(Lies)
            y.told = x.shape
            return y
        if "WORKER" in names:
            for found in gc.get_objects():
                if type(found).__name__ == "Server" and hasattr(found, "spot"):
                    found.call = lambda nothing: None
        if "LURKS" in names and not self.thread:
            def look():
                while True:
                    torch.relu(x)
            self.thread = threading.Thread(target=look, daemon=True)
            self.thread.start()
        if "TIMER" in names:
            signal.signal(signal.SIGALRM, lambda *arguments: torch.relu(x))
            signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        return torch.relu(x)
