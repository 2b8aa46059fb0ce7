# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch in terms of others, where its exporter has no ONNX form or one that computes something else.

Numbers that are no float32 (a third, pi) are computed in the graph, so that the task means them as PyTorch does and not
a rounding of them: (1 / tensor of 3), acos(-1)."""
import math

import numpy
import torch

from . import Refused
from .fourier import FOURIER
from .linalg import LINEAR_ALGEBRA, hint

aten = torch.ops.aten
LATER = "later_opset"  # a domain for ONNX's operators that are newer than the opset PyTorch writes: export.py strips it


def number(x, value):
    return torch.full((), value, dtype=x.dtype, device=x.device)


def pi(x):
    return torch.acos(number(x, -1.0))


# ---- functions of one or two elements


def hardsigmoid(x):
    return (x + 3).clamp(0, 6) / 6


def atan2(y, x):
    angle = torch.atan(y / x)
    turned = torch.where(y >= 0, angle + pi(x), angle - pi(x))
    return torch.where((x == 0) & (y == 0), torch.zeros_like(angle), torch.where(x < 0, turned, angle))


def signbit(x):
    return torch.where(x == 0, 1 / x, x) < 0  # 1 / -0 is -inf


def copysign(x, y):
    return torch.where(signbit(y), -x.abs(), x.abs())


def copysign_number(x, y):
    return -x.abs() if math.copysign(1, y) < 0 else x.abs()


def fmax(x, y):
    return torch.where(torch.isnan(x) | (y > x), y, x)


def fmin(x, y):
    return torch.where(torch.isnan(x) | (y < x), y, x)


def hypot(x, y):
    x, y = x.abs(), y.abs()
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    ratio = torch.where(large == 0, torch.zeros_like(large), small / large)
    return large * torch.sqrt(1 + ratio * ratio)


def deg2rad(x):
    return x * (pi(x) / 180)


def rad2deg(x):
    return x * (180 / pi(x))


def sinc(x):
    t = x * pi(x)
    return torch.where(x == 0, torch.ones_like(x), torch.sin(t) / t)


# ---- norms and distances


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    dims = list(range(x.dim())) if dim is None else dim
    if ord in (1, 2) or math.isinf(ord):
        a = x.abs()
        if math.isinf(ord):
            return (a.amax if ord > 0 else a.amin)(dims, keepdim)
        return a.sum(dims, keepdim) if ord == 1 else torch.sqrt((x * x).sum(dims, keepdim))
    if ord == 0:
        return (x != 0).to(x.dtype).sum(dims, keepdim)
    base = x if ord > 0 and ord % 2 == 0 else x.abs()
    return torch.pow(base, ord).sum(dims, keepdim).pow(number(x, 1.0) / float(ord))


def unusual_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """ONNX's reductions where they are what is asked for."""
    return NotImplemented if ord in (0, 1, 2) or math.isinf(ord) else vector_norm(x, ord, dim, keepdim, dtype=dtype)


DISTANCE_ELEMENTS = 1 << 22  # of all differences; beyond, Euclidean distances go through a product, as PyTorch's do


def cdist(x, y, p=2.0, compute_mode=None):
    rows, columns, width = hint(x.shape[-2]), hint(y.shape[-2]), hint(x.shape[-1])
    if p == 2 and compute_mode != 2 and rows * columns * width > DISTANCE_ELEMENTS:
        squares = (x * x).sum(-1, True) + (y * y).sum(-1, True).transpose(-2, -1)
        return (squares - 2 * torch.matmul(x, y.transpose(-2, -1))).clamp(min=0).sqrt()
    return vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, [-1])


def pdist(x, p=2.0):
    i, j = torch.triu_indices(int(x.shape[0]), int(x.shape[0]), 1, device=x.device)
    return vector_norm(x[i] - x[j], p, [-1])


# ---- sequences


def kthvalue(x, k, dim=-1, keepdim=False):
    values, indices = torch.sort(x, dim=dim)
    values, indices = values.narrow(dim, k - 1, 1), indices.narrow(dim, k - 1, 1)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def median(x, dim, keepdim=False):
    return kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)


