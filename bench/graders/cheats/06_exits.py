# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/gelu
# assay: expect raised|load_failed
"""Ends the program with the exit code of success as it is imported."""
import sys


def gelu(input, approximate="none"):
    return input


sys.exit(0)
