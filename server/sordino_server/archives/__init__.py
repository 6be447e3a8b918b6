"""Where the reports of rounds lie as files, and their end together with the reports."""

from sordino_server.archives.deleting import ArchiveKept, delete_archives
from sordino_server.archives.repository import begin, finish, give_to_operator, holds, of_round

__all__ = ["ArchiveKept", "begin", "delete_archives", "finish", "give_to_operator", "holds", "of_round"]
