# SPDX-License-Identifier: Apache-2.0
"""PyTorch's linear algebra in terms of Assay's operators: ai.assay.Inverse and others, as ONNX has only Det."""
import math

import torch

from . import Refused

aten = torch.ops.aten


def hint(size):
    """The number that a symbolic extent is when the module is exported."""
    return size.node.hint if isinstance(size, torch.SymInt) else int(size)


def operator(name, inputs, shape, attributes=None):
    return torch.onnx.ops.symbolic(f"ai.assay::{name}", inputs, attributes or {}, dtype=inputs[0].dtype, shape=shape,
                                   version=1)


def no_errors(x):
    """What the forms with _ex say of each matrix: that all is well."""
    return torch.zeros(x.shape[:-2], dtype=torch.int32, device=x.device)


def inverse(a):
    return operator("Inverse", (a,), a.shape)


def pseudo_inverse(a, rcond=None, hermitian=False):
    """Singular values up to rcond times the largest count as zero: by default the larger extent times single precision's
    spacing."""
    rows, columns = a.shape[-2:]
    if hermitian or isinstance(rcond, torch.Tensor):
        return NotImplemented
    rcond = max(hint(rows), hint(columns)) * torch.finfo(torch.float32).eps if rcond is None else rcond
    return operator("PseudoInverse", (a,), (*a.shape[:-2], columns, rows), {"rcond": float(rcond)})


def pseudo_inverse_by(a, *, atol=None, rtol=None, hermitian=False):
    return NotImplemented if atol is not None else pseudo_inverse(a, rtol, hermitian)


def joined(a, b):
    """A and B with the same batch."""
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])


def is_vector(a, b):
    """Whether B is one vector, or one for each matrix, as torch.linalg.solve sees it."""
    return b.dim() == 1 or (b.dim() == a.dim() - 1 and [*map(hint, b.shape)] == [*map(hint, a.shape[:-1])])


def solve(a, b, *, left=True):
    if is_vector(a, b):
        return solve(a, b.unsqueeze(-1), left=left).squeeze(-1)
    if not left:
        return solve(a.mT, b.mT).mT
    a, b = joined(a, b)
    return operator("Solve", (a, b), b.shape)


def tensor_solve(a, b, dims=None):
    """The dimensions `dims` of A come last; then its first ones are B's, and the others those of the answer."""
    if dims is not None:
        a = torch.movedim(a, tuple(dims), tuple(range(-len(dims), 0)))
    n = b.numel()
    return solve(a.reshape(n, n), b.reshape(n, 1)).reshape(a.shape[b.dim():])


def tensor_inverse(a, ind=2):
    rows, columns = a.shape[:ind], a.shape[ind:]
    n = math.prod(rows)
    return inverse(a.reshape(n, n)).reshape(*columns, *rows)


def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    if not left:
        return solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    a, b = joined(a, b)
    return operator("SolveTriangular", (a, b), b.shape, {"upper": int(upper), "unit": int(unitriangular)})


def old_triangular(b, a, upper=True, transpose=False, unitriangular=False):
    """torch.triangular_solve, which gives A back as well."""
    used = a.mT if transpose else a
    return solve_triangular(used, b, upper=upper != transpose, unitriangular=unitriangular), a


def cholesky(a, upper=False):
    """With `upper` PyTorch reads the upper triangle, and gives the transposed factor."""
    return cholesky(a.mT).mT if upper else operator("Cholesky", (a,), a.shape)


def cholesky_solve(b, factor, upper=False):
    lower = factor.mT if upper else factor
    return solve_triangular(lower.mT, solve_triangular(lower, b, upper=False), upper=True)


def cholesky_inverse(factor, upper=False):
    unit = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return cholesky_solve(unit.expand(factor.shape), factor, upper)


def det(a):
    return torch.onnx.ops.symbolic("Det", (a,), dtype=a.dtype, shape=a.shape[:-2], version=11)


def slogdet(a):
    shape = a.shape[:-2]
    return tuple(torch.onnx.ops.symbolic_multi_out("ai.assay::SlogDet", (a,), dtypes=(a.dtype, a.dtype),
                                                   shapes=(shape, shape), version=1))


def logdet(a):
    sign, size = slogdet(a)
    return torch.where(sign < 0, torch.full_like(size, float("nan")), size)


