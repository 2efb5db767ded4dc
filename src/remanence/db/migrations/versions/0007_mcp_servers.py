"""MCP servers."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    json: Any = sa.JSON(none_as_null=True)
    op.create_table(
        "mcp_servers",
        sa.Column("server_name", sa.String(), nullable=False),
        sa.Column("server_type", sa.String(), nullable=False),
        sa.Column("config", json, nullable=False),
        sa.Column("secrets_enc", sa.Text(), nullable=True),
        sa.Column("oauth_enc", sa.Text(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_mcp_servers_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mcp_servers")),
        sa.UniqueConstraint("organization_id", "server_name", name="uix_mcp_server_name_organization"),
    )


def downgrade() -> None:
    op.drop_table("mcp_servers")
