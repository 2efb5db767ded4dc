"""The tables of the first release."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None


def _json() -> TypeEngine[Any]:
    return sa.JSON()


def upgrade() -> None:
    op.create_table(
        "organizations",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("privileged_tools", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
    )
    op.create_table(
        "agents",
        sa.Column("name", sa.String(), nullable=True),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("agent_type", sa.String(), nullable=True),
        sa.Column("system", sa.Text(), nullable=True),
        sa.Column("response_format", _json(), nullable=True),
        sa.Column("metadata_", _json(), nullable=True),
        sa.Column("llm_config", _json(), nullable=False),
        sa.Column("embedding_config", _json(), nullable=True),
        sa.Column("tool_rules", _json(), nullable=True),
        sa.Column("compaction_settings", _json(), nullable=True),
        sa.Column("message_buffer_autoclear", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("enable_sleeptime", sa.Boolean(), nullable=True),
        sa.Column("last_run_completion", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_run_duration_ms", sa.Integer(), nullable=True),
        sa.Column("last_stop_reason", sa.String(), nullable=True),
        sa.Column("timezone", sa.String(), nullable=True),
        sa.Column("max_files_open", sa.Integer(), nullable=True),
        sa.Column("per_file_view_window_char_limit", sa.Integer(), nullable=True),
        sa.Column("hidden", sa.Boolean(), nullable=True),
        sa.Column("state_version", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("template_id", sa.String(), nullable=True),
        sa.Column("base_template_id", sa.String(), nullable=True),
        sa.Column("deployment_id", sa.String(), nullable=True),
        sa.Column("entity_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_agents_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agents")),
    )
    op.create_index("ix_agents_created_at", "agents", ["created_at", "id"], unique=False)
    op.create_index(
        "ix_agents_organization_id_created_at", "agents", ["organization_id", "created_at"], unique=False
    )
    op.create_index(
        "ix_agents_organization_id_deployment_id",
        "agents",
        ["organization_id", "deployment_id"],
        unique=False,
    )
    op.create_index("ix_agents_project_id", "agents", ["project_id"], unique=False)
    op.create_table(
        "archives",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("vector_db_provider", sa.String(), nullable=False),
        sa.Column("embedding_config", _json(), nullable=True),
        sa.Column("metadata_", _json(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_archives_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_archives")),
    )
    op.create_index(
        "ix_archives_organization_id_created_at", "archives", ["organization_id", "created_at"], unique=False
    )
    op.create_table(
        "block",
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("limit", sa.Integer(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("read_only", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("metadata_", _json(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=True),
        sa.Column("is_template", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("template_name", sa.String(), nullable=True),
        sa.Column("preserve_on_migration", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("template_id", sa.String(), nullable=True),
        sa.Column("base_template_id", sa.String(), nullable=True),
        sa.Column("deployment_id", sa.String(), nullable=True),
        sa.Column("entity_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_block_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_block")),
        sa.UniqueConstraint("id", "label", name="unique_block_id_label"),
    )
    op.create_index("ix_block_conversation_id", "block", ["conversation_id"], unique=False)
    op.create_index("ix_block_created_at", "block", ["created_at", "id"], unique=False)
    op.create_index("ix_block_organization_id_label", "block", ["organization_id", "label"], unique=False)
    op.create_table(
        "identities",
        sa.Column("identifier_key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("identity_type", sa.String(), nullable=False),
        sa.Column("properties", _json(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_identities_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint(
            "identifier_key",
            "project_id",
            "organization_id",
            name="unique_identifier_key_project_id_organization_id",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index("ix_identities_created_at", "identities", ["created_at", "id"], unique=False)
    op.create_table(
        "sources",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("instructions", sa.Text(), nullable=True),
        sa.Column("embedding_config", _json(), nullable=True),
        sa.Column("vector_db_provider", sa.String(), nullable=False),
        sa.Column("metadata_", _json(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_sources_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
        sa.UniqueConstraint("organization_id", "name", name="uq_source_name_organization"),
    )
    op.create_table(
        "tools",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tool_type", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("source_type", sa.String(), nullable=True),
        sa.Column("source_code", sa.Text(), nullable=True),
        sa.Column("json_schema", _json(), nullable=False),
        sa.Column("args_json_schema", _json(), nullable=True),
        sa.Column("tags", _json(), nullable=False),
        sa.Column("return_char_limit", sa.Integer(), nullable=False),
        sa.Column("pip_requirements", _json(), nullable=True),
        sa.Column("npm_requirements", _json(), nullable=True),
        sa.Column("default_requires_approval", sa.Boolean(), nullable=True),
        sa.Column("enable_parallel_execution", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("metadata_", _json(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_tools_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tools")),
        sa.UniqueConstraint("organization_id", "name", name="uix_name_organization"),
    )
    op.create_index("ix_tools_created_at", "tools", ["created_at", "id"], unique=False)
    op.create_table(
        "users",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_users_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
    )
    op.create_table(
        "agent_environment_variables",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value_enc", sa.Text(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.id"],
            name=op.f("fk_agent_environment_variables_agent_id_agents"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_agent_environment_variables_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_environment_variables")),
        sa.UniqueConstraint("agent_id", "key", name="uix_key_agent"),
    )
    op.create_table(
        "agents_tags",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_agents_tags_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "tag", name=op.f("pk_agents_tags")),
    )
    op.create_index("ix_agents_tags_tag_agent_id", "agents_tags", ["tag", "agent_id"], unique=False)
    op.create_table(
        "archival_passages",
        sa.Column("archive_id", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tags", _json(), nullable=True),
        sa.Column("metadata_", _json(), nullable=True),
        sa.Column("embedding_config", _json(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["archive_id"],
            ["archives.id"],
            name=op.f("fk_archival_passages_archive_id_archives"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_archival_passages_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_archival_passages")),
    )
    op.create_index(
        "ix_archival_passages_archive_id_created_at",
        "archival_passages",
        ["archive_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "archives_agents",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("archive_id", sa.String(), nullable=False),
        sa.Column("is_owner", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_archives_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["archive_id"],
            ["archives.id"],
            name=op.f("fk_archives_agents_archive_id_archives"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", "archive_id", name=op.f("pk_archives_agents")),
    )
    op.create_index("ix_archives_agents_archive_id", "archives_agents", ["archive_id"], unique=False)
    op.create_table(
        "blocks_agents",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("block_id", sa.String(), nullable=False),
        sa.Column("block_label", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_blocks_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["block_id", "block_label"],
            ["block.id", "block.label"],
            name="fk_block_id_label",
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", "block_id", "block_label", name=op.f("pk_blocks_agents")),
        sa.UniqueConstraint("agent_id", "block_id", name="unique_agent_block"),
        sa.UniqueConstraint("agent_id", "block_label", name="unique_label_per_agent"),
    )
    op.create_index("ix_blocks_agents_block_id", "blocks_agents", ["block_id"], unique=False)
    op.create_index(
        "ix_blocks_agents_block_label_agent_id", "blocks_agents", ["block_label", "agent_id"], unique=False
    )
    op.create_table(
        "blocks_tags",
        sa.Column("block_id", sa.String(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["block_id"], ["block.id"], name=op.f("fk_blocks_tags_block_id_block"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("block_id", "tag", name=op.f("pk_blocks_tags")),
    )
    op.create_index("ix_blocks_tags_tag_block_id", "blocks_tags", ["tag", "block_id"], unique=False)
    op.create_table(
        "conversations",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("model_settings", _json(), nullable=True),
        sa.Column("context_window_limit", sa.Integer(), nullable=True),
        sa.Column("isolated_block_ids", _json(), nullable=True),
        sa.Column("last_message_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("archived", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("hidden", sa.Boolean(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_conversations_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_conversations_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
    )
    op.create_index(
        "ix_conversations_agent_id_created_at", "conversations", ["agent_id", "created_at"], unique=False
    )
    op.create_table(
        "files",
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("file_name", sa.String(), nullable=True),
        sa.Column("original_file_name", sa.String(), nullable=True),
        sa.Column("file_path", sa.String(), nullable=True),
        sa.Column("file_type", sa.String(), nullable=True),
        sa.Column("file_size", sa.Integer(), nullable=True),
        sa.Column("file_creation_date", sa.String(), nullable=True),
        sa.Column("file_last_modified_date", sa.String(), nullable=True),
        sa.Column("processing_status", sa.String(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("total_chunks", sa.Integer(), nullable=True),
        sa.Column("chunks_embedded", sa.Integer(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_files_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_files_source_id_sources"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files")),
    )
    op.create_index("ix_files_source_id_created_at", "files", ["source_id", "created_at"], unique=False)
    op.create_table(
        "groups",
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("manager_type", sa.String(), nullable=False),
        sa.Column("manager_agent_id", sa.String(), nullable=True),
        sa.Column("termination_token", sa.String(), nullable=True),
        sa.Column("max_turns", sa.Integer(), nullable=True),
        sa.Column("sleeptime_agent_frequency", sa.Integer(), nullable=True),
        sa.Column("turns_counter", sa.Integer(), nullable=True),
        sa.Column("last_processed_message_id", sa.String(), nullable=True),
        sa.Column("max_message_buffer_length", sa.Integer(), nullable=True),
        sa.Column("min_message_buffer_length", sa.Integer(), nullable=True),
        sa.Column("hidden", sa.Boolean(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("template_id", sa.String(), nullable=True),
        sa.Column("base_template_id", sa.String(), nullable=True),
        sa.Column("deployment_id", sa.String(), nullable=True),
        sa.Column("entity_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["manager_agent_id"],
            ["agents.id"],
            name=op.f("fk_groups_manager_agent_id_agents"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_groups_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_groups")),
    )
    op.create_index("ix_groups_manager_agent_id", "groups", ["manager_agent_id"], unique=False)
    op.create_index(
        "ix_groups_organization_id_created_at", "groups", ["organization_id", "created_at"], unique=False
    )
    op.create_table(
        "identities_agents",
        sa.Column("identity_id", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_identities_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["identity_id"],
            ["identities.id"],
            name=op.f("fk_identities_agents_identity_id_identities"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("identity_id", "agent_id", name=op.f("pk_identities_agents")),
    )
    op.create_index(op.f("ix_identities_agents_agent_id"), "identities_agents", ["agent_id"], unique=False)
    op.create_table(
        "identities_blocks",
        sa.Column("identity_id", sa.String(), nullable=False),
        sa.Column("block_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["block_id"], ["block.id"], name=op.f("fk_identities_blocks_block_id_block"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["identity_id"],
            ["identities.id"],
            name=op.f("fk_identities_blocks_identity_id_identities"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("identity_id", "block_id", name=op.f("pk_identities_blocks")),
    )
    op.create_index(op.f("ix_identities_blocks_block_id"), "identities_blocks", ["block_id"], unique=False)
    op.create_table(
        "leases",
        sa.Column("lane", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=True),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("window_version", sa.BigInteger(), server_default="1", nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_leases_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("lane", name=op.f("pk_leases")),
    )
    op.create_index(op.f("ix_leases_agent_id"), "leases", ["agent_id"], unique=False)
    op.create_table(
        "messages",
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("content", _json(), nullable=True),
        sa.Column("tool_calls", _json(), nullable=True),
        sa.Column("tool_returns", _json(), nullable=True),
        sa.Column("approvals", _json(), nullable=True),
        sa.Column("approval_request_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("step_id", sa.String(), nullable=True),
        sa.Column("otid", sa.String(), nullable=True),
        sa.Column("sender_id", sa.String(), nullable=True),
        sa.Column("group_id", sa.String(), nullable=True),
        sa.Column("batch_item_id", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("is_err", sa.Boolean(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_messages_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_messages_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
    )
    op.create_index("ix_messages_agent_id_created_at", "messages", ["agent_id", "created_at"], unique=False)
    op.create_index("ix_messages_org_agent", "messages", ["organization_id", "agent_id"], unique=False)
    op.create_index("ix_messages_run_id", "messages", ["run_id"], unique=False)
    op.create_index("ix_messages_step_id", "messages", ["step_id"], unique=False)
    op.create_table(
        "runs",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=True),
        sa.Column("lane", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("background", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("alive_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("stop_reason", sa.String(), nullable=True),
        sa.Column("metadata_", _json(), nullable=True),
        sa.Column("request_config", _json(), nullable=True),
        sa.Column("request", _json(), nullable=True),
        sa.Column("callback_url", sa.String(), nullable=True),
        sa.Column("callback_sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("callback_status_code", sa.Integer(), nullable=True),
        sa.Column("callback_error", sa.Text(), nullable=True),
        sa.Column("ttft_ns", sa.BigInteger(), nullable=True),
        sa.Column("total_duration_ns", sa.BigInteger(), nullable=True),
        sa.Column("tools_used", _json(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_runs_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_runs_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index("ix_runs_agent_id_created_at", "runs", ["agent_id", "created_at"], unique=False)
    op.create_index("ix_runs_lane_status", "runs", ["lane", "status"], unique=False)
    op.create_index(
        "ix_runs_open",
        "runs",
        ["alive_until"],
        unique=False,
        sqlite_where=sa.text("status IN ('created', 'running')"),
        postgresql_where=sa.text("status IN ('created', 'running')"),
    )
    op.create_index(
        "ix_runs_organization_id_created_at", "runs", ["organization_id", "created_at"], unique=False
    )
    op.create_table(
        "sources_agents",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_sources_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["sources.id"],
            name=op.f("fk_sources_agents_source_id_sources"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", "source_id", name=op.f("pk_sources_agents")),
    )
    op.create_index("ix_sources_agents_source_id", "sources_agents", ["source_id"], unique=False)
    op.create_table(
        "tools_agents",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("tool_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_tools_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tool_id"], ["tools.id"], name=op.f("fk_tools_agents_tool_id_tools"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("agent_id", "tool_id", name=op.f("pk_tools_agents")),
        sa.UniqueConstraint("agent_id", "tool_id", name="unique_agent_tool"),
    )
    if op.get_bind().dialect.name == "postgresql":
        # It leaves out a constraint that says what the primary key of the same statement says.
        op.create_unique_constraint("unique_agent_tool", "tools_agents", ["agent_id", "tool_id"])
    op.create_index("ix_tools_agents_tool_id", "tools_agents", ["tool_id"], unique=False)
    op.create_table(
        "context_messages",
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"],
            ["messages.id"],
            name=op.f("fk_context_messages_message_id_messages"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("owner_id", "position", name=op.f("pk_context_messages")),
    )
    op.create_index(op.f("ix_context_messages_message_id"), "context_messages", ["message_id"], unique=False)
    op.create_table(
        "file_contents",
        sa.Column("file_id", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"], ["files.id"], name=op.f("fk_file_contents_file_id_files"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("file_id", name=op.f("pk_file_contents")),
    )
    op.create_table(
        "files_agents",
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("file_id", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("is_open", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("visible_content", sa.Text(), nullable=True),
        sa.Column("start_line", sa.Integer(), nullable=True),
        sa.Column("end_line", sa.Integer(), nullable=True),
        sa.Column("last_accessed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_files_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["file_id"], ["files.id"], name=op.f("fk_files_agents_file_id_files"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_files_agents_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_files_agents_source_id_sources"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files_agents")),
        sa.UniqueConstraint("agent_id", "file_id", name="uq_agent_file"),
        sa.UniqueConstraint("agent_id", "file_name", name="uq_agent_filename"),
    )
    op.create_table(
        "groups_agents",
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_groups_agents_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["group_id"], ["groups.id"], name=op.f("fk_groups_agents_group_id_groups"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("group_id", "agent_id", name=op.f("pk_groups_agents")),
    )
    op.create_index(op.f("ix_groups_agents_agent_id"), "groups_agents", ["agent_id"], unique=False)
    op.create_table(
        "groups_blocks",
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("block_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["block_id"], ["block.id"], name=op.f("fk_groups_blocks_block_id_block"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["group_id"], ["groups.id"], name=op.f("fk_groups_blocks_group_id_groups"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("group_id", "block_id", name=op.f("pk_groups_blocks")),
    )
    op.create_index(op.f("ix_groups_blocks_block_id"), "groups_blocks", ["block_id"], unique=False)
    op.create_table(
        "passage_tags",
        sa.Column("passage_id", sa.String(), nullable=False),
        sa.Column("tag", sa.String(), nullable=False),
        sa.Column("archive_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["archive_id"],
            ["archives.id"],
            name=op.f("fk_passage_tags_archive_id_archives"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["passage_id"],
            ["archival_passages.id"],
            name=op.f("fk_passage_tags_passage_id_archival_passages"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("passage_id", "tag", name=op.f("pk_passage_tags")),
    )
    op.create_index("ix_passage_tags_archive_id_tag", "passage_tags", ["archive_id", "tag"], unique=False)
    op.create_table(
        "run_events",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("frames", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_run_events_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "last_seq", name=op.f("pk_run_events")),
    )
    op.create_table(
        "run_otids",
        sa.Column("lane", sa.String(), nullable=False),
        sa.Column("otid", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_run_otids_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("lane", "otid", name=op.f("pk_run_otids")),
    )
    op.create_index("ix_run_otids_created_at", "run_otids", ["created_at"], unique=False)
    op.create_index(op.f("ix_run_otids_run_id"), "run_otids", ["run_id"], unique=False)
    op.create_table(
        "shared_messages",
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_shared_messages_conversation_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["message_id"],
            ["messages.id"],
            name=op.f("fk_shared_messages_message_id_messages"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "message_id", name=op.f("pk_shared_messages")),
    )
    op.create_index(op.f("ix_shared_messages_message_id"), "shared_messages", ["message_id"], unique=False)
    op.create_table(
        "source_passages",
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("file_id", sa.String(), nullable=True),
        sa.Column("file_name", sa.String(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tags", _json(), nullable=True),
        sa.Column("metadata_", _json(), nullable=True),
        sa.Column("embedding_config", _json(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.Column("created_by_id", sa.String(), nullable=True),
        sa.Column("last_updated_by_id", sa.String(), nullable=True),
        sa.Column("is_deleted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"], ["files.id"], name=op.f("fk_source_passages_file_id_files"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_source_passages_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["sources.id"],
            name=op.f("fk_source_passages_source_id_sources"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source_passages")),
    )
    op.create_index("ix_source_passages_file_id", "source_passages", ["file_id"], unique=False)
    op.create_index(
        "ix_source_passages_source_id_created_at",
        "source_passages",
        ["source_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "steps",
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("stop_reason", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("provider_name", sa.String(), nullable=True),
        sa.Column("provider_category", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("model_handle", sa.String(), nullable=True),
        sa.Column("model_endpoint", sa.String(), nullable=True),
        sa.Column("context_window_limit", sa.Integer(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("total_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_input_tokens", sa.Integer(), nullable=True),
        sa.Column("cache_write_tokens", sa.Integer(), nullable=True),
        sa.Column("reasoning_tokens", sa.Integer(), nullable=True),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("tags", _json(), nullable=True),
        sa.Column("feedback", sa.String(), nullable=True),
        sa.Column("error_type", sa.String(), nullable=True),
        sa.Column("error_data", _json(), nullable=True),
        sa.Column("step_ns", sa.BigInteger(), nullable=True),
        sa.Column("llm_request_ns", sa.BigInteger(), nullable=True),
        sa.Column("tool_execution_ns", sa.BigInteger(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("organization_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_steps_agent_id_agents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_steps_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_steps_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
    )
    op.create_index("ix_steps_agent_id_created_at", "steps", ["agent_id", "created_at"], unique=False)
    op.create_index(
        "ix_steps_organization_id_created_at", "steps", ["organization_id", "created_at"], unique=False
    )
    op.create_index("ix_steps_run_id", "steps", ["run_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_steps_run_id", table_name="steps")
    op.drop_index("ix_steps_organization_id_created_at", table_name="steps")
    op.drop_index("ix_steps_agent_id_created_at", table_name="steps")
    op.drop_table("steps")
    op.drop_index("ix_source_passages_source_id_created_at", table_name="source_passages")
    op.drop_index("ix_source_passages_file_id", table_name="source_passages")
    op.drop_table("source_passages")
    op.drop_index(op.f("ix_shared_messages_message_id"), table_name="shared_messages")
    op.drop_table("shared_messages")
    op.drop_index(op.f("ix_run_otids_run_id"), table_name="run_otids")
    op.drop_index("ix_run_otids_created_at", table_name="run_otids")
    op.drop_table("run_otids")
    op.drop_table("run_events")
    op.drop_index("ix_passage_tags_archive_id_tag", table_name="passage_tags")
    op.drop_table("passage_tags")
    op.drop_index(op.f("ix_groups_blocks_block_id"), table_name="groups_blocks")
    op.drop_table("groups_blocks")
    op.drop_index(op.f("ix_groups_agents_agent_id"), table_name="groups_agents")
    op.drop_table("groups_agents")
    op.drop_table("files_agents")
    op.drop_table("file_contents")
    op.drop_index(op.f("ix_context_messages_message_id"), table_name="context_messages")
    op.drop_table("context_messages")
    op.drop_index("ix_tools_agents_tool_id", table_name="tools_agents")
    op.drop_table("tools_agents")
    op.drop_index("ix_sources_agents_source_id", table_name="sources_agents")
    op.drop_table("sources_agents")
    op.drop_index("ix_runs_organization_id_created_at", table_name="runs")
    op.drop_index(
        "ix_runs_open",
        table_name="runs",
        sqlite_where=sa.text("status IN ('created', 'running')"),
        postgresql_where=sa.text("status IN ('created', 'running')"),
    )
    op.drop_index("ix_runs_lane_status", table_name="runs")
    op.drop_index("ix_runs_agent_id_created_at", table_name="runs")
    op.drop_table("runs")
    op.drop_index("ix_messages_step_id", table_name="messages")
    op.drop_index("ix_messages_run_id", table_name="messages")
    op.drop_index("ix_messages_org_agent", table_name="messages")
    op.drop_index("ix_messages_agent_id_created_at", table_name="messages")
    op.drop_table("messages")
    op.drop_index(op.f("ix_leases_agent_id"), table_name="leases")
    op.drop_table("leases")
    op.drop_index(op.f("ix_identities_blocks_block_id"), table_name="identities_blocks")
    op.drop_table("identities_blocks")
    op.drop_index(op.f("ix_identities_agents_agent_id"), table_name="identities_agents")
    op.drop_table("identities_agents")
    op.drop_index("ix_groups_organization_id_created_at", table_name="groups")
    op.drop_index("ix_groups_manager_agent_id", table_name="groups")
    op.drop_table("groups")
    op.drop_index("ix_files_source_id_created_at", table_name="files")
    op.drop_table("files")
    op.drop_index("ix_conversations_agent_id_created_at", table_name="conversations")
    op.drop_table("conversations")
    op.drop_index("ix_blocks_tags_tag_block_id", table_name="blocks_tags")
    op.drop_table("blocks_tags")
    op.drop_index("ix_blocks_agents_block_label_agent_id", table_name="blocks_agents")
    op.drop_index("ix_blocks_agents_block_id", table_name="blocks_agents")
    op.drop_table("blocks_agents")
    op.drop_index("ix_archives_agents_archive_id", table_name="archives_agents")
    op.drop_table("archives_agents")
    op.drop_index("ix_archival_passages_archive_id_created_at", table_name="archival_passages")
    op.drop_table("archival_passages")
    op.drop_index("ix_agents_tags_tag_agent_id", table_name="agents_tags")
    op.drop_table("agents_tags")
    op.drop_table("agent_environment_variables")
    op.drop_table("users")
    op.drop_index("ix_tools_created_at", table_name="tools")
    op.drop_table("tools")
    op.drop_table("sources")
    op.drop_index("ix_identities_created_at", table_name="identities")
    op.drop_table("identities")
    op.drop_index("ix_block_organization_id_label", table_name="block")
    op.drop_index("ix_block_created_at", table_name="block")
    op.drop_index("ix_block_conversation_id", table_name="block")
    op.drop_table("block")
    op.drop_index("ix_archives_organization_id_created_at", table_name="archives")
    op.drop_table("archives")
    op.drop_index("ix_agents_project_id", table_name="agents")
    op.drop_index("ix_agents_organization_id_deployment_id", table_name="agents")
    op.drop_index("ix_agents_organization_id_created_at", table_name="agents")
    op.drop_index("ix_agents_created_at", table_name="agents")
    op.drop_table("agents")
    op.drop_table("organizations")
