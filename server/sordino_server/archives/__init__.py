"""Where the reports of rounds lie as files, and their end together with the reports."""

from sordino_server.archives.deleting import ArchiveKept, check_archives, delete_archives
from sordino_server.archives.repository import begin, finish, give_to_operator, holds, of_round

__all__ = [
    "ArchiveKept",
    "begin",
    "check_archives",
    "delete_archives",
    "finish",
    "give_to_operator",
    "holds",
    "of_round",
]
