"""Families of sets: what they hold together how often, and how near that comes to the most that a report can tell."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.set_families import (
    SetFamily,
    affine_hyperplanes,
    hadamard_blocks,
    most_informative_family,
    signed_blocks,
)
from sordino_shared.errors import InvalidValue

ORDERS = [2, 3, 4, 5, 7, 8, 16]


def together(family):
    """(k, k) how many sets hold both."""
    members = family.members.astype(int)
    return members.T @ members


@pytest.mark.parametrize("order", ORDERS)
def test_hyperplanes_hold_any_two_points_equally_often(order):
    whole = affine_hyperplanes(order**2, order)
    assert whole.members.shape == (order**2 + order, order**2)
    assert (whole.members.sum(axis=1) == order).all()
    counts = together(whole)
    assert (counts[~np.eye(len(counts), dtype=bool)] == 1).all()
    assert (np.diag(counts) == order + 1).all()


@pytest.mark.parametrize(("points", "order"), [(11, 2), (11, 3), (20, 4), (30, 5)])
def test_cutting_the_space_to_some_points_keeps_that(points, order):
    counts = together(affine_hyperplanes(points, order))
    assert len(set(counts[~np.eye(points, dtype=bool)])) == 1


def test_one_hadamard_block_holds_half_of_all_words_and_a_quarter_for_two_types():
    family = hadamard_blocks(7, 1)
    assert family.members.shape == (8, 7)
    counts = together(family)
    assert (np.diag(counts) == 4).all()
    assert (counts[~np.eye(7, dtype=bool)] == 2).all()


def test_several_blocks_are_one_block_each_and_never_together():
    counts = together(hadamard_blocks(10, 4))
    block = np.arange(10) // 3
    assert (counts[block[:, None] != block] == 0).all()
    assert (np.diag(counts) == 2).all()
    assert hadamard_blocks(10, 4).members.shape == (4 * 4, 10)


@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_signs_hold_one_half_of_every_node_of_a_block(blocks):
    nodes, right = np.arange(32) // 4, np.arange(32) % 4 >= 2
    family = signed_blocks(nodes, right, blocks)
    assert len(family.members) == 2 * 8
    for members in family.members:
        held = {(int(nodes[x]), bool(right[x])) for x in np.flatnonzero(members)}
        assert members.sum() == 2 * len(held)
        first = min(node for node, _ in held) // (8 // blocks)
        assert {node for node, _ in held} == set(range(first * 8 // blocks, (first + 1) * 8 // blocks))
        assert len(held) == 8 // blocks
    # The signs of two nodes of a block are alike as often as not.
    counts = together(family)
    same = (nodes[:, None] == nodes) & (right[:, None] == right)
    assert (counts[same] == 8 // blocks).all()
    inside = nodes[:, None] // (8 // blocks) == nodes // (8 // blocks)
    assert (counts[inside & (nodes[:, None] != nodes)] == 4 // blocks).all()


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_alone_a_family_is_a_kernel_of_that_epsilon(epsilon):
    for family in (hadamard_blocks(10, 2), affine_hyperplanes(10, 3), most_informative_family(10, epsilon)):
        kernel = family.kernel(epsilon)
        assert kernel.sum(axis=0) == pytest.approx(1, abs=1e-12)
        assert set(np.round(np.log(kernel / family.low(epsilon)), 9).ravel()) <= {0.0, round(epsilon, 9)}


@pytest.mark.parametrize(("points", "epsilon"), [(64, 0.25), (64, 0.5), (64, 1.0), (64, 2.0), (100, 1.0), (100, 4.0)])
def test_what_tells_most_tells_nearly_the_most_there_is(points, epsilon):
    """At most sinh²(ε/2) over the points' differences, whatever the kernel; 0.9 of it from four sets a point."""
    family = most_informative_family(points, epsilon)
    assert len(family.members) <= 4 * points
    kernel = family.kernel(epsilon)
    information = kernel.T @ (kernel / kernel.mean(axis=1)[:, None]) / points
    told = np.linalg.eigvalsh(information)[:-1]
    most = np.sinh(epsilon / 2) ** 2 / (points - 1)
    assert 0.9 * most < 1 / (1 / told).mean() <= most * (1 + 1e-9)


def test_a_family_that_prefers_a_type_is_refused():
    with pytest.raises(InvalidValue, match="equally often, got 1 to 2 times"):
        SetFamily(np.array([[True, True], [True, False]]))
