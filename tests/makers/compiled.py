#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles Triton candidates for a GPU that is not there: every configuration, down to the cubin.

usage: compiled.py ASSAY FILE... [--capability 90] [--shared 232448] [--workload small]

Each file's ModelNew is called with tensors of the workload's shapes; instead of a launch, the kernel is compiled for
what it was called with. Prints a line for each configuration: registers, spilled bytes, shared bytes, or why it does not
compile. Exit code 1: a kernel of which none fits.
"""
import importlib.util
import json
import re
import subprocess
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.autotuner import Autotuner

TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float": torch.float32, "int64": torch.int64}


def option(name, default):
    return sys.argv.pop(sys.argv.index(name) + 1) if name in sys.argv and not sys.argv.remove(name) else default


def signature_of(value):
    if isinstance(value, torch.Tensor):
        return {torch.bfloat16: "*bf16", torch.float16: "*fp16", torch.float32: "*fp32", torch.int64: "*i64"}[value.dtype]
    if isinstance(value, float):
        return "fp32"
    return "i32" if -2**31 <= value < 2**31 else "i64"


class Compile:
    def __init__(self, target, most_shared):
        self.target, self.most_shared, self.fits = target, most_shared, {}

    def run(self, tuner, *arguments, **named):
        function = tuner.base_fn.__name__
        for config in tuner.configs:
            given = {**dict(zip(tuner.arg_names, arguments)), **named, **config.kwargs}
            given = {name: given[name] for name in tuner.arg_names}
            constants = {p.name for p in tuner.fn.params if p.is_constexpr} | {n for n, v in given.items() if v is None}
            signature = {n: "constexpr" if n in constants else signature_of(v) for n, v in given.items()}
            attributes = {(i,): [["tt.divisibility", 16]] for i, (n, v) in enumerate(given.items())
                          if n not in constants and (isinstance(v, torch.Tensor) or (isinstance(v, int) and v % 16 == 0))}
            source = ASTSource(tuner.fn, signature, {n: given[n] for n in constants}, attributes)
            found = triton.compile(source, target=self.target,
                                   options={"num_warps": config.num_warps, "num_stages": config.num_stages})
            fits = found.metadata.shared <= self.most_shared
            self.fits[function] = self.fits.get(function, False) or fits
            usage = re.findall(r"\.reg \.(\w+)", found.asm["ptx"])
            print(f"{function} {config}: {len(found.asm['cubin'])} bytes, shared {found.metadata.shared}"
                  f"{'' if fits else ': too much'}, {len(usage)} kinds of registers", flush=True)


def tensors_of(assay, task, workload):
    shown = json.loads(subprocess.run([assay, "show", task, "--json"], check=True, capture_output=True).stdout)
    sizes = dict(re.findall(r"(\w+)=(\d+)", re.search(rf'"assay.workload.{workload}" : "([^"]*)"', shown["onnx"])[1]))
    parameters = re.search(r"\n\w+ \((.*?)\) =>", shown["onnx"])[1]
    static = set(re.findall(r'"assay.input.(\w+)" : "[^"]* static"', shown["onnx"]))
    inputs, dims = [], {name: int(size) for name, size in sizes.items()}
    for dtype, shape, name in re.findall(r"(\w+)\[([^\]]*)\] (\w+)", parameters):
        extents = [dims.get(d.strip()) or int(d) for d in shape.split(",")]
        if name not in static:
            inputs.append(torch.zeros(extents, dtype=TYPES[dtype]))
    return inputs, dims


def main():
    capability, shared = int(option("--capability", 90)), int(option("--shared", 232448))
    workload = option("--workload", "small")
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    work = Compile(GPUTarget("cuda", capability, 32), shared)
    Autotuner.run = lambda tuner, *arguments, grid=None, warmup=False, **named: work.run(tuner, *arguments, **named)
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        spec = importlib.util.spec_from_file_location("candidate", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        inputs, dims = tensors_of(sys.argv[1], re.search(r"assay: task (\S+)", text)[1], workload)
        arguments = []
        if hasattr(module, "get_init_inputs"):
            wanted = module.get_init_inputs.__code__.co_varnames[:module.get_init_inputs.__code__.co_argcount]
            arguments = module.get_init_inputs(*(dims[name] for name in wanted))
        print(path)
        module.ModelNew(*arguments)(*inputs)
    sys.exit(any(not fits for fits in work.fits.values()))


if __name__ == "__main__":
    main()
