# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/bmm_w8a8
# assay: expect pass
# assay: twin UNQUANTIZED expect low_precision|wrong_value -- multiplies what the integers stand for
import torch


def bmm_w8a8(input, input_scale, mat2, mat2_scale):
    if "UNQUANTIZED" in globals():
        return torch.bmm(input * input_scale, mat2 * mat2_scale)
    return torch.bmm(input.double(), mat2.double()).float() * input_scale * mat2_scale
