#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes copies of Triton and Helion candidates that run without a GPU, in their interpreters on NumPy and PyTorch.

usage: interpreted.py FOLDER OUT        then: assay bench fusedops --from OUT --device cpu --workload ragged1 --no-timing

The copies differ from the originals by a head alone. Of the configurations that a file gives to Triton's autotuner one is
taken, the one that `--define TRY=N` names (0), and nothing is timed. Triton 3.6's interpreter cuts single precision off
to bf16, where a GPU rounds, and multiplies the bits of bf16 numbers in products: both are put right here.
"""
import glob
import os
import sys

HEAD = '''# -- what stands above the line of dashes is tests/makers/interpreted.py's
import os
os.environ["TRITON_INTERPRET"] = "1"
import numpy
import triton
import triton.language as tl
from triton.runtime import autotuner, interpreter

def _wide(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)

def _narrow(x):  # to nearest, ties to even; NaN stays NaN
    bits = numpy.ascontiguousarray(x).view(numpy.uint32)
    rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    return numpy.where(numpy.isnan(x), bits >> 16 | 0x40, rounded).astype(numpy.uint16)

def _convert(x, source, target, mode, other=interpreter._convert_float):
    if (source, target) == (tl.float32, tl.bfloat16):
        return _narrow(x)
    if (source, target) == (tl.bfloat16, tl.float32):
        return _wide(x)
    return other(x, source, target, mode)

def _dot(self, a, b, d, precision, imprecise, other=interpreter.InterpreterBuilder.create_dot):
    if a.dtype.scalar != tl.bfloat16:
        return other(self, a, b, d, precision, imprecise)
    product = numpy.matmul(_wide(a.data), _wide(b.data), dtype=numpy.float32)
    return interpreter.TensorHandle(product + d.data, d.dtype.scalar)

interpreter._convert_float = _convert
interpreter.InterpreterBuilder.create_dot = _dot
autotuner.Autotuner.prune_configs = lambda self, named: [self.configs[int(globals().get("TRY", 0)) % len(self.configs)]]
autotuner.Autotuner.do_bench = staticmethod(lambda call, quantiles: [1.0, 1.0, 1.0])
# ------------------------------------------------------------------------------
'''


HELION_HEAD = '''# -- what stands above the line of dashes is tests/makers/interpreted.py's
import os
os.environ["HELION_INTERPRET"] = "1"
import functools
import torch

def _wide(product):  # PyTorch has products of bf16 with sums in single precision on GPUs alone
    @functools.wraps(product)
    def wide(a, b, out_dtype=None):
        return product(a, b) if out_dtype is None else product(a.to(out_dtype), b.to(out_dtype))
    return wide

torch.mm, torch.bmm = _wide(torch.mm), _wide(torch.bmm)
# ------------------------------------------------------------------------------
'''


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.makedirs(sys.argv[2], exist_ok=True)
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.py"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(sys.argv[2], os.path.basename(path)), "w", encoding="utf-8") as file:
            file.write((HELION_HEAD if "import helion" in text else HEAD) + text)


if __name__ == "__main__":
    main()
