"""How the public log does, for `/readyz?verbose` and for Prometheus: what waits, and whether witnesses answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.log_settings import AskedWitness, PublicLogSettings
from sordino_server.kit.single_flight import SingleFlight
from sordino_server.public_log import repository
from sordino_shared.errors import NoAnswer, OversizedDocument

if TYPE_CHECKING:
    # Imported where witnesses are asked: most servers have none.
    from sordino_server.kit.outgoing import Exchanger

# Witnesses are asked as often at most, however many look.
_PROBE_EVERY_S = 30.0
_PROBE_WITHIN_S = 1.5
# A scraper gives up after ten seconds, and waits for what the database holds as well.
LOOK_WITHIN_S = 2.0
_MOST_BYTES = 4096
_MALFORMED = 400

Connect = Callable[[str], "Exchanger"]


@dataclass(frozen=True, kw_only=True)
class WitnessHealth:
    """Whether a witness answers now, and the largest checkpoint that it cosigned.

    `size` and `missing` in entries, `cosigned_at` in Unix seconds, None for never; `problem` is why it does not answer.
    """

    name: str
    answers: bool
    problem: str | None
    size: int
    missing: int
    cosigned_at: int | None


@dataclass(frozen=True, kw_only=True)
class LogHealth:
    """How the public log does: entries that are signed, that wait, for how many seconds, and that others alone know."""

    size: int
    waiting: int
    waiting_s: int
    ahead: int
    witnesses: list[WitnessHealth]


class LogWatch:
    """Looks at the log and at its witnesses; one look at a time, however many ask."""

    def __init__(
        self, database: Database, clock: ServerClock, settings: PublicLogSettings, connect: Connect | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._connect = connect
        self._looking: SingleFlight[LogHealth | None] = SingleFlight()
        self._problems: dict[str, str | None] = {}
        self._probe_at = 0.0

    def outcome(self) -> Future[LogHealth | None]:
        """How the log does, None for a server without one; raises DatabaseError."""
        return self._looking.outcome(self._look)

    def _look(self) -> LogHealth | None:
        # Imported here: it makes the documents of the API, which a worker has no use for.
        from sordino_server.public_log.standing import LogStanding

        with self._database.read("look at log") as session:
            log = repository.current(session)
            if log is None:
                return None
            standing = LogStanding.of(session, log, self._clock.now())
            since = repository.oldest_waiting(session, log)
            waiting = repository.count_waiting(session, log)
            known = [each for each in standing.witnesses(self._settings) if each.asked]
            ahead = log.ahead or 0
        size = standing.size
        problems = self._probed(self._settings.witnesses_asked)
        return LogHealth(
            size=size,
            waiting=waiting,
            waiting_s=0 if since is None else max(0, self._clock.now() - since),
            ahead=max(0, ahead - size),
            witnesses=[
                WitnessHealth(
                    name=each.name,
                    answers=problems[each.name] is None,
                    problem=problems[each.name],
                    size=each.size,
                    missing=each.missing,
                    cosigned_at=each.cosigned_at,
                )
                for each in known
            ],
        )

    def _probed(self, witnesses: Sequence[AskedWitness]) -> dict[str, str | None]:
        """By name, why a witness does not answer, None where it does."""
        if witnesses and monotonic() >= self._probe_at:
            with ThreadPoolExecutor(len(witnesses)) as threads:
                found = threads.map(self._problem, witnesses)
                self._problems = {each.key.name: problem for each, problem in zip(witnesses, found, strict=True)}
            self._probe_at = monotonic() + _PROBE_EVERY_S
        return self._problems

    def _problem(self, witness: AskedWitness) -> str | None:
        """An empty offer costs a witness nothing: it answers 400, as C2SP says, and anything else is no witness."""
        from sordino_server.kit.outgoing import server_at
        from sordino_shared.http.exchange import HttpRequest

        connect = self._connect or server_at
        request = HttpRequest(
            method="POST",
            path="/witness/add-checkpoint",
            limit=_MOST_BYTES,
            within_s=_PROBE_WITHIN_S,
            headers={"Content-Type": "text/plain; charset=utf-8"},
            content=b"",
        )
        try:
            status = connect(witness.address).exchange(request).status
        except (NoAnswer, OversizedDocument) as error:
            return str(error)
        return None if status == _MALFORMED else f"it answers {status} to an empty offer, where a witness answers 400"


class LogMetrics(Collector):
    """What is seen of the log, as metrics; none where there is no log, or while the database does not answer."""

    def __init__(self, watch: LogWatch) -> None:
        self._watch = watch

    def collect(self) -> Iterable[GaugeMetricFamily]:
        try:
            found = self._watch.outcome().result(LOOK_WITHIN_S)
        except (DatabaseError, TimeoutError):
            return ()
        return () if found is None else _families(found)


def _families(found: LogHealth) -> list[GaugeMetricFamily]:
    up = GaugeMetricFamily("sordino_log_witness_up", "Whether a witness answers: 1 or 0.", labels=["witness"])
    missing = GaugeMetricFamily(
        "sordino_log_witness_missing_entries", "Entries that a witness has not cosigned.", labels=["witness"]
    )
    for each in found.witnesses:
        up.add_metric([each.name], each.answers)
        missing.add_metric([each.name], each.missing)
    return [
        GaugeMetricFamily("sordino_log_entries", "Entries of the public log's checkpoint.", value=found.size),
        GaugeMetricFamily(
            "sordino_log_oldest_waiting_entry_age_seconds",
            "Since the oldest entry was written that is not in the tree yet; 0 if there is none.",
            value=found.waiting_s,
        ),
        GaugeMetricFamily(
            "sordino_log_ahead_entries",
            "Entries that are known elsewhere and not here: above 0 nothing is signed.",
            value=found.ahead,
        ),
        up,
        missing,
    ]
