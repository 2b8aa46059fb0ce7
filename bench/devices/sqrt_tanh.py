# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Math/sqrt_tanh
"""The hyperbolic tangent from one exponential."""
import torch


def sqrt_tanh(input):
    e = torch.expm1(-2 * torch.sqrt(input))
    return -e / (e + 2)
