"""What steps cost, and what may be spent."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("steps", sa.Column("cost_nanos", sa.BigInteger(), nullable=True))
    op.create_table(
        "budgets",
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("limit_nanos", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_budgets_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_budgets_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budgets")),
        sa.UniqueConstraint("subject", "period", name="unique_budget"),
    )
    op.create_index("ix_budgets_organization_id", "budgets", ["organization_id"], unique=False)
    op.create_index("ix_budgets_agent_id", "budgets", ["agent_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_budgets_agent_id", table_name="budgets")
    op.drop_index("ix_budgets_organization_id", table_name="budgets")
    op.drop_table("budgets")
    op.drop_column("steps", "cost_nanos")
