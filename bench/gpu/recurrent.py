#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's recurrent networks in single precision lose on a GPU, with cuDNN and without: 3/34's sizes, then each kind.

usage: recurrent.py      (some ten seconds of one GPU)

Errors are against double precision, rms and largest, and as bits of the mean absolute answer. TF32 is off.
"""
import torch

GATES = {"rnn_tanh": 1, "rnn_relu": 1, "lstm": 4, "gru": 3}


def loss(y, exact):
    error, mean = (y.double() - exact).abs(), exact.abs().mean()
    rms = error.pow(2).mean().sqrt()
    return f"rms {rms:.3g}, {-torch.log2(rms / mean):.1f} bits; largest {error.max():.3g}, {-torch.log2(error.max() / mean):.1f} bits"


def run(kind, tensors, dtype, cudnn):
    x, h, *weights = (t.to(dtype) for t in tensors)
    state = (h, h) if kind == "lstm" else h
    with torch.backends.cudnn.flags(enabled=cudnn, allow_tf32=False):
        return getattr(torch, kind)(x, state, weights, True, 1, 0.0, False, False, False)[0]


def compare(kind, steps, batch, inputs, hidden):
    def uniform(*extents):
        return (torch.rand(*extents, device="cuda") * 2 - 1) * (inputs + hidden) ** -0.5

    rows = GATES[kind] * hidden
    tensors = [torch.rand(steps, batch, inputs, device="cuda"), torch.rand(1, batch, hidden, device="cuda"),
               uniform(rows, inputs), uniform(rows, hidden), uniform(rows), uniform(rows)]
    exact = run(kind, tensors, torch.float64, False)
    for cudnn in (True, False):
        print(f"{kind} steps {steps} batch {batch} inputs {inputs} hidden {hidden} cudnn {cudnn}: "
              f"{loss(run(kind, tensors, torch.float32, cudnn), exact)}")


def tanh_alone(count=1 << 18, hidden=64):
    """One step without a state, the weights an identity: what is left is the function."""
    x = torch.rand(1, count // hidden, hidden, device="cuda") * 8 - 4
    eye, zeros = torch.eye(hidden, device="cuda"), torch.zeros(hidden, device="cuda")
    exact = torch.tanh(x.double())
    for cudnn in (True, False):
        y = run("rnn_tanh", [x, torch.zeros_like(x), eye, eye * 0, zeros, zeros], torch.float32, cudnn)
        error = ((y.double() - exact) / exact).abs()
        print(f"tanh alone, cudnn {cudnn}: largest relative error {error.max():.3g} at {x.flatten()[error.argmax()]:.4g}")
    error = ((torch.tanh(x).double() - exact) / exact).abs()
    print(f"torch.tanh: largest relative error {error.max():.3g}")


def main():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(torch.__version__, torch.cuda.get_device_name(), "cuDNN", torch.backends.cudnn.version())
    compare("rnn_tanh", 256, 8, 1024, 256)
    for kind in GATES:
        compare(kind, 64, 8, 64, 64)
    tanh_alone()


if __name__ == "__main__":
    main()
