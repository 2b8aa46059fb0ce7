# A module that takes a number as well as its tensor, as the suite's own does.
# assay: task kernelbench/1/5
# assay: expect pass
# assay: twin INSIDE expect pass -- takes none and has it inside
# assay: twin OTHER expect wrong_value -- does as it likes with it
import torch

if "INSIDE" in globals():
    class ModelNew(torch.nn.Module):
        def forward(self, A):
            return A * 3.14
else:
    class ModelNew(torch.nn.Module):
        def forward(self, A, s):
            return A * (s + 1 if "OTHER" in globals() else s)
