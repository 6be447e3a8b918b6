"""Datasets with a cap in pure ε, and releases under it; until now all were of ρ"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "202611271300"
down_revision = "202611270915"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("account", sa.String(16), nullable=False, server_default="rho"))
    op.execute("ALTER TABLE releases RENAME COLUMN nano_rho TO nano")
    op.add_column("releases", sa.Column("kind", sa.String(32), nullable=False, server_default="zcdp"))
    op.add_column("releases", sa.Column("mechanism", sa.String(32), nullable=True))


def downgrade() -> None:
    _refuse_pure()
    op.drop_column("releases", "mechanism")
    op.drop_column("releases", "kind")
    op.execute("ALTER TABLE releases RENAME COLUMN nano TO nano_rho")
    op.drop_column("datasets", "account")


def _refuse_pure() -> None:
    """The version before would read ε as ρ, and count another sum against the cap."""
    bind = op.get_bind()
    pure = "SELECT DISTINCT dataset_id FROM releases WHERE kind <> 'zcdp'"
    found = bind.exec_driver_sql(f"SELECT name FROM datasets WHERE account <> 'rho' OR id IN ({pure}) ORDER BY name")
    if names := [name for (name,) in found]:
        raise CommandError(
            f"the datasets {', '.join(names)} have caps or releases in pure ε, which the version before reads as ρ: "
            "restore a backup from before they were made"
        )