def matrix_power(a, n):
    if n < 0:
        return matrix_power(inverse(a), -n)
    if n == 0:
        return torch.eye(a.shape[-1], dtype=a.dtype, device=a.device).expand(a.shape)
    half = matrix_power(a, n // 2) if n > 1 else None
    if n == 1:
        return a
    square = half @ half
    return square @ a if n % 2 else square


def svd(a, full_matrices=True, compute_uv=True, *, driver=None):
    """Its values are unique. Whether a model uses its vectors as well is seen in what is written (needs_factors)."""
    rows, columns = a.shape[-2:]
    batch, least = a.shape[:-2], torch.sym_min(rows, columns)
    u, values, v = torch.onnx.ops.symbolic_multi_out(
        "ai.assay::SVD", (a,), dtypes=(a.dtype,) * 3,
        shapes=((*batch, rows, rows), (*batch, least), (*batch, columns, columns)), version=1)
    return (u, values, v) if full_matrices else (u[..., :least], values, v[..., :least, :])


def eigh(a, UPLO="L", compute_v=True):
    """Eigenvalues, in their order: what makes the matrix positive semidefinite, a number no less than any of them, is added to
    all, and singular values are what they then are. Vectors, which are not unique, are seen in needs_factors."""
    lower = UPLO.upper() == "L"
    half = a.tril() if lower else a.triu()
    rest = half.tril(-1) if lower else half.triu(1)
    whole, unit = half + rest.mT, torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    shift = whole.abs().sum(-1).amax(-1)
    vectors, values, _ = svd(whole + shift.unsqueeze(-1).unsqueeze(-1) * unit)
    return values.flip(-1) - shift.unsqueeze(-1), vectors.flip(-1)


TERMS, HALVINGS = 15, 16  # of the series; how often the largest matrix is halved


def matrix_exp(a):
    """The series of a matrix whose rows add up to a half at most, squared as often as it was halved. (Terms beyond these are
    below 2^-53 of it.) Where rows add up to more than 2^15, what this makes is wrong. Most such matrices have no exponential
    that single precision holds, but some do, such as diag(-10^6, 0); with those a task differs from its module."""
    unit = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    size = a.abs().sum(-1).amax(-1).unsqueeze(-1).unsqueeze(-1)
    limits = [torch.full((), 2.0 ** (k - 1), dtype=a.dtype, device=a.device) for k in range(HALVINGS)]
    for limit in limits:
        a = torch.where(size > limit, a / 2, a)
    made = unit + a / TERMS
    for k in range(TERMS - 1, 0, -1):
        made = unit + torch.matmul(a, made) / k
    for limit in limits:
        made = torch.where(size > limit, torch.matmul(made, made), made)
    return made


def matrix_norm(a, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """Norms that are made of singular values: the largest, the least, and their sum."""
    if ord not in (2, -2, "nuc") or dtype is not None:
        return NotImplemented
    values = svd(torch.movedim(a, tuple(dim), (-2, -1)))[1]
    norm = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    for place in sorted(axis % a.dim() for axis in dim) if keepdim else ():
        norm = norm.unsqueeze(place)
    return norm


def cond(a, p=None):
    """The condition number by singular values, which is PyTorch's own choice."""
    if p not in (None, 2, -2):
        return NotImplemented
    values = svd(a)[1]
    return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]


def matrix_rank(*_, **__):
    raise Refused("torch.linalg.matrix_rank counts singular values that rounding alone may put on either side of its tolerance: "
                  "write (torch.linalg.svdvals(a) > tolerance).sum(-1), with one that your data cannot meet")


LINEAR_ALGEBRA = {
    aten.linalg_inv.default: inverse,
    aten.inverse.default: inverse,
    aten.linalg_pinv.default: pseudo_inverse,
    aten.linalg_pinv.atol_rtol_float: pseudo_inverse_by,
    aten.linalg_pinv.atol_rtol_tensor: pseudo_inverse_by,
    aten.linalg_inv_ex.default: lambda a, check_errors=False: (inverse(a), no_errors(a)),
    aten.linalg_solve.default: solve,
    aten.linalg_solve_ex.default: lambda a, b, left=True, check_errors=False: (solve(a, b, left=left), no_errors(a)),
    aten.linalg_tensorsolve.default: tensor_solve,
    aten.linalg_tensorinv.default: tensor_inverse,
    aten.linalg_solve_triangular.default: solve_triangular,
    aten.triangular_solve.default: old_triangular,
    aten.linalg_cholesky.default: lambda a, upper=False: cholesky(a, upper),
    aten.linalg_cholesky_ex.default: lambda a, upper=False, check_errors=False: (cholesky(a, upper), no_errors(a)),
    aten.cholesky_solve.default: cholesky_solve,
    aten.cholesky_inverse.default: cholesky_inverse,
    aten.linalg_det.default: det,
    aten.det.default: det,
    aten.linalg_slogdet.default: slogdet,
    aten.slogdet.default: slogdet,
    aten.logdet.default: logdet,
    aten.linalg_matrix_power.default: matrix_power,
    aten.linalg_svd.default: lambda a, full_matrices=True, driver=None: svd(a, full_matrices),
    aten._linalg_svd.default: svd,
    aten._linalg_eigh.default: eigh,
    aten.linalg_eigh.default: eigh,
    aten.linalg_eigvalsh.default: lambda a, UPLO="L": eigh(a, UPLO)[0],
    aten.linalg_matrix_exp.default: matrix_exp,
    aten.matrix_exp.default: matrix_exp,
    aten.linalg_matrix_norm.default: matrix_norm,
    aten.linalg_matrix_norm.str_ord: matrix_norm,
    aten.linalg_cond.default: cond,
    **{getattr(aten.linalg_matrix_rank, name): matrix_rank for name in aten.linalg_matrix_rank.overloads() if "out" not in name},
    aten.linalg_svdvals.default: lambda a, driver=None: svd(a)[1],
}

# Why factorizations are refused whose factors are not unique. Singular vectors and eigenvectors are seen in what is written
# (needs_factors); these are what PyTorch leaves of the others.
NOT_UNIQUE = ("its factors are not unique (each column may have either sign, and where values are equal any basis will "
              "do), and a task has one answer")
REFUSED = {name: NOT_UNIQUE for name in (
    "linalg_qr", "linalg_eig", "geqrf", "linalg_householder_product", "linalg_lu", "linalg_lu_factor_ex",
    "linalg_ldl_factor_ex")}


def needs_factors(graph):
    """Whether an ONNX graph uses singular vectors."""
    factors = {name for node in graph.node if node.op_type == "SVD" for name in (node.output[0], node.output[2]) if name}
    used = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    return bool(factors & used)
