"""What runs have begun outside, what providers were asked and said, and the time a step spends on storage."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "tool_journal",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_tool_journal_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_tool_journal")),
    )
    op.create_table(
        "provider_traces",
        sa.Column("step_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["step_id"], ["steps.id"], name=op.f("fk_provider_traces_step_id_steps"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("step_id", name=op.f("pk_provider_traces")),
    )
    op.create_index("ix_provider_traces_created_at", "provider_traces", ["created_at"], unique=False)
    op.add_column("steps", sa.Column("database_ns", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("steps", "database_ns")
    op.drop_index("ix_provider_traces_created_at", table_name="provider_traces")
    op.drop_table("provider_traces")
    op.drop_table("tool_journal")
