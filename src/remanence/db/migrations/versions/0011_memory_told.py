"""What the model of a history knows of its agent's memory."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("leases", sa.Column("told", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("leases", "told")
