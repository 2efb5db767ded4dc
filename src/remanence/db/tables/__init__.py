"""Every table of the database. Importing this package registers them all on `Base.metadata`."""

from remanence.db.tables.accounts import OrganizationRow, UserRow
from remanence.db.tables.agents import AgentRow, AgentSecretRow, AgentTagRow
from remanence.db.tables.archives import ArchivePassageRow, ArchiveRow, ArchivesAgentsRow, PassageTagRow
from remanence.db.tables.audit import AuditRow
from remanence.db.tables.base import Base
from remanence.db.tables.batches import BatchItemRow
from remanence.db.tables.blocks import BlockRow, BlocksAgentsRow, BlockTagRow
from remanence.db.tables.budgets import BudgetRow
from remanence.db.tables.files import (
    FileContentRow,
    FileRow,
    FilesAgentsRow,
    FileUploadRow,
    SourcePassageRow,
    SourceRow,
    SourcesAgentsRow,
)
from remanence.db.tables.groups import GroupRow, GroupsAgentsRow, GroupsBlocksRow, GroupTurnRow
from remanence.db.tables.identities import IdentitiesAgentsRow, IdentitiesBlocksRow, IdentityRow
from remanence.db.tables.jobs import JobRow
from remanence.db.tables.keys import ApiKeyRow
from remanence.db.tables.mcp import McpServerRow
from remanence.db.tables.messages import (
    ContextMessageRow,
    ConversationRow,
    MessageRow,
    SharedMessageRow,
)
from remanence.db.tables.providers import ProviderRow
from remanence.db.tables.revisions import RevisionRow
from remanence.db.tables.runs import (
    LeaseRow,
    ProviderTraceRow,
    RunEventsRow,
    RunOtidRow,
    RunRow,
    StepRow,
    ToolJournalRow,
)
from remanence.db.tables.sandboxes import SandboxConfigRow, SandboxVariableRow
from remanence.db.tables.schedules import ScheduleRow
from remanence.db.tables.search import EmbeddingBacklogRow, EmbeddingModelRow
from remanence.db.tables.templates import TemplateDeploymentRow, TemplateRow, TemplateVersionRow
from remanence.db.tables.tools import ToolRow, ToolsAgentsRow

__all__ = [
    "AgentRow",
    "AgentSecretRow",
    "AgentTagRow",
    "ApiKeyRow",
    "ArchivePassageRow",
    "ArchiveRow",
    "ArchivesAgentsRow",
    "AuditRow",
    "Base",
    "BatchItemRow",
    "BlockRow",
    "BlockTagRow",
    "BlocksAgentsRow",
    "BudgetRow",
    "ContextMessageRow",
    "ConversationRow",
    "EmbeddingBacklogRow",
    "EmbeddingModelRow",
    "FileContentRow",
    "FileRow",
    "FileUploadRow",
    "FilesAgentsRow",
    "GroupRow",
    "GroupTurnRow",
    "GroupsAgentsRow",
    "GroupsBlocksRow",
    "IdentitiesAgentsRow",
    "IdentitiesBlocksRow",
    "IdentityRow",
    "JobRow",
    "LeaseRow",
    "McpServerRow",
    "MessageRow",
    "OrganizationRow",
    "PassageTagRow",
    "ProviderRow",
    "ProviderTraceRow",
    "RevisionRow",
    "RunEventsRow",
    "RunOtidRow",
    "RunRow",
    "SandboxConfigRow",
    "SandboxVariableRow",
    "ScheduleRow",
    "SharedMessageRow",
    "SourcePassageRow",
    "SourceRow",
    "SourcesAgentsRow",
    "StepRow",
    "TemplateDeploymentRow",
    "TemplateRow",
    "TemplateVersionRow",
    "ToolJournalRow",
    "ToolRow",
    "ToolsAgentsRow",
    "UserRow",
]
