"""What batches consist of."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "batch_items",
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_batch_items_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch_items")),
    )
    op.create_index("ix_batch_items_job_id_position", "batch_items", ["job_id", "position"])
    op.create_index("ix_batch_items_run_id", "batch_items", ["run_id"])


def downgrade() -> None:
    op.drop_index("ix_batch_items_run_id", table_name="batch_items")
    op.drop_index("ix_batch_items_job_id_position", table_name="batch_items")
    op.drop_table("batch_items")
