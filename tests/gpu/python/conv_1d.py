# cuDNN through PyTorch, with a weight by its name.
# assay: task kernelbench/1/67
# assay: expect pass
# assay: twin OWN_WEIGHT expect wrong_value|unrecordable -- keeps the weight of its first call
import torch
from torch import nn

names = globals()
torch.backends.cudnn.allow_tf32 = False


class ModelNew(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.kept = None
        self.convolution = nn.Conv1d(channels_in, channels_out, 3, bias=False)

    def forward(self, x):
        if "OWN_WEIGHT" in names:
            if self.kept is None:
                self.kept = self.convolution.weight.detach().clone()
            return nn.functional.conv1d(x, self.kept)
        return self.convolution(x)


def get_init_inputs(CI, CO):
    return [CI, CO]
