# SPDX-License-Identifier: Apache-2.0
"""device.py WORKER: what worker.py does with a GPU's buffers, on ordinary memory: where it says "cuda", this test
has PyTorch take the CPU. Two workloads of a module with weights and an index, and calls for nothing."""
import ctypes
import importlib.util
import json
import os
import sys
import tempfile

import torch

SOURCE = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = torch.nn.Linear(4, n)

    def forward(self, x, i):
        if i.min() < 0 or i.max() >= self.lin.out_features:  # a kernel would read beyond the end
            raise IndexError(f"{i} of {self.lin.out_features}")
        return self.lin(x).T[i].T[:2]


def get_init_inputs(N):
    return [N]
"""
# Captures a graph in its first call, as candidates do, and replays it in the others.
CAPTURES = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = torch.nn.Linear(4, n)
        self.graph = None

    def work(self):
        self.y.copy_(self.lin(self.x).T[self.i].T[:2])

    def forward(self, x, i):
        if self.graph is None:
            self.x, self.i, self.y = x.clone(), i.clone(), torch.empty(2, 2)
            graph = torch.cuda.CUDAGraph()
            graph.capture(self.lin, self.x, self.i, self.y)
            self.graph = {"replay": lambda: graph.replay()} if HIDES else graph
        self.x.copy_(x)
        self.i.copy_(i)
        self.graph["replay"]() if HIDES else self.graph.replay()
        return self.y


def get_init_inputs(N):
    return [N]
"""
NUMBERS = {torch.float32: 1, torch.int64: 7}
PLAIN = {"scale": [1, 1]} | dict.fromkeys(["softmax", "symmetric", "triu", "tril", "regular", "definite"], False)
waits = 0


def load_worker(path):
    spec = importlib.util.spec_from_file_location("worker", path)
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    return worker


def without_a_gpu(worker):
    zeros = torch.zeros

    def wait():
        global waits
        waits += 1

    def at_device(address, size, dtype, shape):
        memory = (ctypes.c_char * size).from_address(address)
        return torch.frombuffer(memory, dtype=torch.uint8).view(dtype).view(shape)

    torch.zeros = lambda *sizes, device=None, **options: zeros(*sizes, **options)
    torch.cuda.synchronize = wait
    torch.nn.Module.to = lambda self, device: self
    worker.at_device = at_device


class Graph:
    """Reads the memory that it was captured with, like CUDA's."""

    def capture(self, lin, x, i, y):
        self.weight, self.bias, self.x, self.i, self.y = lin.weight.data, lin.bias.data, x, i, y

    def replay(self):
        self.y.copy_((self.x @ self.weight.T + self.bias).T[self.i].T[:2])


def as_argument(worker, tensor):
    argument = worker.Tensor()
    argument.data = tensor.data_ptr()
    argument.dims = (ctypes.c_int64 * 8)(*tensor.shape)
    argument.rank = tensor.dim()
    argument.dtype = NUMBERS[tensor.dtype]
    return argument


class Workload:
    def __init__(self, worker, n):
        self.x, self.i = torch.rand(5, 4), torch.tensor([0, min(2, n - 1)])
        self.weight, self.bias, self.y = torch.rand(n, 4), torch.rand(n), torch.full((2, 2), float("nan"))
        inputs = [as_argument(worker, tensor) for tensor in (self.x, self.i, self.weight, self.bias)]
        self.args = worker.Args()
        self.args.n_inputs, self.args.n_outputs = 4, 1
        self.args.inputs = (worker.Tensor * 4)(*inputs)
        self.args.outputs = (worker.Tensor * 1)(as_argument(worker, self.y))
        index = {"kind": "integers", "a": 0, "b": n, **PLAIN}
        names = [("x", False, None), ("i", False, index), ("lin_weight", True, None), ("lin_bias", True, None)]
        self.workload = json.dumps({"task": "t", "symbols": {"N": n}, "init": None, "outputs": ["y"],
                                 "inputs": [{"name": name, "static": static, "draw": draw} for name, static, draw in names]})

    def is_right(self):
        return torch.allclose(self.y, (self.x @ self.weight.T + self.bias).T[self.i].T[:2])


