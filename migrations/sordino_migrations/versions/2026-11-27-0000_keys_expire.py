"""Keys may expire, and say when they were last used"""

import time

import sqlalchemy as sa
from alembic import op

revision = "202611270000"
down_revision = "202611232320"
branch_labels = None
depends_on = None

_KEYS = sa.table("keys", sa.column("revoked_at", sa.BigInteger), sa.column("expires_at", sa.BigInteger))


def upgrade() -> None:
    op.add_column("keys", sa.Column("expires_at", sa.BigInteger()))
    op.add_column("keys", sa.Column("last_used_at", sa.BigInteger()))


def downgrade() -> None:
    # A key that has expired would open everything again.
    expired = (_KEYS.c.revoked_at.is_(None), _KEYS.c.expires_at <= int(time.time()))
    op.execute(_KEYS.update().where(*expired).values(revoked_at=_KEYS.c.expires_at))
    op.drop_column("keys", "last_used_at")
    op.drop_column("keys", "expires_at")
