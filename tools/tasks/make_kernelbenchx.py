#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbenchx/CATEGORY/*.onnxtxt from the tables in kernelbenchx/, and the table in docs/kernelbenchx.md.

`tools/tasks/make_kernelbenchx.py` rewrites the files, `tools/tasks/make_kernelbenchx.py --check` fails when one differs.
Signatures, sizes and constants are those of KernelBench-X; every graph is written anew in ONNX's textual syntax.
"""
from kernelbenchx import (activation, chance, convolution, fusion, index, linear_algebra, loss, mathematics, matrix, normalization,
                          optimizer, pooling, quantization, reduce, spatial)  # each adds its tasks to SUITE
from kernelbenchx.suite import SUITE

if __name__ == "__main__":
    SUITE.main()
