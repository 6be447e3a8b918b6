"""A real plan tampered in any byte: its digests refuse it and, where they were made again, the audit's figures."""

from dataclasses import fields, replace

import numpy as np
import pytest

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import WeightedDecoder
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.kernels import kernel_table, two_level_rows
from sordino_shared.arrays import Array
from sordino_shared.audit import check_guarantee
from sordino_shared.errors import SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel, TwoLevelRows

FLIPS = 400


@pytest.fixture(scope="module")
def plan():
    """A searched kernel with doubly non-negative bounds."""
    request = PlanRequest(
        builtin("prefix", 9), PlanningOptions.of(epsilon=2, objective="max", mechanism="optimised_kernel")
    )
    return compile_plan(request)


def refused(device, analyst):
    """Whether somebody who has the two parts without their digests is told no."""
    try:
        check_guarantee(device)
        return any(not check.holds for check in audit_plan(device, analyst))
    except SordinoError:
        return True


def flipped(content, rng):
    """The content with one bit turned, at FLIPS places."""
    for position in rng.integers(0, len(content), size=FLIPS):
        changed = bytearray(content)
        changed[position] ^= 1 << rng.integers(8)
        yield bytes(changed)


def test_a_plan_as_published_is_not_refused(plan):
    assert not refused(plan.device, plan.analyst)


@pytest.mark.parametrize("part", ["device", "analyst"])
def test_any_flipped_bit_fails_the_digest(plan, part):
    published = getattr(plan, part)
    for content in flipped(published.content, np.random.default_rng(1)):
        with pytest.raises(SordinoError):
            type(published).read(content, published.digest)


def test_a_type_that_changes_its_level_is_refused(plan):
    """In rows that are sent at all: one of a weight below 1e-8 moves no figure and no ε."""
    rows = plan.device.randomizer.rows
    members = np.unpackbits(ndarray(rows.members), axis=1, bitorder="little")[:, : rows.types] == 1
    assert np.array_equal(
        ndarray(two_level_rows(ndarray(rows.low), ndarray(rows.high), members).members), ndarray(rows.members)
    )
    for row in np.argsort(-ndarray(rows.low))[:20]:
        for kind in range(rows.types):
            changed = members.copy()
            changed[row, kind] ^= True
            try:
                tampered = two_level_rows(ndarray(rows.low), ndarray(rows.high), changed)
                device = replace(plan.device, randomizer=FiniteKernel(plan.device.randomizer.bits, tampered))
            except SordinoError:
                continue
            assert refused(device, replace(plan.analyst, device_digest=device.digest))


@pytest.mark.parametrize("factor", [1 - 1e-6, 1 + 1e-6, 1.5])
@pytest.mark.parametrize("level", ["low", "high"])
def test_a_row_weight_is_refused(plan, level, factor):
    rows = plan.device.randomizer.rows
    for row in np.argsort(-ndarray(rows.low))[:3]:
        changed = ndarray(getattr(rows, level)).copy()
        changed[row] = int(int(changed[row]) * factor)
        tampered = replace(rows, **{level: array_of(changed, "<u8")})
        assert isinstance(tampered, TwoLevelRows)
        try:
            kernel = FiniteKernel(plan.device.randomizer.bits, tampered)
        except SordinoError:
            continue
        device = replace(plan.device, randomizer=kernel)
        assert refused(device, replace(plan.analyst, device_digest=device.digest))


def test_a_greater_claim_of_privacy_is_refused(plan):
    device = replace(plan.device, guarantee=PureEpsilon(plan.device.guarantee.nano - 100))
    assert refused(device, replace(plan.analyst, device_digest=device.digest))


@pytest.mark.parametrize("figure", ["max_variance", "mean_variance"])
@pytest.mark.parametrize("factor", [1 - 1e-7, 1 + 1e-7])
def test_a_figure_is_refused(plan, figure, factor):
    figures = plan.analyst.figures
    tampered = replace(figures, **{figure: getattr(figures, figure) * factor})
    assert refused(plan.device, replace(plan.analyst, figures=tampered))
    assert refused(plan.device, replace(plan.analyst, figures=replace(figures, bias_bound=1e-6)))