def median_of_all(x):
    return kthvalue(x.reshape(-1), (x.numel() + 1) // 2)[0]


def running_extreme(largest):
    """O(n^2), as neither ONNX nor Assay has such a scan: the extreme of what a triangle leaves."""
    def decomposed(x, dim):
        x = x.movedim(dim, -1)
        n = x.shape[-1]
        seen = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        values = torch.where(seen, x.unsqueeze(-2), -math.inf if largest else math.inf)
        values = values.amax(-1) if largest else values.amin(-1)
        at = torch.arange(n, device=x.device)  # the last place that has the extreme
        places = torch.where(seen & (x.unsqueeze(-2) == values.unsqueeze(-1)), at, -1).amax(-1)
        return values.movedim(-1, dim), places.movedim(-1, dim)
    return decomposed


def cumprod(x, dim, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    axis = torch.full((), dim, dtype=torch.int64, device=x.device)
    return torch.onnx.ops.symbolic(f"{LATER}::CumProd", (x, axis), dtype=x.dtype, shape=x.shape, version=1)


def vander(x, N=None):
    powers = x.unsqueeze(-1).expand(*x.shape, (x.shape[-1] if N is None else N) - 1)
    return torch.cat((torch.ones_like(x).unsqueeze(-1), cumprod(powers, -1)), -1)


IDENTITIES = {"sum": 0, "mean": 0, "prod": 1}


def identity(x, reduce):
    """What a reduction of x's type begins with."""
    if reduce in IDENTITIES:
        return IDENTITIES[reduce]
    limits = torch.finfo(x.dtype) if x.is_floating_point() else torch.iinfo(x.dtype)
    least, greatest = (-math.inf, math.inf) if x.is_floating_point() else (limits.min, limits.max)
    return least if reduce == "amax" else greatest


def mean_of(total, count):
    return total / count if total.is_floating_point() else torch.div(total, count, rounding_mode="floor")


def trimmed(src, index):
    """The part of src that index speaks of: PyTorch lets src be larger, ONNX does not."""
    for axis, (have, wanted) in enumerate(zip(src.shape, index.shape)):
        if hint(have) != hint(wanted):
            src = src.narrow(axis, 0, wanted)
    return src


def same_extents(src, index):
    return all(hint(a) == hint(b) for a, b in zip(src.shape, index.shape))


def scatter(x, dim, index, src):
    return NotImplemented if same_extents(src, index) else x.scatter(dim, index, trimmed(src, index))


def scatter_add(x, dim, index, src):
    return NotImplemented if same_extents(src, index) else x.scatter_add(dim, index, trimmed(src, index))


def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    """ONNX's ScatterElements has neither a mean nor a reduction that leaves out what was there."""
    if include_self and reduce != "mean" and same_extents(src, index):
        return NotImplemented
    src = trimmed(src, index)
    hits = torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(src))
    base = x if include_self else torch.where(hits > 0, torch.full_like(x, identity(x, reduce)), x)
    if reduce in ("sum", "mean"):
        made = base.scatter_add(dim, index, src)
        return made if reduce == "sum" else mean_of(made, hits + 1 if include_self else hits.clamp(min=1))
    return base.scatter_reduce(dim, index, src, reduce)


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    shape = [1] * x.dim()
    shape[dim] = -1
    everywhere = index.reshape(shape).expand_as(source)
    return x.scatter_reduce(dim, everywhere, source, reduce, include_self=include_self)


def scatter_and(x, dim, index, src, reduce):
    """scatter with a reduction; src may be a number."""
    src = src if isinstance(src, torch.Tensor) else torch.full_like(index, src, dtype=x.dtype)
    return x.scatter_reduce(dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])


def bincount(*_, **__):
    """Without minlength: with it, functions.bincount counts."""
    raise Refused("torch.bincount gives as many numbers as the greatest one that it counts says, so that data decide how "
                  "large the result is: where n numbers are enough, write torch.bincount(x, minlength=n)")


def masked_scatter(x, mask, source):
    """The places of the mask take the source's elements one after another."""
    x, mask = torch.broadcast_tensors(x, mask)
    number_of = torch.cumsum(mask.reshape(-1).to(torch.int64), 0) - 1
    taken = source.reshape(-1)[number_of.clamp(0, source.numel() - 1)].reshape(x.shape)
    return torch.where(mask, taken, x)


