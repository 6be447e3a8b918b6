"""Sources of a campaign, whose sums come as documents, and keys of role aggregator"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "202611222245"
down_revision = "202611222036"
branch_labels = None
depends_on = None

ROLES = ("admin", "analyst", "uploader")
MORE = (*ROLES, "aggregator")


def upgrade() -> None:
    _change_roles(ROLES, MORE)
    op.add_column("keys", sa.Column("source", sa.String(24)))
    op.add_column("campaigns", sa.Column("sources_deadline_s", sa.BigInteger(), nullable=False, server_default="86400"))
    op.add_column("rounds", sa.Column("sources_waived_at", sa.BigInteger()))
    op.create_table(
        "sources",
        sa.Column("campaign_id", sa.String(64), sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("name", sa.String(24), primary_key=True),
        sa.Column("max_reports", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "source_sums",
        sa.Column("round_id", number, sa.ForeignKey("rounds.id"), primary_key=True, autoincrement=False),
        sa.Column("source", sa.String(24), primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("manifest", sa.String(64)),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    _refuse_sums_from_elsewhere()
    op.drop_table("source_sums")
    op.drop_table("sources")
    op.drop_column("rounds", "sources_waived_at")
    op.drop_column("campaigns", "sources_deadline_s")
    # Entries of the audit log name the keys, so they stay, and open nothing.
    op.execute("UPDATE keys SET role = 'uploader', revoked_at = coalesce(revoked_at, 0) WHERE role = 'aggregator'")
    op.drop_column("keys", "source")
    _change_roles(MORE, ROLES)


def _refuse_sums_from_elsewhere() -> None:
    """The version before would take them for sums of its own log, and find that log and sums do not agree."""
    sums = "accumulators WHERE shard LIKE 'source:%'"
    found = op.get_bind().exec_driver_sql(f"SELECT DISTINCT round_id FROM {sums.replace('%', '%%')} ORDER BY round_id")
    if rounds := [str(number) for (number,) in found]:
        raise CommandError(
            f"rounds with the ids {', '.join(rounds)} count sums from other servers, which the version before cannot: "
            "restore a backup from before they came. To give these sums up, and with them their reports, run in the "
            f"database: DELETE FROM {sums}"
        )


def _change_roles(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    if op.get_bind().dialect.name == "sqlite":
        _write_schema(_allowed(before), _allowed(after))
        return
    name = op.f("ck_keys_role")
    op.drop_constraint(name, "keys", type_="check")
    op.create_check_constraint(name, "keys", _allowed(after))


def _allowed(roles: tuple[str, ...]) -> str:
    return f"role IN ({', '.join(repr(role) for role in roles)})"


def _write_schema(before: str, after: str) -> None:
    """SQLite changes no CHECK in place, and other tables refer to this one. Its documentation allows this for CHECKs:
    the words of the schema are changed, the rows are not.
    """
    connection = op.get_bind()
    where = "type = 'table' AND name = 'keys'"
    words = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE {where}").scalar_one()
    if words.count(before) != 1:
        raise RuntimeError(f"the table keys has no constraint {before!r}: the schema was changed by hand")
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(f"UPDATE sqlite_master SET sql = ? WHERE {where}", (words.replace(before, after),))
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
