# A convolution in single precision: cuDNN's, without the tf32 that PyTorch allows it. (KernelBench compares with a
# reference that may use tf32, to 1e-4.)
# beside: honest
# assay: task kernelbench/1/50
# assay: expect pass
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_classes=1000, channels_in=3, channels_out=96):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, kernel_size=11, stride=4, padding=2)

    def forward(self, x):
        allowed = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = False
        y = self.conv1(x)
        torch.backends.cudnn.allow_tf32 = allowed
        return y


def get_init_inputs(CI, CO):  # Assay's workloads have other channels; KernelBench has its own get_init_inputs
    return [1000, CI, CO]
