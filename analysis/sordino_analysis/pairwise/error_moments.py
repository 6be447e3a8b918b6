"""What the error of an estimated quadratic form is like, up to its fourth cumulant.

The error is 2lᵀZ + ZᵀBZ − E ZᵀBZ + an independent part, for l = Ah and the error Z of the mean decoded report. Z has
the covariance C = Σ/n and is nearly normal where many reports are noisy. In the linear term, which is the larger one
where few are, its own third and fourth cumulants count too. For one round A = B = W. The first round's own estimate of
the form W errs by 2qᵀZ + ZᵀWZ − E ZᵀWZ with q = Wh, and by comparison with it the estimate of the slope is corrected.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import numpy as np

from sordino_analysis.arrays import TINY, Floats
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorMoments:
    """Every field is a number, or an array over forms. For l̂ = Aĥ, whose own noise is in it:

    `slope` 4l̂ᵀCl̂ and `slope_noise` what of it is noise, 4tr(ACAC), `turned` 4l̂ᵀCBCl̂ and `twice_turned` 4l̂ᵀCBCBCl̂;
    `quadratic` 2tr(BCBC), `cubic` 8tr((BC)³), `quartic` 48tr((BC)⁴). Of the first round: `first` 4q̂ᵀCq̂ and
    `first_noise` 4tr(WCWC); how it errs with `slope`: `slope_turned` 4l̂ᵀCACq̂, `crossed` 8tr(ACACWC), and
    `slope_varied` through Σ, which depends on who reported. `slope` itself has the variance `wavering` 64l̂ᵀCACACl̂ and
    `wavering_noise` 32tr((AC)⁴).
    `third` and `fourth` cumulant of 2l̂ᵀZ from the laws of the reports; `rare` the fourth moment of one report in B.
    `independent` has the variance of the independent part, `independent_third` and `independent_fourth` its cumulants,
    `scarce` the fourth moment of what in it depends on who was drawn; `answered` is the part of the variance that
    is in proportion to the estimated slope.
    """

    slope: Floats
    slope_noise: Floats
    first: Floats
    first_noise: Floats
    slope_turned: Floats
    slope_varied: Floats
    wavering: Floats
    wavering_noise: Floats
    turned: Floats
    twice_turned: Floats
    quadratic: Floats
    cubic: Floats
    quartic: Floats
    crossed: Floats
    third: Floats
    fourth: Floats
    rare: Floats
    independent: Floats
    independent_third: Floats
    independent_fourth: Floats
    scarce: Floats
    answered: Floats

    def table(self) -> Floats:
        """(fields, …) all of them."""
        return np.array([getattr(self, field.name) for field in fields(self)])

    @classmethod
    def without_slope(cls, quadratic: float, quartic: float, independent: IndependentError) -> ErrorMoments:
        """Of an error without a linear term: a quadratic one of this variance and fourth cumulant, and another."""
        nothing = {field.name: np.zeros(()) for field in fields(cls)}
        without = {
            "quadratic": quadratic,
            "quartic": quartic,
            "independent": independent.variance,
            "independent_third": independent.third,
            "independent_fourth": independent.fourth,
            "scarce": independent.scarce,
        }
        return cls(**nothing | {name: np.asarray(value) for name, value in without.items()})

    @classmethod
    def between(cls, places: Floats, nodes: Floats, moments: list[ErrorMoments]) -> ErrorMoments:
        """The moments at `places` of forms A + δA' and B + δB' known at five `nodes` δ: polynomials of degree four.

        `places` (p,), `nodes` (5,).
        """
        others = nodes[None, :] + np.diag(np.full(len(nodes), np.nan))
        basis = np.nanprod((places[:, None, None] - others) / (nodes[:, None] - others), axis=2)
        table = (basis @ np.array([node.table() for node in moments])).T
        return cls(**dict(zip((field.name for field in fields(cls)), table, strict=True)))


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentError:
    """The part of an error that has nothing to do with the decoded reports: its variance and cumulants.

    `answered` of the variance is that of answers about the slope. `scarce` is the sum of fourth moments of what it is
    a sum of, where few users may make it up.
    """

    variance: float = 0.0
    third: float = 0.0
    fourth: float = 0.0
    scarce: float = 0.0
    answered: float = 0.0

    def __add__(self, other: IndependentError) -> IndependentError:
        return IndependentError(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


NOTHING = IndependentError()


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportErrors:
    """One decoded report's deviation from its user's type (k,), or from the population's histogram.

    `chances` (p, k) are those of an output with a type, over the plausible histogram (k,); `centres` (k, c) are
    what is deviated from, a single column or, where there are none, each type.
    """

    law: DecodedReportMoments
    chances: Floats
    centres: Floats | None
    covariance: Floats
    users: int

    @classmethod
    def about_users(cls, law: DecodedReportMoments, histogram: Floats, users: int) -> ReportErrors:
        """What the randomizer adds to each user's type. `histogram` h (k,)."""
        return cls(
            law=law,
            chances=law.kernel * histogram,
            centres=None,
            covariance=law.covariance(histogram),
            users=users,
        )

    @classmethod
    def about_population(cls, law: DecodedReportMoments, histogram: Floats, users: int) -> ReportErrors:
        """What the randomizer and drawing a user add to the population's histogram. `histogram` h (k,)."""
        return cls.about_users(law, histogram, users).and_of_drawing(histogram)

    def and_of_drawing(self, histogram: Floats) -> ReportErrors:
        """The same about the population that the users were drawn from. `histogram` h (k,)."""
        return ReportErrors(
            law=self.law,
            chances=(self.law.kernel @ histogram)[:, None],
            centres=histogram[:, None],
            covariance=self.covariance + np.diag(histogram) - np.outer(histogram, histogram),
            users=self.users,
        )

    def moments(
        self,
        form: Floats,
        histogram: Floats,
        linear: Floats | None = None,
        quadratic: Floats | None = None,
        independent: IndependentError = NOTHING,
    ) -> ErrorMoments:
        """Of the forms W = `form`, A = `linear` and B = `quadratic` (k, k), which are W in one round, at ĥ."""
        linear = form if linear is None else linear
        quadratic = form if quadratic is None else quadratic
        second, third, fourth = self._along(linear @ histogram)
        varied = 8.0 / self.users**2 * second @ self._fit_noise(form @ histogram)
        laws = ReportCumulants(third, fourth, self._rare(quadratic), varied)
        return quadratic_moments(self._noise, histogram, (form, linear, quadratic), laws, independent)

    @property
    def _noise(self) -> Floats:
        return self.covariance / self.users

    def _fit_noise(self, slope: Floats) -> Floats:
        """n Cov(h*, lᵀZ) (k,) for the histogram h* that fits outputs best, which Σ is taken at: l = `slope` (k,).

        Not Σl, since ĥ has noise besides where the form does not tell types apart.
        """
        weights = self.chances.sum(axis=0)
        drawn = self._spread(weights * self._at_centres(slope))
        return np.asarray(self.law.fit_covariance(self._spread(weights), slope) - drawn)

    def _at_centres(self, linear: Floats) -> Floats:
        """The linear forms (…, k) of each centre, (…, c)."""
        return linear if self.centres is None else linear @ self.centres

    def _spread(self, weights: Floats) -> Floats:
        """(k,) the centres' sum with these weights (c,)."""
        return weights if self.centres is None else self.centres @ weights

    def _along(self, slope: Floats) -> tuple[Floats, Floats, Floats]:
        """Var(l·g | x) (k,) and the third and fourth cumulant of 2lᵀZ."""
        off = 2.0 * ((slope @ self.law.decoder)[:, None] - self._at_centres(slope))
        squares = off**2
        weights = self.chances.sum(axis=0)
        given = (self.chances * squares).sum(axis=0) / np.maximum(weights, TINY)
        third = (self.chances * squares * off).sum() / self.users**2
        fourth = ((self.chances * squares**2).sum() - 3.0 * weights @ given**2) / self.users**3
        return np.broadcast_to(given / 4.0, (self.law.size,)), third, fourth

    def _rare(self, quadratic: Floats) -> Floats:
        """2E(dᵀBd)²/n³ for one report's deviation d; of normal ones it would be of order 1/n against 2tr(BCBC)."""
        turned = quadratic @ self.law.decoder
        centre = (self.law.decoder * turned).sum(axis=0)[:, None]
        at_centres = self._at_centres(quadratic)
        squares = np.diag(quadratic) if self.centres is None else (self.centres * at_centres).sum(axis=0)
        off = centre - 2.0 * self._at_centres(turned.T) + squares
        return np.asarray(2.0 * (self.chances * off**2).sum() / self.users**3)


