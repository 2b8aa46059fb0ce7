"""worker_device.py WORKER: what worker.py does with a GPU's buffers, on ordinary memory: where it says "cuda", this test
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
        return self.lin(x)[i]


def get_init_inputs(N):
    return [N]
"""
NUMBERS = {torch.float32: 1, torch.int64: 7}
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


def as_argument(worker, tensor):
    argument = worker.Tensor()
    argument.data = tensor.data_ptr()
    argument.dims = (ctypes.c_int64 * 8)(*tensor.shape)
    argument.rank = tensor.dim()
    argument.dtype = NUMBERS[tensor.dtype]
    return argument


class Workload:
    def __init__(self, worker, n):
        self.x, self.i = torch.rand(5, 4), torch.tensor([0, 2])
        self.weight, self.bias, self.y = torch.rand(n, 4), torch.rand(n), torch.full((2, n), float("nan"))
        inputs = [as_argument(worker, tensor) for tensor in (self.x, self.i, self.weight, self.bias)]
        self.args = worker.Args()
        self.args.n_inputs, self.args.n_outputs = 4, 1
        self.args.inputs = (worker.Tensor * 4)(*inputs)
        self.args.outputs = (worker.Tensor * 1)(as_argument(worker, self.y))
        names = [("x", False), ("i", False), ("lin_weight", True), ("lin_bias", True)]
        self.sheet = json.dumps({"task": "t", "symbols": {"N": n}, "init": None, "outputs": ["y"],
                                 "inputs": [{"name": name, "static": static} for name, static in names]})

    def is_right(self):
        return torch.allclose(self.y, (self.x @ self.weight.T + self.bias)[self.i])


def main(path):
    worker = load_worker(path)
    without_a_gpu(worker)
    with tempfile.TemporaryDirectory() as folder:
        candidate = os.path.join(folder, "candidate.py")
        with open(candidate, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        server = worker.Server(candidate, [], "cuda")
        first, second = Workload(worker, 3), Workload(worker, 7)
        server.bind(first.args, first.sheet)
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
        server.bind(second.args, second.sheet)
        server.call(0)
        assert second.is_right()


main(sys.argv[1])
