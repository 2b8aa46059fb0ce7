# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/gelu
# assay: expect wrong_value
"""The function that the reference calls is as wrong as the candidate."""
import torch


def gelu(input, approximate="none"):
    return input * 0.5


torch.nn.functional.gelu = gelu
