"""How tools are run for an organisation, and the variables that all its tools see."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def _common() -> list[sa.Column[object]]:
    return [
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "sandbox_configs",
        *_common(),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_sandbox_configs_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandbox_configs")),
        sa.UniqueConstraint("organization_id", "type", name="unique_sandbox_type"),
    )
    op.create_table(
        "sandbox_environment_variables",
        *_common(),
        sa.Column("sandbox_config_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value_enc", sa.Text(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_sandbox_environment_variables_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["sandbox_config_id"],
            ["sandbox_configs.id"],
            name=op.f("fk_sandbox_environment_variables_sandbox_config_id_sandbox_configs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandbox_environment_variables")),
        sa.UniqueConstraint("sandbox_config_id", "key", name="uix_key_sandbox_config"),
    )


def downgrade() -> None:
    op.drop_table("sandbox_environment_variables")
    op.drop_table("sandbox_configs")
