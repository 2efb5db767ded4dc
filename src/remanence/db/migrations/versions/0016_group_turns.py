"""Who spoke in a group and when, and its messages found by the group."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_GROUPED = sa.text("group_id IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "group_turns",
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("round_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"], ["groups.id"], name=op.f("fk_group_turns_group_id_groups"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
            name=op.f("fk_group_turns_run_id_runs"),
            ondelete="CASCADE",
            deferrable=True,
            initially="DEFERRED",
        ),
        sa.PrimaryKeyConstraint("group_id", "number", name=op.f("pk_group_turns")),
    )
    op.create_index(op.f("ix_group_turns_run_id"), "group_turns", ["run_id"], unique=False)
    op.create_index(
        "ix_messages_group_id_created_at",
        "messages",
        ["group_id", "created_at"],
        unique=False,
        sqlite_where=_GROUPED,
        postgresql_where=_GROUPED,
    )


def downgrade() -> None:
    op.drop_index("ix_messages_group_id_created_at", table_name="messages")
    op.drop_index(op.f("ix_group_turns_run_id"), table_name="group_turns")
    op.drop_table("group_turns")