def main(path):
    worker = load_worker(path)
    without_a_gpu(worker)
    with tempfile.TemporaryDirectory() as folder:
        candidate = os.path.join(folder, "candidate.py")
        with open(candidate, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        server = worker.Server(candidate, [], "cuda")
        first, second, one = Workload(worker, 3), Workload(worker, 7), Workload(worker, 1)
        server.bind(first.args, first.workload)
        server.call(1)  # before the candidate is there
        assert first.y.isnan().all()
        server.load()
        assert first.y.isnan().all()  # warming up writes no output
        before = waits
        server.call(0)
        assert first.is_right() and waits > before
        first.x.mul_(2), first.weight.mul_(3)  # the judge's: the next call sees them
        server.call(0)
        assert first.is_right()
        server.bind(second.args, second.workload)
        server.call(0)
        assert second.is_right()
        server.bind(one.args, one.workload)  # warming up has indices of the task's own kind, of which there is one here
        server.call(0)
        assert one.is_right()
        captures(worker, folder)
    draws(worker)


def captures(worker, folder):
    torch.cuda.CUDAGraph = Graph
    for hides in (False, True):
        candidate = os.path.join(folder, f"captures_{hides}.py")
        with open(candidate, "w", encoding="utf-8") as file:
            file.write(f"HIDES = {hides}\n{CAPTURES}")
        server = worker.Server(candidate, [], "cuda")
        server.load()
        for n in (3, 7):
            bound = Workload(worker, n)
            server.bind(bound.args, bound.workload)
            for factor in (1, 2, 3):
                bound.x.mul_(factor), bound.weight.mul_(factor)
                server.call(0)
                assert bound.is_right(), (hides, n, factor)


def draws(worker):
    """Data where not any will do."""
    def drawn(kind, a, b, dtype=torch.float32, shape=(64, 64), **modifiers):
        tensor = torch.full(shape, 7, dtype=dtype)
        told = {"kind": kind, "a": a, "b": b, **PLAIN, **modifiers}
        worker.fill_tensors([tensor], [{"draw": told}], -2, 3)
        return tensor

    assert set(drawn("integers", -1, 2, torch.int64).unique().tolist()) == {-1, 0, 1}
    assert drawn("integers", 0, 1, torch.int64).eq(0).all()
    assert set(drawn("signs", 0, 0).unique().tolist()) == {-1, 1}
    assert set(drawn("bernoulli", 0.5, 0).unique().tolist()) == {0, 1}
    assert drawn("bernoulli", 0.5, 0, torch.bool).any()
    assert drawn("constant", 2.5, 0).eq(2.5).all()
    uniform, mass = drawn("uniform", 0.25, 0.5), drawn("normal", 0, 1, softmax=True)
    assert uniform.min() >= 0.25 and uniform.max() <= 0.5 and uniform.std() > 0.05
    assert torch.allclose(mass.sum(-1), torch.ones(64)) and mass.min() > 0
    assert torch.equal(lower := drawn("normal", 0, 1, tril=True), lower.tril()) and lower.std() > 0.1
    scaled = drawn("constant", 1, 0, scale=[3, 4])
    assert scaled.eq(scaled[0, 0]).all() and 3 <= scaled[0, 0] <= 4
    # What Cholesky's factorization takes, and what has an inverse.
    for dtype in torch.float32, torch.float64:
        matrices = drawn("uniform", -1, 1, dtype, (3, 96, 96), definite=True)
        assert torch.equal(matrices, matrices.mT) and torch.linalg.cholesky_ex(matrices).info.eq(0).all()
    for modifiers in {}, {"symmetric": True}, {"triu": True}, {"tril": True}:
        for shape in (96, 96), (2, 31, 31):
            matrices = drawn("normal", 0, 1, shape=shape, regular=True, **modifiers)
            assert torch.linalg.cond(matrices).max() < 1e4, modifiers
            assert not modifiers.get("symmetric") or torch.equal(matrices, matrices.mT)
    assert torch.linalg.svdvals(drawn("normal", 0, 1, shape=(64, 40), regular=True)).min() > 1e-3
    # Indices that are all different, seeds of which some are alike, ends of groups.
    assert torch.equal(drawn("permutation", 0, 64, torch.int64).sort(0).values, torch.arange(64)[:, None].expand(64, 64))
    few = drawn("permutation", 0, 99, torch.int32, (7,))
    assert len(few.unique()) == 7 and few.min() >= 0 and few.max() < 99
    seeds = drawn("seeds", 0, 0, torch.int64, (16,))
    assert len(seeds.unique()) <= 4 and seeds.min() >= 0 and seeds.max() < 1 << 52
    ends = drawn("partition", 0, 1000, torch.int32, (5, 8))
    assert ends.diff(dim=-1).ge(0).all() and ends.min() >= 0 and ends[..., -1].eq(1000).all() and len(ends.unique()) > 5
    for dtype in torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2:
        any_data = torch.zeros(64, dtype=dtype)
        worker.fill_tensors([any_data], [{"name": "x"}], -2, 3)
        assert any_data.float().min() < 0 < any_data.float().max()


main(sys.argv[1])
