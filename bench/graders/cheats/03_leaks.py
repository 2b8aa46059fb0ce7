# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/gelu
# assay: expect wrong_value
"""A wrong GELU; 03_leaks_before.py, a right ReLU that was graded earlier, made the reference as wrong."""


def gelu(input, approximate="none"):
    return input * 0.25
