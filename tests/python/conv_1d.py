# A module with a weight, which comes by its name, and with dimensions, which come from the workload.
# assay: task kernelbench/1/67
# assay: expect pass
# assay: twin OWN_WEIGHT expect pass -- keeps a copy of its first call's weight: it is made again for each call
# assay: twin BIAS expect wrong_value -- adds a parameter that the task does not have, with values of its own
# assay: twin UNUSED expect pass -- has one and does not use it
# assay: twin NO_WEIGHT expect load_failed -- lacks one that the task has
# assay: twin FIXED expect raised -- made for one workload only
# assay: twin DIMENSION expect load_failed -- asks for a dimension that there is not
import torch
from torch import nn

names = globals()


class ModelNew(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.kept = None
        if "UNUSED" in names:
            self.bias = nn.Parameter(torch.randn(channels_out))
        if "NO_WEIGHT" in names:
            self.convolution = lambda x: torch.zeros(x.shape[0], channels_out, x.shape[2] - 2)
        else:
            self.convolution = nn.Conv1d(channels_in, channels_out, 3, bias="BIAS" in names)

    def forward(self, x):
        if "OWN_WEIGHT" in names:
            if self.kept is None:
                self.kept = self.convolution.weight.detach().clone()
            return nn.functional.conv1d(x, self.kept)
        return self.convolution(x)


if "FIXED" in names:
    def get_init_inputs():
        return [32, 64]
elif "DIMENSION" in names:
    def get_init_inputs(WIDTH):
        return [WIDTH, WIDTH]
else:
    def get_init_inputs(CI, CO):
        return [CI, CO]
