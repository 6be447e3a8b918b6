"""People get the role of their groups, and a row of their own that sessions and the audit log refer to."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.models import Key, Role
from sordino_server.people.person import Person
from sordino_shared.protocol import Problem


def role_of(person: Person, settings: Settings) -> Role:
    """The role of the person's groups; raises `forbidden` where they have none."""
    role = settings.roles_of_groups.role_of(person.groups)
    if role is None:
        raise ServerError(
            Problem.FORBIDDEN,
            "none of your groups may use this server: ask who runs it for a group that SORDINO_PEOPLE_ROLES names",
        )
    return Role(role)


def enter(session: Session, person: Person, settings: Settings, now: int) -> Key:
    """The row of a person, with the role of now.

    Raises `forbidden` where the person's groups have no role, and where an admin revoked the person.
    """
    role = role_of(person, settings)
    return keys.put_person(session, person.sha256, person.written(settings.audit_names == "on"), role, now)


def identity(person: Person) -> dict[str, str]:
    """Name and e-mail address, as far as they are known, for an audit log that has names."""
    known = {"name": person.name, "email": person.email}
    return {name: value for name, value in known.items() if value}
