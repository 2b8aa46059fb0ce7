# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms in terms of complex ones of all elements, as ONNX has no inverse of half a spectrum, and its STFT is
no operator of tasks."""
import math

import torch

aten = torch.ops.aten


def parts(x):
    """Real and imaginary parts as a last dimension, which ONNX can cut, turn and join."""
    return torch.view_as_real(x.resolve_conj())


def inverse_of_half(x, dim, normalization, last_dim_size):
    """The other half of the last of these dimensions is the first one's conjugate, turned round."""
    *others, axis = (d % x.dim() for d in dim)
    n = last_dim_size
    if others:
        x = aten._fft_c2c(x, others, normalization, False)
    half = parts(x).narrow(axis, 0, n // 2 + 1)
    turned = half.narrow(axis, 1, (n - 1) // 2).flip(axis)
    turned = torch.stack((turned[..., 0], -turned[..., 1]), -1)
    whole = torch.view_as_complex(torch.cat((half, turned), axis))
    return parts(aten._fft_c2c(whole, [axis], normalization, False))[..., 0]


def whole_window(window, width, n_fft, x):
    window = torch.ones(width, dtype=x.dtype, device=x.device) if window is None else window
    before = (n_fft - width) // 2
    return torch.nn.functional.pad(window, (before, n_fft - width - before))


def stft(x, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=None, return_complex=None,
         align_to_window=None):
    if align_to_window or x.is_complex():
        return NotImplemented
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    frames = torch.arange((x.shape[-1] - n_fft) // hop + 1, device=x.device).unsqueeze(-1) * hop
    taken = x[..., frames + torch.arange(n_fft, device=x.device)]
    taken = taken * whole_window(window, width, n_fft, x)
    spectrum = torch.fft.fft(taken) if onesided is False else torch.fft.rfft(taken)
    turned = parts(spectrum).transpose(-3, -2)
    turned = turned / math.sqrt(n_fft) if normalized else turned
    return torch.view_as_complex(turned.contiguous()) if return_complex else turned


def istft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """Frames are added up where they lie, and divided by what their windows' squares add up to. That these are nowhere 0
    is not asked, as PyTorch asks: a task does not look at values."""
    if return_complex or onesided is False or length is not None:
        return NotImplemented
    hop, at = hop_length or n_fft // 4, n_fft // 2 if center else 0
    turned = torch.view_as_complex(parts(x).transpose(-3, -2).contiguous())
    frames = torch.fft.irfft(turned, n=n_fft, norm="ortho" if normalized else None)
    window = whole_window(window, win_length or n_fft, n_fft, frames)
    total = n_fft + hop * (frames.shape[-2] - 1)

    def laid(rows):
        columns = rows.reshape(-1, *rows.shape[-2:]).transpose(1, 2)
        return torch.nn.functional.fold(columns, (1, total), (1, n_fft), stride=(1, hop))[:, 0, 0, at:total - at]
    squares = (window * window).expand(1, frames.shape[-2], n_fft)
    return (laid(frames * window) / laid(squares)).reshape(*frames.shape[:-2], total - 2 * at)


def complex_einsum(equation, operands, path=None):
    """Of two complex tensors, as four of real ones: ONNX has it of these alone."""
    if len(operands) != 2 or not any(x.is_complex() for x in operands):
        return NotImplemented
    (a, b), (c, d) = (parts(x).unbind(-1) if x.is_complex() else (x, torch.zeros_like(x)) for x in operands)

    def of(x, y):
        return torch.einsum(equation, x, y)
    return torch.view_as_complex(torch.stack((of(a, c) - of(b, d), of(a, d) + of(b, c)), -1))


def copy(x, source, non_blocking=False):
    """What an assignment to a part of a complex tensor becomes."""
    if not x.is_complex() or not source.is_complex():
        return NotImplemented
    return torch.view_as_complex(parts(source).expand(*x.shape, 2).clone())


def filled(size, value, dtype, device=None):
    """A complex tensor of one number."""
    like = {"dtype": dtype.to_real(), "device": device}
    real, imaginary = complex(value).real, complex(value).imag
    return torch.view_as_complex(torch.stack((torch.full(size, real, **like), torch.full(size, imaginary, **like)), -1))


def alike(x, size, value, dtype, device=None):
    dtype = dtype or x.dtype
    return filled(size, value, dtype, device or x.device) if dtype.is_complex else NotImplemented


def full(size, value, *, dtype=None, device=None, **named):
    is_complex = isinstance(value, complex) if dtype is None else dtype.is_complex
    return filled(size, value, dtype or torch.complex64, device) if is_complex else NotImplemented


def full_of(value):
    return lambda size, **named: full(size, value, **named)


def full_like(x, value, *, dtype=None, device=None, **named):
    return alike(x, x.shape, value, dtype, device)


def full_like_of(value):
    return lambda x, **named: full_like(x, value, **named)


def fill(x, value):
    return alike(x, x.shape, value, None) if not isinstance(value, torch.Tensor) else NotImplemented


def new_full_of(value):
    return lambda x, size, *, dtype=None, device=None, **named: alike(x, size, value, dtype, device)


def by_parts(op):
    """An operator that puts a tensor into a part of another, for complex ones: dim counts from the front, as their parts are
    one dimension more."""
    def decomposed(x, source, dim=0, *place, **named):
        if not x.is_complex():
            return NotImplemented
        source = source if source.is_complex() else torch.complex(source, torch.zeros_like(source))
        return torch.view_as_complex(op(parts(x), parts(source), dim % x.dim(), *place, **named))
    return decomposed


def select(x, dim, index):
    return torch.view_as_complex(parts(x).select(dim % x.dim(), index)) if x.is_complex() else NotImplemented


def taken_apart(op):
    """An operator that PyTorch itself makes of others, which it does here only where it is told so."""
    def decomposed(*words, **named):
        return op._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *words, **named)
    return decomposed


FOURIER = {
    aten._fft_c2r.default: inverse_of_half,
    aten.stft.default: stft,
    aten.istft.default: istft,
    aten.einsum.default: complex_einsum,
    aten.copy.default: copy,
    aten.full.default: full,
    aten.zeros.default: full_of(0),
    aten.ones.default: full_of(1),
    aten.full_like.default: full_like,
    aten.zeros_like.default: full_like_of(0),
    aten.ones_like.default: full_like_of(1),
    aten.new_zeros.default: new_full_of(0),
    aten.new_ones.default: new_full_of(1),
    aten.fill.Scalar: fill,
    aten.select.int: select,
    aten.slice_scatter.default: by_parts(aten.slice_scatter.default),
    aten.select_scatter.default: by_parts(aten.select_scatter.default),
    **{op.default: taken_apart(op.default) for op in (aten.fft_irfft, aten.fft_irfft2, aten.fft_irfftn, aten.fft_hfft,
                                                      aten.fft_hfft2, aten.fft_hfftn)},
}
