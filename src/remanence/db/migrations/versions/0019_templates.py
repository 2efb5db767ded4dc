"""Templates of agents, their versions, and what was made from them."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "templates",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("latest", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        *_common("templates"),
        sa.UniqueConstraint("organization_id", "name", name="unique_template_name"),
    )
    op.create_table(
        "template_versions",
        sa.Column("template_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("memory_variables", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("file", sa.JSON(), nullable=False),
        *_common("template_versions"),
        _of_template("template_versions"),
        sa.UniqueConstraint("template_id", "number", name="unique_template_version"),
    )
    op.create_table(
        "template_deployments",
        sa.Column("template_id", sa.String(), nullable=False),
        sa.Column("memory_variables", sa.JSON(), nullable=False),
        *_common("template_deployments"),
        _of_template("template_deployments"),
    )
    op.create_index(
        op.f("ix_template_deployments_template_id"), "template_deployments", ["template_id"], unique=False
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_template_deployments_template_id"), table_name="template_deployments")
    op.drop_table("template_deployments")
    op.drop_table("template_versions")
    op.drop_table("templates")


def _common(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f(f"fk_{table}_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    ]


def _of_template(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["template_id"],
        ["templates.id"],
        name=op.f(f"fk_{table}_template_id_templates"),
        ondelete="CASCADE",
    )
