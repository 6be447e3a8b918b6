"""Features of a block of queries: overlap by overlap they add up to what they are over all of them."""

import numpy as np
import pytest

from sordino_analysis.optimisation.symmetry.local_features import QueryParts, local_features
from sordino_analysis.optimisation.symmetry.row_moments import local_query, moments
from sordino_analysis.questions.linear.characters import Characters, cas_table

CASES = [
    ((2, 2, 2), {"kind": "marginals", "width": 2}),
    ((3, 2, 3), {"kind": "marginals", "width": 2, "exactly": True}),
]


@pytest.fixture(params=CASES, ids=str)
def parts(workload_of, request):
    """The parts of the first query of the last block, and the sizes of the attributes."""
    shape, queries = request.param
    operator = workload_of(shape, queries).operator
    query = local_query(operator.characters, operator.blocks[-1], 0)
    return QueryParts.of(query, np.arange(query.orbits.max() + 1)), shape


def test_the_parts_make_up_the_query(parts):
    found, _ = parts
    query = found.query
    assert found.waves[1:].sum(axis=0) + query.weights[0] == pytest.approx(query.weights @ cas_table(query.shape))
    mixed = np.random.default_rng(0).normal(size=(3, len(found.frequencies)))
    assert found.shares(mixed @ found.waves) == pytest.approx(mixed)


def test_overlaps_add_up_to_the_whole(parts):
    found, sizes = parts
    row = np.random.default_rng(1).random((4, *sizes[:2])) + 0.5
    row /= row.mean(axis=(1, 2), keepdims=True)
    coefficients = np.fft.fftn(row, axes=(1, 2)) / row[0].size
    responses, squares = {}, {}
    for by_overlap in (False, True):
        features = local_features(found, by_overlap=by_overlap)
        means, products = moments(coefficients, Characters(sizes, 2), found.query.kinds, features.tables[None])
        responses[by_overlap] = features.responses(means).sum(axis=2)
        ones = (features.parts == np.arange(len(found.frequencies))[:, None]).astype(float)
        squares[by_overlap] = np.einsum("pi,qj,nijx->npqx", ones, ones, products)
        apart = features.levels[:, None] != features.levels
        assert (products[:, apart] == 0).all()
    assert responses[True] == pytest.approx(responses[False])
    assert responses[True][:, 0] == pytest.approx(1)
    assert squares[True] == pytest.approx(squares[False])
    assert (responses[True] > 0).all()
