# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/layernorm_w8a8
# assay: expect pass
# assay: twin UNSCALED expect low_precision|wrong_value -- the norm of the integers, whose epsilon is another one
import torch
import torch.nn.functional as F


def layernorm_w8a8(input, input_scale, weight, bias):
    x = input.float() if "UNSCALED" in globals() else input * input_scale
    y = F.layer_norm(x, weight.shape, weight, bias, 1e-5)
    return y, y.abs().amax(-1) / 127
