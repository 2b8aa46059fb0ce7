# SPDX-License-Identifier: Apache-2.0
"""The six functions of KernelBench-X's Quantization as their descriptions ask for them: fp32 numbers come in, are quantized
at run time, multiplied as integers, and scaled back. Products are exact, so that nothing but the quantization errs."""
import torch
import torch.nn.functional as F


def integers(x, dims, most=127, least=-127):
    """(integers as float64, scale): symmetric, one scale for all of `dims`."""
    scale = x.abs().amax(dims, keepdim=True) / most
    return (x / scale.clamp(min=1e-30)).round().clamp(least, most).double(), scale


def matmul_w8a8(input, weight):
    a, s = integers(input, -1)
    b, t = integers(weight, 0)
    return (a @ b).float() * s * t


def bmm_w8a8(input, mat2):
    a, s = integers(input, -1)
    b, t = integers(mat2, -2)
    return (a @ b).float() * s * t


def conv2d_w8a8(input, weight, bias=None, stride=1, padding=0):
    a, s = integers(input, (0, 1, 2, 3))
    b, t = integers(weight, (1, 2, 3))
    y = F.conv2d(a, b, None, stride, padding).float() * s * t.view(1, -1, 1, 1)
    return y if bias is None else y + bias.view(1, -1, 1, 1)


def attention_w8a8(query, key, value):
    q, s = integers(query / query.size(-1) ** 0.5, -1)
    k, t = integers(key, -1)
    v, u = integers(value, -1)
    scores = (q @ k.transpose(-2, -1)).float() * s * t.transpose(-2, -1)
    return torch.softmax(scores, -1) @ (v.float() * u)


def layernorm_w8a8(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    y, s = integers(F.layer_norm(input, normalized_shape, weight, bias, eps), -1)
    return y.float() * s


def linear_w4a16(input, weight, bias=None):
    w, s = integers(weight.float(), -1, 7, -8)
    y = input.float() @ (w.float() * s).T
    return (y if bias is None else y + bias.float()).half()
