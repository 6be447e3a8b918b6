"""What can go wrong at a shuffler, in words that say what to do."""

from __future__ import annotations

from pathlib import Path

from sordino_shared.protocol import Problem


class ShufflerError(Exception):
    """Root of the shuffler's errors."""


class StoreInUse(ShufflerError):
    """Another program holds the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is in use by another program: run one `sordino-shuffler serve` for each folder")


class StoreOfAnotherVersion(ShufflerError):
    """The file is not one that this program reads."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is no store that this version of sordino-shuffler reads ({reason}): name a new folder"
        )


class PlanChanged(ShufflerError):
    """The collector named another plan or end for a round than before."""

    def __init__(self, round_id: int, number: int) -> None:
        super().__init__(
            f"the collector named another plan or end for round {number} than before: the round is given up, and "
            "nothing of it is delivered"
        )
        self.round_id = round_id


class RoundUnknown(ShufflerError):
    """The round is not one that this shuffler collects."""

    def __init__(self, number: int) -> None:
        super().__init__(f"round {number} is not collected here")


class RoundOver(ShufflerError):
    """The round takes no reports, and these were not here before."""

    def __init__(self, number: int) -> None:
        super().__init__(f"round {number} takes no reports")


class ReleasedBefore(ShufflerError):
    """The round was released with another batch: this folder was restored or copied."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"round {number} was released before with another batch, so this folder was restored from a backup or "
            "copied. A second batch would tell the reports of devices from the blanket: its reports are deleted unsent"
        )


class LeastFree(ShufflerError):
    """The disk is nearly full."""

    def __init__(self, free_mb: int, least_mb: int) -> None:
        super().__init__(f"{free_mb} MB are free, and {least_mb} MB are kept: free some space")


class TooMuchWaits(ShufflerError):
    """Too much waits to be written."""

    def __init__(self) -> None:
        super().__init__("too many reports wait to be written; try again later")


class WrongSetting(ShufflerError):
    """A setting, or a line of the file of campaigns, that cannot be used."""


class DocumentRefused(ShufflerError):
    """A document of the collector that is not served."""


class PlanContradicted(DocumentRefused):
    """A task, signed by the collector, names another plan or end than the manifest."""


class TokensRefused(ShufflerError):
    """The issuer gives no tokens for the random reports of a round, or none that its key made."""


class CollectorTrouble(ShufflerError):
    """The collector did not give or take something; `after_s` is when it asks to be tried again.

    `conflict` where it has another batch of the round: trying again changes nothing by itself. `over` where it wants
    nothing of the round any more: it was cancelled, or is of a period after the end of its series. `problem` is what
    it answered with, None for no answer or another one.
    """

    def __init__(
        self, sentence: str, after_s: float | None = None, *, problem: Problem | None = None, detail: str | None = None
    ) -> None:
        super().__init__(sentence)
        self.after_s = after_s
        self.problem = problem
        self.detail = detail

    @property
    def conflict(self) -> bool:
        return self.problem is Problem.BATCH_CONFLICT

    @property
    def over(self) -> bool:
        return self.problem is Problem.ILLEGAL_TRANSITION
