# SPDX-License-Identifier: Apache-2.0
"""allocator.py WORKER: PyTorch takes its memory from assay-lift.so, and says there which other streams use it."""
import ctypes
import os
import sys

import torch

folder = os.path.dirname(os.path.abspath(sys.argv[1]))
sys.path.insert(0, folder)
import worker

path = os.path.join(folder, "assay-lift.so")
told = []
kind = type(torch._C._cuda_customAllocator(1, 1))
original = kind.set_record_stream_fn
kind.set_record_stream_fn = lambda self, function: (told.append(function), original(self, function))
worker.use_allocator(path)
assert torch.cuda.memory.get_allocator_backend() == "pluggable"
assert told == [ctypes.cast(ctypes.CDLL(path).assay_lift_record_stream, ctypes.c_void_p).value], told
