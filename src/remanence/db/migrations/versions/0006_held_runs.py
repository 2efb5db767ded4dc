"""A run has a worker only as long as something is left to do for it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_OPEN = sa.text("status IN ('created', 'running')")
_HELD = sa.text("worker IS NOT NULL")


def upgrade() -> None:
    op.execute("UPDATE runs SET worker = NULL WHERE status NOT IN ('created', 'running')")
    op.drop_index("ix_runs_open", table_name="runs", sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_index(
        "ix_runs_held", "runs", ["alive_until"], unique=False, sqlite_where=_HELD, postgresql_where=_HELD
    )


def downgrade() -> None:
    op.drop_index("ix_runs_held", table_name="runs", sqlite_where=_HELD, postgresql_where=_HELD)
    op.create_index(
        "ix_runs_open", "runs", ["alive_until"], unique=False, sqlite_where=_OPEN, postgresql_where=_OPEN
    )