def test_every_entry_of_the_decoder_is_refused(plan):
    decoder, rng = plan.analyst.decoder, np.random.default_rng(3)
    assert not isinstance(decoder, WeightedDecoder)
    rows = ndarray(decoder.matrix)
    likely = (kernel_table(plan.device.randomizer).max(axis=1) > 1 << 48)[None, :] & np.ones((len(rows), 1), dtype=bool)
    places = rng.permutation(np.argwhere(likely))[:60]
    for query, output in places:
        changed = rows.copy()
        changed[query, output] += 1e-3 * np.abs(rows).max()
        tampered = replace(decoder, matrix=array_of(changed, "<f8"))
        assert refused(plan.device, replace(plan.analyst, decoder=tampered))
    offset = ndarray(decoder.offset).copy()
    offset[2] = 1e-4
    assert refused(plan.device, replace(plan.analyst, decoder=replace(decoder, offset=array_of(offset, "<f8"))))


def better(plan, bound, objective):
    """Whether the numbers of a bound prove more than those that were published."""
    published, workload = getattr(plan.analyst.certificate, objective), plan.request.workload
    try:
        found = recheck_bound(bound, workload, plan.request.guarantee.epsilon, objective)
    except SordinoError:
        return False
    return found is not None and found >= bound.value == published.value


@pytest.mark.parametrize(("objective", "kind"), [("max", "own_types"), ("mean", "doubly_nonnegative")])
def test_every_number_of_a_bound_is_refused(plan, objective, kind):
    certificate, rng = plan.analyst.certificate, np.random.default_rng(4)
    bound = getattr(certificate, objective)
    assert bound.kind == kind
    tampered = [replace(bound, value=bound.value * (1 + 1e-7))]
    for field in fields(bound):
        numbers = getattr(bound, field.name)
        if isinstance(numbers, Array):
            for place in rng.permutation(ndarray(numbers).size)[:4]:
                changed = ndarray(numbers).copy()
                entry = changed.flat[place]
                changed.flat[place] = 0.9 * entry if entry > 1e-6 * changed.max() else changed.max()
                tampered.append(replace(bound, **{field.name: array_of(changed, numbers.element)}))
    for changed in tampered:
        moved = replace(certificate, **{objective: changed})
        # Other numbers may prove as much, which is no harm.
        assert refused(plan.device, replace(plan.analyst, certificate=moved)) or better(plan, changed, objective), (
            changed
        )


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_flipped_bits_of_the_analyst_part_that_read_well_change_nothing_or_are_refused(plan):
    """What is let through is what no figure depends on: names, the seed, and bits below the audit's precision."""
    found = []
    for content in flipped(plan.analyst.content, np.random.default_rng(5)):
        try:
            analyst = AnalystPart.read(content)
        except SordinoError:
            continue
        if not refused(plan.device, analyst):
            found.append(analyst)
    for analyst in found:
        for name in ("max_variance", "mean_variance"):
            claimed, true = getattr(analyst.figures, name), getattr(plan.analyst.figures, name)
            assert claimed == pytest.approx(true, rel=1e-7)
        for objective in ("max", "mean"):
            most = getattr(plan.analyst.certificate, objective).value
            assert getattr(analyst.certificate, objective).value <= most * (1 + 1e-7)


@pytest.mark.parametrize("number", [1e300, -1e300, 1e154, 0.0, 5e-324])
@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.filterwarnings("error")
def test_any_number_in_a_certificate_is_a_check_and_no_crash(plan, objective, number):
    """Levels of 1e300 ended the audit in numpy's LinAlgError."""
    bound, tampered = getattr(plan.analyst.certificate, objective), []
    for field in fields(bound):
        given = getattr(bound, field.name)
        if isinstance(given, float):
            tampered.append(replace(bound, **{field.name: number}))
        elif isinstance(given, Array) and given.element == "<f8":
            every, one = np.full_like(ndarray(given), number), ndarray(given).copy()
            one.flat[0] = number
            tampered += [replace(bound, **{field.name: array_of(changed, "<f8")}) for changed in (every, one)]
    assert len(tampered) >= 5
    for changed in tampered:
        certificate = replace(plan.analyst.certificate, **{objective: changed})
        checks = list(audit_plan(plan.device, replace(plan.analyst, certificate=certificate)))
        assert [check.name for check in checks][-2:] == ["lower bound, max", "lower bound, mean"]
