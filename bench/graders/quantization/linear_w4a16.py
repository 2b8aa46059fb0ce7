# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/linear_w4a16
# assay: expect pass
# assay: twin SWAPPED expect wrong_value -- the high bits of a byte first
import torch


def linear_w4a16(input, weight, scale, bias):
    pair = (weight & 15, weight >> 4)
    bits = torch.stack(pair[::-1] if "SWAPPED" in globals() else pair, 2).flatten(1).to(torch.int32)
    w = ((bits ^ 8) - 8).half() * scale
    return (input.float() @ w.float().T + bias.float()).half()
