"""Populations with caps of ε, and an append-only ledger of what campaigns asked"""

import hashlib

import sqlalchemy as sa
from alembic import op

from sordino_shared.protocol import Manifest

revision = "202611212240"
down_revision = "202611212200"
branch_labels = None
depends_on = None

LEDGER = "population_ledger"


def upgrade() -> None:
    populations = op.create_table(
        "populations",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("period_nano", sa.BigInteger()),
        sa.Column("period_days", sa.Integer()),
        sa.Column("lifetime_nano", sa.BigInteger()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_populations")),
    )
    ledger = op.create_table(
        LEDGER,
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("population_id", sa.String(64), nullable=False),
        sa.Column("nano", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f(f"pk_{LEDGER}")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f(f"fk_{LEDGER}_campaign_id")),
        sa.ForeignKeyConstraint(["population_id"], ["populations.id"], name=op.f(f"fk_{LEDGER}_population_id")),
    )
    op.create_index(op.f(f"ix_{LEDGER}_population_id"), LEDGER, ["population_id"])
    _enter_what_was_asked(populations, ledger)
    _refuse_changes()


def _enter_what_was_asked(populations: sa.Table, ledger: sa.Table) -> None:
    """Campaigns that opened before there was a ledger spent ε all the same."""
    query = sa.text("SELECT id, population, manifest, opened_at FROM campaigns WHERE opened_at IS NOT NULL")
    known: dict[str, int] = {}
    entries = []
    for row in op.get_bind().execute(query).all():
        known[row.population] = min(row.opened_at, known.get(row.population, row.opened_at))
        entry = {"campaign_id": row.id, "population_id": _digest(row.population), "created_at": row.opened_at}
        entries.append(entry | {"nano": Manifest.read(row.manifest).device_guarantee.nano})
    rows = [
        {"id": _digest(name), "name": name, "version": 1, "created_at": first} for name, first in sorted(known.items())
    ]
    op.bulk_insert(populations, rows)
    op.bulk_insert(ledger, entries)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _refuse_changes() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for event in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {LEDGER}_{event.lower()} BEFORE {event} ON {LEDGER}"
                " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {LEDGER}_unchanged() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {LEDGER}_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON {LEDGER}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {LEDGER}_unchanged()"
    )


def downgrade() -> None:
    op.drop_table(LEDGER)
    op.drop_table("populations")
    if op.get_bind().dialect.name != "sqlite":
        op.execute(f"DROP FUNCTION {LEDGER}_unchanged()")
