"""First tables"""

import sqlalchemy as sa
from alembic import op

revision = "202611201140"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _one_of(table: str, column: str, *values: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=op.f(f"ck_{table}_{column}"))


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}"))


def _refers(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [target], name=op.f(f"fk_{table}_{column}"))


def upgrade() -> None:
    _create_keys()
    _create_plans()
    _create_campaigns()
    _create_reports()


def _create_keys() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("secret_sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger()),
        _key("keys", "id"),
        _one_of("keys", "role", "admin", "analyst", "uploader"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("method_path", sa.String(2048), nullable=False),
        sa.Column("body_sha256", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _key("idempotency_keys", "key_id", "key"),
        _refers("idempotency_keys", "key_id", "keys.id"),
    )


def _create_plans() -> None:
    op.create_table(
        "workloads",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("specification", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _key("workloads", "id"),
    )
    op.create_table(
        "plan_parts",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.String(16), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _key("plan_parts", "digest"),
        _one_of("plan_parts", "document", "device_part", "analyst_part"),
    )
    op.create_table(
        "plan_requests",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("workload_id", sa.String(64), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("stage", sa.String(200), nullable=False),
        sa.Column("summary", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("device_digest", sa.String(64)),
        sa.Column("analyst_digest", sa.String(64)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(64)),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("finished_at", sa.BigInteger()),
        _key("plan_requests", "id"),
        _refers("plan_requests", "workload_id", "workloads.id"),
        _refers("plan_requests", "device_digest", "plan_parts.digest"),
        _refers("plan_requests", "analyst_digest", "plan_parts.digest"),
        _one_of("plan_requests", "state", "queued", "running", "ready", "failed"),
    )
    op.create_index(op.f("ix_plan_requests_state_created_at"), "plan_requests", ["state", "created_at"])


def _create_campaigns() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("population", sa.String(200), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("opened_at", sa.BigInteger()),
        sa.Column("closed_at", sa.BigInteger()),
        _key("campaigns", "id"),
        _one_of("campaigns", "state", "ready", "open", "closed", "cancelled"),
    )
    op.create_index(op.f("ix_campaigns_population"), "campaigns", ["population"])
    op.create_index(op.f("ix_campaigns_created_at"), "campaigns", ["created_at"])
    op.create_table(
        "rounds",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("device_digest", sa.String(64), nullable=False),
        sa.Column("analyst_digest", sa.String(64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.BigInteger()),
        sa.Column("closed_at", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("lease_owner", sa.String(64)),
        sa.Column("lease_until", sa.BigInteger()),
        _key("rounds", "id"),
        _refers("rounds", "campaign_id", "campaigns.id"),
        _refers("rounds", "device_digest", "plan_parts.digest"),
        _refers("rounds", "analyst_digest", "plan_parts.digest"),
        sa.UniqueConstraint("campaign_id", "index", name=op.f("uq_rounds_campaign_id_index")),
        _one_of("rounds", "state", "pending", "open", "closed", "estimated", "cancelled"),
        sa.CheckConstraint("epoch >= 0 AND epoch < 65536", name=op.f("ck_rounds_epoch")),
    )
    op.create_index(op.f("ix_rounds_state"), "rounds", ["state"])
    op.create_table(
        "estimates",
        sa.Column("round_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _key("estimates", "round_id"),
        _refers("estimates", "round_id", "rounds.id"),
    )


def _create_reports() -> None:
    op.create_table(
        "reports",
        sa.Column("round_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("report_id", sa.LargeBinary(16), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(16), nullable=False),
        _key("reports", "round_id", "report_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "report_chunks",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("round_id", NUMBER, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("payloads", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _key("report_chunks", "id"),
        _refers("report_chunks", "round_id", "rounds.id"),
    )
    op.create_index(op.f("ix_report_chunks_round_id"), "report_chunks", ["round_id"])
    op.create_table(
        "accumulators",
        sa.Column("round_id", NUMBER, nullable=False, autoincrement=False),
        sa.Column("shard", sa.String(32), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("sums", sa.LargeBinary(), nullable=False),
        _key("accumulators", "round_id", "shard"),
        _refers("accumulators", "round_id", "rounds.id"),
    )
    op.create_table(
        "refusals",
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        _key("refusals", "campaign_id", "reason"),
        _refers("refusals", "campaign_id", "campaigns.id"),
    )


def downgrade() -> None:
    for table in (
        "refusals",
        "accumulators",
        "report_chunks",
        "reports",
        "estimates",
        "rounds",
        "campaigns",
        "plan_requests",
        "plan_parts",
        "workloads",
        "idempotency_keys",
        "keys",
    ):
        op.drop_table(table)