@dataclass(frozen=True, eq=False)
class ReportCumulants:
    """What reports' own laws add to the moments, as ErrorMoments has it; nothing where reports are nearly normal."""

    third: Floats | float = 0.0
    fourth: Floats | float = 0.0
    rare: Floats | float = 0.0
    slope_varied: Floats | float = 0.0


NORMAL = ReportCumulants()


def quadratic_moments(
    noise: Floats,
    mean: Floats,
    forms: tuple[Floats, Floats, Floats],
    laws: ReportCumulants = NORMAL,
    independent: IndependentError = NOTHING,
) -> ErrorMoments:
    """Of the forms W, A and B (d, d) at a mean report (d,) of this covariance C = `noise` (d, d)."""
    form, linear, quadratic = forms
    slope = linear @ mean
    # Each product takes k³ operations, and in one round the three forms are one.
    straight = linear @ noise
    turning = straight if quadratic is linear else quadratic @ noise
    whole = straight if form is linear else form @ noise
    pulled, pulled_form = noise @ slope, noise @ (form @ mean)
    turned = quadratic @ pulled
    straight_twice = straight @ straight
    turning_twice = straight_twice if turning is straight else turning @ turning
    return ErrorMoments(
        slope=4.0 * slope @ pulled,
        slope_noise=4.0 * np.trace(straight_twice),
        first=4.0 * (form @ mean) @ pulled_form,
        first_noise=4.0 * (whole * whole.T).sum(),
        slope_turned=4.0 * pulled @ (linear @ pulled_form),
        slope_varied=np.asarray(laws.slope_varied),
        wavering=64.0 * (linear @ pulled) @ noise @ (linear @ pulled),
        wavering_noise=32.0 * (straight_twice * straight_twice.T).sum(),
        turned=4.0 * pulled @ turned,
        twice_turned=4.0 * turned @ (noise @ turned),
        quadratic=2.0 * np.trace(turning_twice),
        cubic=8.0 * (turning_twice * turning.T).sum(),
        quartic=48.0 * (turning_twice * turning_twice.T).sum(),
        crossed=8.0 * (straight_twice * whole.T).sum(),
        third=np.asarray(laws.third),
        fourth=np.asarray(laws.fourth),
        rare=np.asarray(laws.rare),
        independent=np.asarray(independent.variance),
        independent_third=np.asarray(independent.third),
        independent_fourth=np.asarray(independent.fourth),
        scarce=np.asarray(independent.scarce),
        answered=np.asarray(independent.answered),
    )
