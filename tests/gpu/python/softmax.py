# torch.compile: kernels that Triton makes while it is called.
# assay: task kernelbench/1/23
# assay: expect pass
# assay: twin EAGER expect pass
import torch

names = globals()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.run = torch.softmax if "EAGER" in names else torch.compile(torch.softmax)

    def forward(self, x):
        return self.run(x, 1)
