"""How the public log does, for `/readyz?verbose` and for Prometheus: what waits, and whether witnesses answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.log_settings import AskedWitness, PublicLogSettings
from sordino_server.kit.outgoing import Exchanger, server_at
from sordino_server.kit.single_flight import SingleFlight
from sordino_server.public_log import repository, standing
from sordino_server.public_log.schemas import LogHealth, WitnessHealth
from sordino_shared.errors import NoAnswer, OversizedDocument
from sordino_shared.http.exchange import HttpRequest

# Whoever looks, witnesses are asked this often.
_PROBE_EVERY_S = 30.0
_PROBE_WITHIN_S = 1.5
# A scraper, or an operator, gives up soon after.
LOOK_WITHIN_S = 3.0
_MOST_BYTES = 4096
_MALFORMED = 400

Connect = Callable[[str], Exchanger]


class LogWatch:
    """Looks at the log and at its witnesses; one look at a time, however many ask."""

    def __init__(
        self, database: Database, clock: ServerClock, settings: PublicLogSettings, connect: Connect = server_at
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
        with self._database.read("look at log") as session:
            log = repository.current(session)
            if log is None:
                return None
            newest = repository.newest_checkpoint(session, log)
            since = repository.oldest_waiting(session, log)
            waiting = repository.count_waiting(session, log)
            known = [each for each in standing.standing_of(session, log, self._settings) if each.asked]
            ahead = log.ahead or 0
        size = 0 if newest is None else newest.size
        problems = self._probed(self._settings.witnesses_asked)
        return LogHealth(
            size=size,
            waiting=waiting,
            waiting_s=0 if since is None else max(0, self._clock.now() - since),
            ahead=max(0, ahead - size),
            witnesses=[
                WitnessHealth(**dict(each), answers=problems[each.name] is None, problem=problems[each.name])
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
        request = HttpRequest(
            method="POST",
            path="/witness/add-checkpoint",
            limit=_MOST_BYTES,
            within_s=_PROBE_WITHIN_S,
            headers={"Content-Type": "text/plain; charset=utf-8"},
            content=b"",
        )
        try:
            status = self._connect(witness.address).exchange(request).status
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
