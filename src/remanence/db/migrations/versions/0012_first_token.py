"""How long the model of a step took to its first token."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("steps", sa.Column("first_token_ns", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("steps", "first_token_ns")