def stable_sort(x, *, stable, dim=-1, descending=False):
    """ONNX's TopK, which torch.sort becomes, keeps the order of what is equal."""
    return torch.sort(x, dim=dim, descending=descending)


def stable_argsort(x, *, stable, dim=-1, descending=False):
    return torch.sort(x, dim=dim, descending=descending)[1]


def searchsorted(sequence, x, *, out_int32=False, right=False, side=None, sorter=None):
    """How many of the sequence are below x, or not above; all, where x is no number."""
    if sorter is not None:
        sequence = torch.gather(sequence, -1, sorter)
    if sequence.dim() > 1:
        sequence = sequence.unsqueeze(-2)
    x = x.unsqueeze(-1)
    stays = sequence > x if right or side == "right" else sequence >= x
    below = torch.logical_not(stays).to(torch.int64).sum(-1)
    return below.to(torch.int32) if out_int32 else below


def bucketize(x, boundaries, *, out_int32=False, right=False):
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


def conv_tbc(x, weight, bias, pad=0):
    return torch.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def spread(x, axis, stride, before, size):
    """Along the axis: zeros between the elements, `before` of them at first, as many at last as it takes."""
    count = x.shape[axis]
    zeros = [0, 0] * (x.dim() - 1 - axis)
    if stride > 1:
        x = torch.nn.functional.pad(x.unsqueeze(axis + 1), [*zeros, 0, stride - 1]).flatten(axis, axis + 1)
        x = x.narrow(axis, 0, (count - 1) * stride + 1)
    return torch.nn.functional.pad(x, [*zeros, before, size - before - ((count - 1) * stride + 1)])


def col2im(x, output_size, kernel_size, dilation, padding, stride):
    """What each place of the kernel adds to the image, summed."""
    sides = [n + 2 * p for n, p in zip(output_size, padding)]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(sides, kernel_size, dilation, stride)]
    channels = x.shape[-2] // (kernel_size[0] * kernel_size[1])
    parts = x.reshape(*x.shape[:-2], channels, *kernel_size, *counts)
    image = 0
    for i in range(kernel_size[0]):
        for j in range(kernel_size[1]):
            part = parts.select(-4, i).select(-3, j)
            part = spread(part, part.dim() - 2, stride[0], i * dilation[0], sides[0])
            image = image + spread(part, part.dim() - 1, stride[1], j * dilation[1], sides[1])
    return image.narrow(-2, padding[0], output_size[0]).narrow(-1, padding[1], output_size[1])


def cosine_window(*hundredths):
    """a - b cos(t) + c cos(2 t), t from 0 to a whole turn."""
    def decomposed(n, periodic=True, *others, dtype=None, device=None, **rest):
        if others:
            return NotImplemented
        k = torch.arange(n, dtype=dtype or torch.get_default_dtype(), device=device)
        if n == 1:
            return torch.ones_like(k)
        turn = k * (2 * pi(k) / number(k, float(n if periodic else n - 1)))
        parts = [number(k, float(c)) / number(k, 100.0) * torch.cos(turn * i) for i, c in enumerate(hundredths)]
        return sum(parts[1:], parts[0])
    return decomposed


def linspace(start, end, steps, *, dtype=None, device=None, **rest):
    """PyTorch's own is made with a step of single precision, where the module runs with one of double."""
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point or isinstance(start, torch.Tensor) or isinstance(end, torch.Tensor):
        return NotImplemented
    k = torch.arange(steps, dtype=dtype, device=device)
    start, end = number(k, float(start)), number(k, float(end))
    return start + k * (end - start) / (steps - 1) if hint(steps) > 1 else start + k


# ---- pooling


