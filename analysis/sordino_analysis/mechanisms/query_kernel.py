"""The kernel of a single query as a candidate: a linear program on a grid of values, however many types there are."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.evaluation.integer_kernels import KernelError
from sordino_analysis.mechanisms.mechanism import MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.single_query import query_kernel
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.vectorized.arrays import array_of, ndarray


class QueryKernelMechanism:
    """For one query that varies, whose mean and maximum over queries are the same: the least worst variance."""

    name = "query_kernel"

    def reason_against(self, work: SharedWork) -> str | None:
        workload = work.request.workload
        varying = workload.queries if workload.operator.intervals is not None else len(workload.varying_rows)
        if varying != 1:
            return f"{varying} queries; it answers a single one"
        return work.too_large_for_dense

    def propose(self, work: SharedWork, progress: ProgressCallback) -> Proposal:
        workload, matrix = work.request.workload, work.request.workload.operator.dense()
        try:
            found = query_kernel(matrix[workload.varying_rows[0]], None, work.request.guarantee)
        except KernelError as error:
            raise MechanismFailed(f"the linear program found no kernel ({error})") from error
        progress(Progress(1.0))
        # Constant queries are answered by what they are.
        sent, offset = ndarray(found.decoder.matrix), matrix[:, 0].copy()
        rows = np.zeros((len(matrix), sent.shape[1]))
        rows[workload.varying_rows], offset[workload.varying_rows] = sent, ndarray(found.decoder.offset)
        return Proposal(found.kernel, AnswerDecoder(array_of(rows, "<f8"), array_of(offset, "<f8")))
