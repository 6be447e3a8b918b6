"""`python -m benchmarks.strings.cases`: texts of a code, and what devices, users and forgers may do to a list.

Texts of `words`, `apps` and `urls` are drawn from the code itself, bit by bit, so that their lengths are those that the
code is for; their shares follow a law of Zipf. No list of somebody's strings is needed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.strings.certification import forged_reach
from sordino_analysis.strings.device_plan import string_device, string_domain
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import HELD_OUT, StringReports
from sordino_analysis.strings.search import FoundStrings, StringDomain, find_strings
from sordino_analysis.text_codes.reading import CodeReader, End
from sordino_analysis.text_codes.shipped_codes import shipped_code
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import TextCode
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened

_BATCH = 1 << 16
_LONGEST = 512
# A report of a forger who wants it holds the string but once in thousands.
_SURE = PureEpsilon.of("16")
Row = dict[str, Any]


@dataclass(frozen=True)
class Terms:
    """A plan: code, ε, depth and beam; the salt follows from `seed`."""

    code: str
    epsilon: str
    depth: int
    beam: int
    seed: int

    @property
    def plan(self) -> LevelPlan:
        """Levels."""
        return LevelPlan(self.depth, self.beam, 0.05)

    @property
    def device(self) -> DevicePart:
        """The device part."""
        salt = np.random.default_rng(self.seed).bytes(16)
        domain = string_domain("text", shipped_code(self.code).code, self.plan.ends, "nfc", salt)
        return string_device(domain, self.plan, PureEpsilon.of(self.epsilon))


def texts_of(code: TextCode, count: int, seed: int) -> list[str]:
    """So many texts, all different, as random bits make them."""
    reader, rng, found = CodeReader(code), np.random.default_rng(seed), dict[str, None]()
    while len(found) < count:
        read = reader.read(int.from_bytes(rng.bytes(_LONGEST // 8), "big"), _LONGEST)
        if read.end is End.OPEN or not read.text:
            continue
        found[read.text.decode("utf-8", "replace")] = None
    return list(found)


def zipf(count: int) -> NDArray[np.float64]:
    """(count,) shares."""
    shares = 1 / np.arange(1, count + 1)
    return np.asarray(shares / shares.sum())


def reports_of(device: DevicePart, texts: Sequence[str], holders: NDArray[Any], seed: int) -> list[NDArray[np.uint8]]:
    """Pages of reports of devices that hold `texts[holders]`."""
    codes = np.array([device.domain.codes(text) for text in texts], dtype=np.uint64)
    starts = range(0, len(holders), _BATCH)
    return [
        randomize_part(device, codes[holders[start : start + _BATCH]], SeededRandomness((seed << 20) + start))
        for start in starts
    ]


def forged(device: DevicePart, text: str, count: int, seed: int, *, held_out: bool = False) -> list[NDArray[np.uint8]]:
    """Reports that all hold a text, of levels as devices draw them or all of the held-out one."""
    assert isinstance(device.randomizer, Coarsened)
    levels = list(device.randomizer.levels)
    if held_out:
        whole = sum(level.chance for level in levels)
        chances = [1 if at != HELD_OUT else whole - len(levels) + 1 for at in range(len(levels))]
        levels = [replace(level, chance=chance) for level, chance in zip(levels, chances, strict=True)]
    randomizer = Coarsened.for_guarantee(device.domain.shape, levels, _SURE)
    liar = DevicePart(device.domain, _SURE, randomizer)
    return reports_of(liar, [text], np.zeros(count, dtype=np.intp), seed)


def judged(
    terms: Terms, pages: list[NDArray[np.uint8]], held: Mapping[str, float], watched: Sequence[str] = ()
) -> tuple[Row, FoundStrings]:
    """What is found, beside the shares of the reporters that hold each text."""
    device, plan = terms.device, terms.plan
    assert isinstance(device.randomizer, Coarsened)
    strings, reports = StringDomain(device.domain, device.randomizer), StringReports.of(device.randomizer, pages)
    before = time.process_time()
    codes = [strings.text.bits_of(text) for text in watched]
    found = find_strings(strings, reports, plan.beam, plan.error, plan.sought, watched=codes)
    seconds = time.process_time() - before
    true: dict[int, float] = {}
    for text, share in held.items():
        true[code] = true.get(code := strings.text.bits_of(text), 0.0) + share
    shares = np.array([true.get(code, 0.0) for code in found.codes])
    low, high = found.certified.interval.T
    sure = found.certified.certified
    certified = {code for code, listed in zip(found.codes, sure.tolist(), strict=True) if listed}
    missed = max((share for code, share in true.items() if code not in certified), default=0.0)
    planned = plan.found * (strings.chances.variance / reports.count) ** 0.5
    return {
        "code": terms.code,
        "epsilon": terms.epsilon,
        "users": reports.count,
        "bits": terms.depth,
        "beam": terms.beam,
        "listed": int(sure.sum()),
        "cut": sum(found.texts[at].end is End.OPEN for at in np.flatnonzero(sure)),
        "held_by_nobody": int((sure & (shares == 0)).sum()),
        "intervals_that_hold": f"{int(((low <= shares) & (shares <= high)).sum())} of {len(shares)}",
        "largest_missed": round(missed, 5),
        "planned": round(planned, 5),
        "cpu_s": round(seconds, 2),
    }, found


def held_shares(texts: Sequence[str], holders: NDArray[Any]) -> dict[str, float]:
    """The share of the reporters that holds each text."""
    counts = np.bincount(holders, minlength=len(texts)) / len(holders)
    return dict(zip(texts, counts.tolist(), strict=True))


def natural(terms: Terms, users: int, count: int = 12_000) -> Row:
    """Texts of the code itself, by Zipf."""
    texts = texts_of(shipped_code(terms.code).code, count, terms.seed)
    holders = np.random.default_rng(terms.seed + 1).choice(count, size=users, p=zipf(count))
    row, _ = judged(terms, reports_of(terms.device, texts, holders, terms.seed), held_shares(texts, holders))
    return row


def nothing(terms: Terms, users: int, alike: int, campaigns: int, watched: int = 0) -> Row:
    """Campaigns in which `alike` strings are equally common, or each device has one of its own where 0.

    So many strings are `watched`, which nobody holds.
    """
    asked = [f"~{number}" for number in range(watched)]
    wrong, failed, seconds = 0, 0, 0.0
    for number in range(campaigns):
        own = replace(terms, seed=terms.seed + number)
        count = alike or users
        texts = [f"{number:x} {each:x}" for each in range(count)]
        holders = np.arange(users) % count
        row, _ = judged(own, reports_of(own.device, texts, holders, own.seed), held_shares(texts, holders), asked)
        wrong += row["held_by_nobody"] > 0
        right, _, all_of_them = row["intervals_that_hold"].partition(" of ")
        failed += right != all_of_them
        seconds += row["cpu_s"]
    return {
        **{name: row[name] for name in ("epsilon", "users", "bits", "beam")},
        "alike": alike or users,
        "campaigns": campaigns,
        "wrong_lists": wrong,
        "campaigns_with_an_interval_that_fails": failed,
        "cpu_s": round(seconds, 1),
    }


def alone(terms: Terms, users: int, others: int) -> Row:
    """One string that all devices hold but `others`."""
    texts, holders = ["the one that all hold", "something else"], np.zeros(users, dtype=np.intp)
    holders[:others] = 1
    row, found = judged(terms, reports_of(terms.device, texts, holders, terms.seed), held_shares(texts, holders))
    at = int(np.argmax(found.certified.uncut))
    return row | {"interval": [round(end, 4) for end in found.certified.interval[at].tolist()]}


def beginning(terms: Terms, users: int) -> Row:
    """24 strings of .6 to 1.25 times the planned share that share their first 24 bits, among 4,000 rare ones."""
    planned = terms.plan.found * (_variance(terms) / users) ** 0.5
    rng = np.random.default_rng(terms.seed)
    rare = [rng.integers(0x21, 0x7F, size=20, dtype=np.uint8).tobytes().decode() for _ in range(4024)]
    texts = [f"abc{each}" for each in rare[:24]] + rare[24:]
    shares = np.linspace(0.6, 1.25, 24) * planned
    law = np.concatenate([shares, np.full(4000, (1 - shares.sum()) / 4000)])
    holders = rng.choice(len(law), size=users, p=law)
    row, _ = judged(terms, reports_of(terms.device, texts, holders, terms.seed), held_shares(texts, holders))
    return row


def correlated(terms: Terms, campaigns: int) -> Row:
    """2,000 users with 50 devices each: 200 users have one string on all of them, the others one each."""
    wrong, failed, certified = 0, 0, 0
    texts = ["the common one", *(f"own {each:x}" for each in range(1800))]
    holders = np.repeat(np.concatenate([np.zeros(200, dtype=np.intp), np.arange(1, 1801)]), 50)
    for number in range(campaigns):
        own = replace(terms, seed=terms.seed + number)
        row, _ = judged(own, reports_of(own.device, texts, holders, own.seed), held_shares(texts, holders))
        wrong += row["held_by_nobody"] > 0
        right, _, all_of_them = row["intervals_that_hold"].partition(" of ")
        failed += right != all_of_them
        certified += row["listed"]
    return {
        **{name: row[name] for name in ("epsilon", "users", "bits", "beam")},
        "campaigns": campaigns,
        "wrong_lists": wrong,
        "campaigns_with_an_interval_that_fails": failed,
        "certified": certified,
    }


def planted_by_forgers(terms: Terms, users: int, share: float, *, held_out: bool = False) -> Row:
    """A share of forged reports, all for a string that nobody holds; what it gains beside what is computed."""
    device, texts = terms.device, texts_of(shipped_code(terms.code).code, 12_000, terms.seed)
    liars = round(users * share)
    holders = np.random.default_rng(terms.seed + 1).choice(len(texts), size=users - liars, p=zipf(len(texts)))
    lie = "a planted string"
    pages = [*reports_of(device, texts, holders, terms.seed), *forged(device, lie, liars, 7, held_out=held_out)]
    held = {text: each * (1 - share) for text, each in held_shares(texts, holders).items()}
    row, found = judged(terms, pages, held)
    assert isinstance(device.randomizer, Coarsened)
    strings = StringDomain(device.domain, device.randomizer)
    gain, counted = forged_reach(strings.chances, terms.plan.held_out)
    at = found.codes.index(code) if (code := strings.text.bits_of(lie)) in found.codes else None
    return row | {
        "forged": share,
        "listed_at": None if at is None or not found.certified.certified[at] else round(found.certified.uncut[at], 4),
        "computed": round(share * (counted if held_out else gain), 4),
        "reports": found.reports,
    }


def _variance(terms: Terms) -> float:
    randomizer = terms.device.randomizer
    assert isinstance(randomizer, Coarsened)
    return StringDomain(terms.device.domain, randomizer).chances.variance


_MILLION = 10**6
CASES: Mapping[str, Callable[[], Row]] = {
    "words, ε = 1": lambda: natural(Terms("words", "1", 34, 1000, 1), _MILLION),
    "words, ε = 4": lambda: natural(Terms("words", "4", 34, 300, 1), _MILLION),
    "apps, ε = 4": lambda: natural(Terms("apps", "4", 72, 300, 1), _MILLION),
    "urls, ε = 4": lambda: natural(Terms("urls", "4", 90, 300, 1), _MILLION),
    "urls, ε = 6": lambda: natural(Terms("urls", "6", 90, 300, 1), 200_000),
    "urls, ε = 1": lambda: natural(Terms("urls", "1", 48, 300, 1), _MILLION),
    "3,000 alike, ε = 1": lambda: nothing(Terms("bytes", "1", 48, 300, 1), 50_000, 3000, 100),
    "3,000 alike, ε = 4": lambda: nothing(Terms("bytes", "4", 48, 300, 201), 50_000, 3000, 30),
    "each its own, ε = 1": lambda: nothing(Terms("bytes", "1", 48, 300, 301), 50_000, 0, 30),
    "3,000 alike, 200 watched": lambda: nothing(Terms("bytes", "4", 48, 100, 401), 20_000, 3000, 200, 200),
    "all hold it": lambda: alone(Terms("bytes", "2", 48, 300, 1), 100_000, 0),
    "all but one hold it": lambda: alone(Terms("bytes", "2", 48, 300, 2), 100_000, 1),
    "one beginning": lambda: beginning(Terms("bytes", "1", 48, 300, 1), _MILLION),
    "50 devices a user": lambda: correlated(Terms("bytes", "2", 48, 300, 1), 40),
    ".2 % forged": lambda: planted_by_forgers(Terms("words", "4", 48, 300, 1), 200_000, 0.002),
    ".4 % forged": lambda: planted_by_forgers(Terms("words", "4", 48, 300, 1), 200_000, 0.004),
    ".8 % forged": lambda: planted_by_forgers(Terms("words", "4", 48, 300, 1), 200_000, 0.008),
    "1 % forged, held out": lambda: planted_by_forgers(Terms("words", "4", 48, 300, 1), 200_000, 0.01, held_out=True),
}


def rows(names: Sequence[str]) -> Iterator[Row]:
    """A row for each case."""
    for name in names:
        yield {"case": name} | CASES[name]()


def main() -> None:
    """Print a line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"Default: all of {'; '.join(CASES)}".replace("%", "%%")
    )
    for row in rows(parser.parse_args().cases or list(CASES)):
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
