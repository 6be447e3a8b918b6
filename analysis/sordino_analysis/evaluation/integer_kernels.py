"""From the real weights of a kernel's rows to integers over 2^bits whose ε is proved: the one place of rounding.

Rows are most often extreme rays of the cone of ε-LDP rows: θ_y·e^ε on a set of types and θ_y elsewhere.
"""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.documents.decoders import AnswerDecoder, HistogramDecoder
from sordino_analysis.optimisation.search.objectives import gls_decoder
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import kernel_table, two_level_rows
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers import DenseRows, FiniteKernel

# Share of every column that goes to the null output. What the columns leave differs by their imbalance and by a unit a
# row for rounding: against 2^60·1e-6 ≈ 10^12 both are far inside any ratio e^ε that a round may have.
NULL_SHARE = 1e-6
# Columns that miss 1 by more are no rounding.
_IMBALANCE = 1e-10
# Fixed point of e^ε: its error is far below a unit of the integers.
_FRACTION_BITS = 192
# Bits of the integers of a kernel: sums over a type stay in a machine word.
KERNEL_BITS = 60


class KernelError(InvalidValue):
    """Rows that form no ε-LDP kernel; the message gives the reason."""

    code = "kernel-error"
    advice = "plan again, with another mechanism"


def integer_kernel(low: Floats, members: Mask, guarantee: PureEpsilon, bits: int = KERNEL_BITS) -> FiniteKernel:
    """The kernel whose row y is low[y]·e^ε on members[y] (k,) and low[y] elsewhere, in integers over 2^bits.

    Columns must sum to one within 1e-10. Every row is shrunk by NULL_SHARE, its lower level rounded down and its upper
    level to at most ⌊e^ε·lower⌋; the null output takes the deficits. The ε of the result is proved before it is
    returned. Raises KernelError for rows that do not balance, or are too light for the integers.
    """
    _check_rows(low, members, guarantee)
    lower = [int(level * (1 - NULL_SHARE) * 2.0**bits) for level in low.tolist()]
    if min(lower) < 1:
        raise KernelError(f"a row of weight {low.min():.3g} is nothing in integers over 2^{bits}: leave it out", low)
    boost = exp_lower_bound(guarantee.nano, _FRACTION_BITS)
    # Of a row that no type is above the upper level is not used, and would not fit into a word.
    upper = [min((level * boost) >> _FRACTION_BITS, 1 << bits) for level in lower]
    rows = two_level_rows(np.array(lower, dtype=np.uint64), np.array(upper, dtype=np.uint64), members)
    return _proved(FiniteKernel(bits, rows), guarantee)


def dense_kernel(table: Floats, guarantee: PureEpsilon, bits: int = KERNEL_BITS) -> FiniteKernel:
    """The kernel of `table` K (m, k), whose columns sum to one within 1e-10, in integers over 2^bits.

    Every entry is shrunk by NULL_SHARE and rounded down, to at most ⌊e^ε·the least of its row⌋; the null output takes
    the deficits. The ε of the result is proved before it is returned. Raises KernelError as `integer_kernel` does.
    """
    if table.ndim != 2 or not (table >= 0).all() or not np.abs(table.sum(axis=0) - 1.0).max() <= _IMBALANCE:
        raise KernelError("the entries of a kernel are probabilities, and every column of them sums to one", table)
    boost = exp_lower_bound(guarantee.nano, _FRACTION_BITS)
    entries = (table * (1 - NULL_SHARE) * 2.0**bits).astype(np.uint64)
    least = entries.min(axis=1)
    if least.min() < 1:
        raise KernelError(f"a probability of {table.min():.3g} is nothing in integers over 2^{bits}", table)
    most = np.array([min((low * boost) >> _FRACTION_BITS, 1 << bits) for low in least.tolist()], dtype=np.uint64)
    rows = DenseRows(array_of(np.minimum(entries, most[:, None]), "<u8"))
    return _proved(FiniteKernel(bits, rows), guarantee)


def _proved(kernel: FiniteKernel, guarantee: PureEpsilon) -> FiniteKernel:
    proved = prove_epsilon(kernel)
    if proved is None or proved.nano > guarantee.nano:
        raise KernelError(f"the rounded rows prove {proved}, not {guarantee}", kernel)
    return kernel


def probabilities(kernel: FiniteKernel) -> Floats:
    """K (outputs, k), the null output last."""
    return np.asarray(kernel_table(kernel) / float(1 << kernel.bits))


def histogram_rows(table: Floats, type_weights: Floats) -> Floats:
    """N = (KᵀD⁻¹K)⁻¹KᵀD⁻¹ (k, outputs), D = diag(Kπ): for every query W_q N has the least π-averaged variance."""
    size = table.shape[1]
    rows = gls_decoder(table, np.eye(size), type_weights)
    # The ridge that keeps M invertible leaves a bias of 1e-10; what it leaves is decoded once more.
    return np.asarray(rows + (np.eye(size) - rows @ table) @ rows)


def histogram_decoder(kernel: FiniteKernel, type_weights: Floats, queries: Floats | None = None) -> HistogramDecoder:
    """ĥ = N s̄; of `queries` Q (r, k), orthonormal rows, QᵀQ ĥ: the part of ĥ that they need.

    A kernel that was searched for few queries may carry almost no information along the rest, where N would have
    entries of 10⁹.
    """
    table = probabilities(kernel)
    if queries is None or len(queries) == queries.shape[1]:
        rows = histogram_rows(table, type_weights)
    else:
        found = gls_decoder(table, queries, type_weights)
        rows = queries.T @ (found + gls_decoder(table, queries - found @ table, type_weights))
    return HistogramDecoder(array_of(rows, "<f8"), array_of(np.zeros(len(rows)), "<f8"))


def answer_decoder(kernel: FiniteKernel, rows: Floats, matrix: Floats, type_weights: Floats) -> AnswerDecoder:
    """answers = V s̄ for `rows` F (Q, m) designed for real weights: V = F + (W − FK)N is unbiased for the integers.

    The null output, which the design did not know, has zero in F.
    """
    table = probabilities(kernel)
    padded = np.zeros((len(rows), len(table)))
    padded[:, : rows.shape[1]] = rows
    repaired = padded + gls_decoder(table, matrix - padded @ table, type_weights)
    return AnswerDecoder(array_of(repaired, "<f8"), array_of(np.zeros(len(matrix)), "<f8"))


def _check_rows(low: Floats, members: Mask, guarantee: PureEpsilon) -> None:
    if members.ndim != 2 or low.shape != members.shape[:1] or not (low > 0).all():
        raise KernelError(f"a row needs a set and a positive weight, got {members.shape} and {low.shape}", low)
    totals = low.sum() + np.expm1(guarantee.epsilon) * (low @ members)
    if not np.abs(totals - 1.0).max() <= _IMBALANCE:
        raise KernelError(f"columns sum to {totals.min()} … {totals.max()}, not to one: balance the weights", totals)
