"""What can be wrong with an archive, always by the name of a file."""

from __future__ import annotations

from sordino_shared.errors import SordinoError


class ArchiveError(SordinoError):
    """An archive cannot be opened, is unfinished, or is not what it says."""

    code = "archive-error"
    advice = "check the archive's address, and write it again with `sordino archive` where it is damaged"


class BadPart(ArchiveError):
    """The file of part `name` is not the one that the manifest names, or holds no reports of its round."""

    code = "bad-part"
    advice = "restore the file from a copy, or archive the round again"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name} {problem}")
        self.name = name
        self.problem = problem

    def __reduce__(self) -> tuple[type[BadPart], tuple[str, str]]:
        # It comes back from other processes.
        return BadPart, (self.name, self.problem)
