"""What is known of the errors of estimated losses, before any report is seen.

One report adds F_c = t_c + Σ_T l_cT H_T/λ_T to the loss of rule c. Where each row of the kernel tells one character T,
E[F_c' F_c] without constants is Σ_T l_cT l_c'T/λ_T for all users: variances and covariances are exact but for
the product of the means, which only lowers them. Other kernels tell several characters at once, and how these go
together depends on the users; then the worst type bounds a variance, and Minkowski's inequality that of a difference.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.estimation.intervals import quantile_of_draws
from sordino_analysis.estimation.kinds_of_rules import KindOfRules, kinds_of_class
from sordino_analysis.evaluation.answer_moments import AnswerMoments
from sordino_analysis.evaluation.linear_answers import LinearAnswers
from sordino_analysis.evaluation.orbit_answers import OrbitAnswerMoments
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.questions.linear.operators import LinearMap
from sordino_analysis.questions.linear.widths import CharacterMap, character_map

# Seed and draws are part of the method. With so many a quantile covers within .007 of its level, two standard errors.
DRAWS = 4000
# Any seed: the same campaign has the same interval on every machine.
_SEED = 20_261_122
# Entries of simulated losses; beyond it Bonferroni's quantile costs some hundredths more and no time.
_MOST_DRAWN = 1 << 25
# Draws that are held at once.
_BATCH = 200
# Rules whose errors correlate by 1 up to this are one.
_SINGLE = 1e-9
# Errors of few reports lie on a lattice, and rounding must not push a value past the quantile that it is.
_LATTICE = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class LossQuantiles:
    """Of errors in their standard errors: `band` of the largest one, `best` (Q,) of differences, see `quantile`."""

    band: float
    best: Floats


class ConceptErrors(ABC):
    """Second moments of one report's contributions to the losses of a class, their constants t_c apart."""

    operator: LinearMap

    @cached_property
    def constants(self) -> Floats:
        """(Q,) t_c, the loss under evenly spread users and labels."""
        if not isinstance(self.operator, CharacterMap):
            return np.asarray(self.operator.dense().mean(axis=1))
        found = np.empty(self.operator.shape[0])
        for block in self.operator.blocks:
            found[block.queries] = block.table[:, 0]
        return found

    @property
    @abstractmethod
    def second_moments(self) -> Floats:
        """(Q,) E[(F_c − t_c)²] under the worst type."""

    @abstractmethod
    def differences(self, rule: int, users: int) -> Floats:
        """(Q,) standard errors of the loss of every rule less that of `rule`; at least, those of the population."""

    def quantile(self, level: float) -> Floats:
        """(Q,) z_c: if c is the best rule, all (error of c − error of c′)/their standard error are ≤ z_c, at `level`.

        This is Bonferroni's.
        """
        rules = self.operator.shape[0]
        return np.full(rules, -float(ndtri((1 - level) / max(1, rules - 1))))

    def of_few(self, users: int, level: float) -> LossQuantiles | None:
        """By the law of so many reports, for errors in units of √(m/users); None where it cannot be drawn from."""
        return None

    def standard(self, losses: Floats, users: int) -> Floats:
        """(Q,) standard errors of losses (Q,) about those of the population: what is drawn is in the second moment.

        No loss is outside of what a rule costs, so an estimate that is counts as the nearest that is not: the square
        of the whole would take too much off.
        """
        low, high = self.operator.entry_range()
        spread = self.second_moments - (np.clip(losses, low, high) - self.constants) ** 2
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / users))

    @property
    def parts(self) -> tuple[int, str]:
        """How many numbers the losses are made of, each of which reports must tell, and what these are."""
        if not isinstance(self.operator, CharacterMap):
            return min(self.operator.shape[0], self.operator.shape[1] // 2), "cells"
        needed = query_fourier_weights(self.operator).by_orbit.max(axis=0) > 0
        return int(self.operator.characters.orbit_sizes[needed].sum()), "characters"


@dataclass(frozen=True, eq=False)
class WorstTypeErrors(ConceptErrors):
    """Of any kernel: the largest variance of any type bounds every population's, and Minkowski those of differences."""

    law: AnswerMoments
    operator: LinearMap

    @cached_property
    def second_moments(self) -> Floats:
        low, high = self.operator.entry_range()
        farthest = np.maximum(np.abs(low - self.constants), np.abs(high - self.constants))
        profile = self.law.profile()
        return np.asarray(profile.variance + (farthest + profile.bias) ** 2)

    def differences(self, rule: int, users: int) -> Floats:
        roots = np.sqrt(self.second_moments)
        return np.asarray(np.where(np.arange(len(roots)) == rule, 0.0, roots + roots[rule]) / math.sqrt(users))


@dataclass(frozen=True, eq=False)
class TypeErrors(ConceptErrors):
    """Of reports that are decoded by a matrix: second moments of losses and of their differences under every type.

    The largest of all types is taken. Of sign vectors those of all types are the same, so that nothing is lost.
    """

    law: LinearAnswers
    operator: LinearMap

    @cached_property
    def second_moments(self) -> Floats:
        rows, offset = self._rows
        return self._largest(rows, offset - self.constants)

    def differences(self, rule: int, users: int) -> Floats:
        rows, offset = self._rows
        constant = offset - self.constants
        squares = self._largest(rows - rows[rule], constant - constant[rule])
        squares[rule] = 0.0
        return np.asarray(np.sqrt(squares / users))

    @cached_property
    def _rows(self) -> tuple[Floats, Floats]:
        """(Q, p) F and (Q,) offset: answers are offset + F s̄."""
        return self.law.decoder.rows(self.operator, 0, self.operator.shape[0])

    def _largest(self, rows: Floats, constant: Floats) -> Floats:
        """(Q,) max over types of E[(F s + constant)² | type]."""
        law = self.law.law
        spread = np.maximum(law.variances(rows), 0.0)
        return np.asarray((spread + (law.means(rows) + constant[:, None]) ** 2).max(axis=1))


@dataclass(frozen=True, eq=False)
class CharacterErrors(ConceptErrors):
    """Of a kernel whose rows tell one character each: covariances are exact for all users.

    Biased answers take the share g of a character that their block's slope gives them, g·l_cT for l_cT.
    """

    law: OrbitAnswerMoments
    operator: CharacterMap

    @cached_property
    def second_moments(self) -> Floats:
        found, (noise, _) = np.empty(self.operator.shape[0]), self._by_orbit
        by_orbit = query_fourier_weights(self.operator).by_orbit * self._gains**2
        for block, energies in zip(self.operator.blocks, by_orbit, strict=True):
            found[block.queries] = energies @ noise / block.weight
        return found

    def differences(self, rule: int, users: int) -> Floats:
        spread = self.second_moments + self.second_moments[rule] - 2 * self._products(rule)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / users))

    def quantile(self, level: float) -> Floats:
        """(Q,) quantiles of seeded normal errors, where they are below Bonferroni's.

        Rules that turning indicators over and exchanging them takes to one another have the same, so one of each kind
        is looked at. Where some rule is taken to none of the class, and where rules are many, it is Bonferroni's.
        """
        found = super().quantile(level)
        if self._kinds is None:
            return found
        drawn = self._quantiles(self._kinds, self._normal_errors(), level)
        return np.minimum(found, drawn.best)

    def of_few(self, users: int, level: float) -> LossQuantiles | None:
        """Reports are a multinomial draw of signed characters, whose signs are even where no rule predicts.

        The second moments are those of every population, and the law is nearly so: the band is drawn too where all
        users are alike and all signs lean one way, and the larger quantile is taken.
        """
        if self._kinds is None:
            return None
        if (users, level) not in self._of_few:
            self._of_few[users, level] = self._drawn_of_few(self._kinds, users, level)
        return self._of_few[users, level]

    def _drawn_of_few(self, kinds: list[KindOfRules], users: int, level: float) -> LossQuantiles:
        even = self._quantiles(kinds, self._errors_of_reports(users, 0.0), level)
        leaning = self._quantiles([], self._errors_of_reports(users, 1.0), level)
        return LossQuantiles(_LATTICE * max(even.band, leaning.band), _LATTICE * even.best)

    @cached_property
    def _of_few(self) -> dict[tuple[int, float], LossQuantiles]:
        """What was drawn before: the estimates of a round are made more than once."""
        return {}

    @cached_property
    def _kinds(self) -> list[KindOfRules] | None:
        """The kinds of rules whose errors can be drawn."""
        if self.operator.shape[0] * DRAWS > _MOST_DRAWN:
            return None
        return kinds_of_class(self.operator)

    def _quantiles(self, kinds: list[KindOfRules], draws: Iterator[Floats], level: float) -> LossQuantiles:
        """Of drawn errors (Q, n) of one user; `best` is that of one rule of each kind, and 0 without kinds."""
        first = [int(kind.rules[0]) for kind in kinds]
        scales = [self.differences(rule, 1) for rule in first]
        differing = [scale > _SINGLE * scale.max() for scale in scales]
        own = np.sqrt(np.maximum(self.second_moments, np.finfo(float).tiny))[:, None]
        largest: list[Floats] = []
        worst: list[list[Floats]] = [[] for _ in kinds]
        for errors in draws:
            largest.append((np.abs(errors) / own).max(axis=0))
            for rule, scale, others, of_kind in zip(first, scales, differing, worst, strict=True):
                of_kind.append(((errors[rule] - errors[others]) / scale[others, None]).max(axis=0))
        best = np.zeros(self.operator.shape[0])
        for kind, of_kind in zip(kinds, worst, strict=True):
            best[kind.rules] = quantile_of_draws(np.concatenate(of_kind), level)
        return LossQuantiles(quantile_of_draws(np.concatenate(largest), level), best)

    @cached_property
    def _by_orbit(self) -> tuple[Floats, Floats]:
        """(orbits,) 1/λ of the characters that rules need, 0 of the others; and the same for each character, (p,)."""
        needed = query_fourier_weights(self.operator).by_orbit.max(axis=0) > 0
        information = self.law.spectrum.information.sum(axis=0)
        noise = np.divide(1.0, information, out=np.zeros_like(information), where=needed & (information > 0))
        return noise, noise[self.operator.characters.orbit_of]

    @cached_property
    def _gains(self) -> Floats:
        """(blocks, orbits) the share g of each character that answers take."""
        blocks = range(len(self.operator.blocks))
        return np.stack([(self.law.spectrum.information * self.law.slopes_of(b)[:, 0]).sum(axis=0) for b in blocks])

    def _answers(self, coefficients: Floats) -> Floats:
        """(Q, …) the errors of the losses where the characters have the errors `coefficients` (1 + p, …)."""
        if np.allclose(self._gains[:, self._by_orbit[0] > 0], 1.0):
            return self.operator.answers([coefficients] * len(self._gains))
        shares = np.hstack([np.ones((len(self._gains), 1)), self._gains[:, self.operator.characters.orbit_of]])
        return self.operator.answers([np.einsum("p,p...->p...", share, coefficients) for share in shares])

    def _products(self, rule: int) -> Floats:
        """(Q,) Σ_T l_cT l_rT/λ_T of every rule c with one rule r."""
        operator = self.operator
        number, place, row = operator.homes[rule].tolist()
        block = operator.blocks[number]
        places = operator.characters.places(tuple(block.supports[place].tolist()))
        coefficients = np.zeros(1 + operator.characters.count)
        coefficients[places] = block.table[row]
        coefficients[0] = 0.0
        coefficients[1:] *= self._by_orbit[1] * self._gains[number, operator.characters.orbit_of]
        return self._answers(coefficients)

    def _normal_errors(self) -> Iterator[Floats]:
        """(Q, n) normal errors of the losses of one user, DRAWS in all."""
        generator = np.random.Generator(np.random.PCG64(_SEED))
        used = self._by_orbit[1] > 0
        noise = np.sqrt(self._by_orbit[1][used])[:, None]
        for _ in range(DRAWS // _BATCH):
            yield self._losses_off_by(used, generator.standard_normal((len(noise), _BATCH)) * noise)

    def _errors_of_reports(self, users: int, mean: float) -> Iterator[Floats]:
        """(Q, n) √users times the errors of so many reports, if every character has this mean; DRAWS in all.

        A report tells the character T with chance p_T, and a sign that leans to the user's by t = (e^ε − 1)/(e^ε + 1):
        λ_T = p_T t².
        """
        generator = np.random.Generator(np.random.PCG64(_SEED))
        used, kernel = self._by_orbit[1] > 0, self.law.spectrum.kernel
        lean = (kernel.high - kernel.low) / (kernel.high + kernel.low)
        chances = 1 / (self._by_orbit[1][used] * lean**2)
        every = np.append(chances, max(0.0, 1 - chances.sum()))
        for _ in range(DRAWS // _BATCH):
            told = generator.multinomial(users, every / every.sum(), size=_BATCH)[:, :-1]
            signs = 2 * generator.binomial(told, (1 + lean * mean) / 2) - told
            yield self._losses_off_by(used, np.sqrt(users) * (signs / (users * chances * lean) - mean).T)

    def _losses_off_by(self, used: Mask, errors: Floats) -> Floats:
        """(Q, n) the errors of the losses where the characters that are `used` (p,) have these, one row each."""
        coefficients = np.zeros((1 + len(used), errors.shape[1]))
        coefficients[1:][used] = errors
        return self._answers(coefficients)


def errors_of(law: AnswerMoments, operator: LinearMap) -> ConceptErrors:
    """Exact ones where the kernel allows them."""
    if isinstance(law, LinearAnswers) and not isinstance(operator, CharacterMap):
        return TypeErrors(law, operator)
    if isinstance(law, OrbitAnswerMoments) and _is_of_single_characters(law):
        return CharacterErrors(law, character_map(operator))
    return WorstTypeErrors(law, operator)


def _is_of_single_characters(law: OrbitAnswerMoments) -> bool:
    """Whether each report tells one character, and a block's answers have one slope for all reports of an orbit."""
    if law.levels != 1 or law.offsets.any() or not law.spectrum.single.all():
        return False
    for number in range(len(law.slopes)):
        slopes = law.slopes_of(number)[:, 0]
        most, least = (np.where(law.spectrum.tells, slopes, end) for end in (-np.inf, np.inf))
        apart = most.max(axis=0) - least.min(axis=0)
        if (apart > _SINGLE * np.abs(slopes).max()).any():
            return False
    return True
