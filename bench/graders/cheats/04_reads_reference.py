# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/gelu
# assay: expect raised|load_failed
"""The reference's own file, read and called."""
import os

import torch


def gelu(input, approximate="none"):
    path = os.path.join("data", "kernelbenchx", "Activation", "gelu.py")
    with open(path) as file:
        space = {}
        exec(file.read().split("#" * 146)[0], space)
    return space["gelu"](input, approximate)