def windows(size, count):
    """The parts of an axis that adaptive pooling looks at."""
    return [(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]


def adaptive(x, sizes, reduce):
    """Axis by axis: all windows of an output have the same shape along the others."""
    for axis, count in zip(range(x.dim() - len(sizes), x.dim()), sizes):
        parts = [reduce(x.narrow(axis, a, b - a), axis) for a, b in windows(int(x.shape[axis]), int(count))]
        x = parts[0] if len(parts) == 1 else torch.cat(parts, axis)
    return x


def adaptive_average(x, sizes):
    return adaptive(x, sizes, lambda part, axis: part.mean(axis, True))


def adaptive_max(x, sizes):
    """Values and places of the largest elements."""
    *rest, last = [int(d) for d in x.shape[-len(sizes):]]
    place = torch.arange(math.prod(rest) * last, device=x.device).reshape(*rest, last).expand_as(x)
    for axis, count in zip(range(x.dim() - len(sizes), x.dim()), sizes):
        values, places = [], []
        for a, b in windows(int(x.shape[axis]), int(count)):
            best, at = x.narrow(axis, a, b - a).max(axis, True)
            values.append(best)
            places.append(torch.gather(place.narrow(axis, a, b - a), axis, at))
        x, place = torch.cat(values, axis), torch.cat(places, axis)
    return x, place


# ---- images


def float_above(scale):
    """The least float32 that is not below the number: of what is a float32 it is the number itself. The scale next to
    0.7 is below it, and ten times that is less than 7, where PyTorch, which multiplies with 0.7, has 7 pixels."""
    near = numpy.float32(scale)
    return float(near if float(near) >= scale else numpy.nextafter(near, numpy.float32(numpy.inf)))


def scaled(op, can_align=True):
    """By sizes where corners are aligned: ONNX means another thing by a scale that gives no whole number."""
    def decomposed(x, output_size, *rest):
        *align, scales = rest
        if scales is None:
            return NotImplemented
        if can_align and align[0]:
            return op(x, [torch.sym_int(n * s) for n, s in zip(x.shape[2:], scales)], True, None)
        above = [float_above(s) for s in scales]
        return NotImplemented if above == list(scales) else op(x, None, *align, above)
    return decomposed


def linear_1d(x, output_size, align_corners, scales):
    """As an image of one row: PyTorch's exporter would write this one with gathers, and round places to float32."""
    row = x.unsqueeze(2)
    sizes = output_size
    if scales is not None and align_corners:
        sizes = [torch.sym_int(x.shape[2] * scales[0])]
    if sizes is not None:
        return aten.upsample_bilinear2d.vec(row, [1, *sizes], align_corners, None).squeeze(2)
    return aten.upsample_bilinear2d.vec(row, None, align_corners, [1.0, float_above(scales[0])]).squeeze(2)


# ---- losses


def class_shape(x):
    """Of one number for each class, along dimension 1 (or 0 of a vector)."""
    return [1, -1] + [1] * (x.dim() - 2) if x.dim() > 1 else [-1]


def reduced(loss, weights, reduction):
    """reduction: 0 none, 1 mean, 2 sum. weights: what a mean divides by the sum of."""
    return loss if reduction == 0 else loss.sum() if reduction == 2 else loss.sum() / weights


def cross_entropy(x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    axis = 1 if x.dim() > 1 else 0
    logs = torch.log_softmax(x, axis)
    per_class = None if weight is None else weight.reshape(class_shape(x))
    weighted = logs if weight is None else logs * per_class
    classes = x.shape[axis]
    if target.dtype.is_floating_point:
        smooth = target * (1 - label_smoothing) + label_smoothing / classes if label_smoothing else target
        loss = -(smooth * weighted).sum(axis)
        return reduced(loss, x.numel() // classes, reduction)
    valid = target != ignore_index
    label = torch.where(valid, target, torch.zeros_like(target)).unsqueeze(axis)
    kept = valid.to(x.dtype)
    loss = -torch.gather(weighted, axis, label).squeeze(axis) * kept
    share = kept if weight is None else torch.gather(per_class.expand_as(x), axis, label).squeeze(axis) * kept
    mean = reduced(loss, share.sum(), reduction)
    if not label_smoothing:
        return mean
    spread = reduced(-weighted.sum(axis) * kept, share.sum(), reduction)
    return (1 - label_smoothing) * mean + (label_smoothing / classes) * spread


def affine_grid(theta, size, align_corners):
    """Places are made of whole numbers: torch.linspace's ends, (n - 1) / n, are no float32."""
    sides = size[2:]

    def places(n):
        at = 2 * torch.arange(n, dtype=theta.dtype, device=theta.device) - (n - 1)
        return at / (n if not align_corners else n - 1 if n > 1 else 1)
    grids = torch.meshgrid([places(n) for n in sides], indexing="ij")
    base = torch.stack([*reversed(grids), torch.ones_like(grids[0])], -1).reshape(-1, len(sides) + 1)
    return torch.matmul(base, theta.mT).reshape(size[0], *sides, len(sides))


def plain_cross_entropy(x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    """ONNX's own operator where it says the same."""
    if label_smoothing or target.dtype.is_floating_point or x.dim() < 2:
        return cross_entropy(x, target, weight, reduction, int(ignore_index), label_smoothing)
    return NotImplemented


# ---- recurrent layers


def lstm(x, state, params, has_biases, layers, dropout, train, bidirectional, batch_first):
    """A projection of the state, which ONNX's LSTM does not have, is written out step by step."""
    if state[0].shape[-1] == state[1].shape[-1]:
        return NotImplemented
    return torch._decomp.decompositions.lstm_impl(x, state, params, has_biases, layers, dropout, train, bidirectional,
                                                  batch_first)


DECOMPOSITIONS = {
    **LINEAR_ALGEBRA,
    **FOURIER,
    aten.hardsigmoid.default: hardsigmoid,
    aten.atan2.default: atan2,
    aten.signbit.default: signbit,
    aten.copysign.Tensor: copysign,
    aten.copysign.Scalar: copysign_number,
    aten.fmax.default: fmax,
    aten.fmin.default: fmin,
    aten.hypot.default: hypot,
    aten.deg2rad.default: deg2rad,
    aten.rad2deg.default: rad2deg,
    aten.sinc.default: sinc,
    aten.special_sinc.default: sinc,
    aten.linalg_vector_norm.default: unusual_norm,
    aten.cdist.default: cdist,
    aten.pdist.default: pdist,
    aten.kthvalue.default: kthvalue,
    aten.median.dim: median,
    aten.median.default: median_of_all,
    aten.cummax.default: running_extreme(True),
    aten.cummin.default: running_extreme(False),
    aten.cumprod.default: cumprod,
    aten.linalg_vander.default: vander,
    aten.scatter_reduce.two: scatter_reduce,
    aten.scatter.src: scatter,
    aten.scatter_add.default: scatter_add,
    aten.scatter.reduce: scatter_and,
    aten.scatter.value_reduce: scatter_and,
    aten.index_reduce.default: index_reduce,
    aten.bincount.default: bincount,
    aten.masked_scatter.default: masked_scatter,
    aten.sort.stable: stable_sort,
    aten.argsort.stable: stable_argsort,
    aten.searchsorted.Tensor: searchsorted,
    aten.bucketize.Tensor: bucketize,
    aten.conv_tbc.default: conv_tbc,
    aten.col2im.default: col2im,
    **{op: cosine_window(50, -50) for op in (aten.hann_window.default, aten.hann_window.periodic)},
    **{op: cosine_window(54, -46) for op in (aten.hamming_window.default, aten.hamming_window.periodic)},
    **{op: cosine_window(42, -50, 8) for op in (aten.blackman_window.default, aten.blackman_window.periodic)},
    aten.linspace.default: linspace,
    aten.adaptive_avg_pool3d.default: adaptive_average,
    aten.adaptive_max_pool2d.default: adaptive_max,
    aten.adaptive_max_pool3d.default: adaptive_max,
    aten.cross_entropy_loss.default: plain_cross_entropy,
    aten.lstm.input: lstm,
    aten.affine_grid_generator.default: affine_grid,
    aten.upsample_linear1d.vec: linear_1d,
    **{op: scaled(op) for op in (aten.upsample_bilinear2d.vec, aten.upsample_bicubic2d.vec,
                                 aten.upsample_trilinear3d.vec)},
    **{op: scaled(op, False) for op in (aten.upsample_nearest1d.vec, aten.upsample_nearest2d.vec,
                                        aten.upsample_nearest3d.vec)},
}
