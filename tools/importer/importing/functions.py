# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch that torch.export cannot follow, in terms of others. They stand in for PyTorch's own only while
a module is exported; what it is compared with is PyTorch's."""
import math

import torch
import torch.nn.functional as F


def fake_quantize(input, scale, zero_point, quant_min, quant_max):
    whole = torch.round(input / scale) + zero_point
    return (whole.clamp(quant_min, quant_max) - zero_point) * scale


def covariance(input, *, correction=1, fweights=None, aweights=None):
    x = input if input.dim() > 1 else input[None]
    weights = [w.to(x.dtype) for w in (fweights, aweights) if w is not None]
    if weights:
        w = weights[0] if len(weights) == 1 else weights[0] * weights[1]
        total = w.sum()
        x = x - (x * w).sum(1, True) / total
        share = total if aweights is None else (w * weights[-1]).sum() / total
        made = (x * w) @ x.mT / (total - correction * (1 if aweights is None else share))
    else:
        x = x - x.mean(1, True)
        made = x @ x.mT / (x.shape[1] - correction)
    return made if input.dim() > 1 else made[0, 0]


def correlation(input):
    c = covariance(input)
    if not c.dim():
        return c / c
    d = torch.sqrt(torch.diagonal(c))
    return (c / d[:, None] / d[None, :]).clamp(-1, 1)


def gaussian_nll(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if isinstance(var, (int, float)):
        var = torch.full_like(input, var)
    if var.dim() + 1 == input.dim():
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def bincount(original):
    """As many numbers as minlength says. Whether that is enough is seen when the task is compared with the module. Of weights
    in any type but two PyTorch's sums are float64."""
    def substitute(input, weights=None, minlength=0):
        if isinstance(minlength, int) and minlength == 0:
            return original(input, weights, minlength)
        each = torch.ones_like(input, dtype=torch.int64) if weights is None else weights
        each = each.double() if weights is not None and each.dtype not in (torch.float32, torch.float64) else each
        return torch.zeros(minlength, dtype=each.dtype, device=input.device).scatter_add(0, input.long(), each)
    return substitute


def embedding(original):
    """With max_norm, which PyTorch applies to the table in place."""
    def substitute(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                   sparse=False):
        if max_norm is not None:
            norm = torch.linalg.vector_norm(weight, norm_type, -1, True)
            weight = torch.where(norm > max_norm, weight * (max_norm / (norm + 1e-7)), weight)
        return original(input, weight, padding_idx)
    return substitute


def bags(input, offsets, include_last):
    """To which bag each index belongs, and how many bags there are."""
    count = offsets.shape[0] - bool(include_last)
    place = torch.arange(input.shape[0], device=input.device)
    return (place[:, None] >= offsets[None, :count]).sum(1) - 1, count


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean",
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    rows = F.embedding(input, weight, max_norm=max_norm, norm_type=norm_type)
    kept = torch.ones_like(input, dtype=weight.dtype) if padding_idx is None else \
        (input != padding_idx % weight.shape[0]).to(weight.dtype)
    if mode == "max":
        rows = torch.where(kept[..., None] > 0, rows, -math.inf)
    else:
        scale = kept if per_sample_weights is None else kept * per_sample_weights
        rows = rows if padding_idx is None and per_sample_weights is None else rows * scale[..., None]
    if input.dim() == 2:
        if mode == "max":
            made = rows.amax(1)
            return torch.where(made == -math.inf, 0.0, made) if padding_idx is not None else made
        made = rows.sum(1)
        return made if mode == "sum" else made / kept.sum(1, True).clamp(min=1)
    bag, count = bags(input, offsets, include_last_offset)
    shape = (count, weight.shape[1])
    if mode == "max":
        lowest = torch.full(shape, -math.inf, dtype=rows.dtype)
        made = lowest.scatter_reduce(0, bag[:, None].expand_as(rows), rows, "amax")
        return torch.where(made == -math.inf, 0.0, made)
    made = torch.zeros(shape, dtype=rows.dtype).index_add(0, bag, rows)
    if mode == "sum":
        return made
    return made / torch.zeros(count, dtype=rows.dtype).index_add(0, bag, kept).clamp(min=1)[:, None]


CTC_STEPS = 1024


def ctc(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The sum over all alignments (Graves et al. 2006, section 4.1), one step of time after another."""
    single = log_probs.dim() == 2
    if single:
        log_probs, targets = log_probs[:, None], targets[None]
    steps, batch = int(log_probs.shape[0]), log_probs.shape[1]
    if steps > CTC_STEPS:
        raise NotImplementedError(f"CTC over {steps} steps: at most {CTC_STEPS} are written out")
    lengths = [torch.as_tensor(v).reshape(-1).expand(batch) for v in (input_lengths, target_lengths)]
    if targets.dim() == 1:  # one after another: how many each has must be known
        counts = [int(v) for v in torch.as_tensor(target_lengths).reshape(-1).tolist()]
        parts = torch.split(targets, counts)
        targets = torch.stack([F.pad(p, (0, max(counts) - p.shape[0])) for p in parts])
    width = 2 * targets.shape[1] + 1
    blanks = torch.full_like(targets, blank)
    labels = F.pad(torch.stack([blanks, targets], 2).flatten(1), (0, 1), value=blank)  # a blank between all labels
    emitted = torch.gather(log_probs, 2, labels[None].expand(steps, -1, -1))
    place = torch.arange(width)
    before = F.pad(labels, (2, 0), value=blank)[:, :width]
    may_skip = (labels != blank) & (labels != before) & (place >= 2)
    floor = -1e30  # stands for minus infinity, whose difference with itself is not a number
    alpha = torch.where(place < 2, emitted[0], floor)
    for t in range(1, steps):
        stay, step = alpha, F.pad(alpha, (1, 0), value=floor)[:, :width]
        skip = torch.where(may_skip, F.pad(alpha, (2, 0), value=floor)[:, :width], floor)
        now = torch.logsumexp(torch.stack([stay, step, skip]), 0) + emitted[t]
        alpha = torch.where(t < lengths[0][:, None], now, alpha)
    last = 2 * lengths[1][:, None]
    end = torch.gather(alpha, 1, last)
    end_label = torch.where(last > 0, torch.gather(alpha, 1, (last - 1).clamp(min=0)), floor)
    loss = -torch.logaddexp(end, end_label)[:, 0]
    impossible = loss > 1e29
    loss = torch.where(impossible, 0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        return (loss / lengths[1].clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss[0] if single else loss
