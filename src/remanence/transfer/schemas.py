"""The agent file, as it is read: the place where anybody's data comes in, so all of it is bounded here.

Ids in a file are local to it (`agent-0`, `block-0`). What the format has no place for (archives, passages,
conversations) is in a section of our own, which other readers pass over.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, StringConstraints

from remanence.agents.schemas import AgentCreate, CompactionInput
from remanence.archives.schemas import Name, PassageCreate
from remanence.core.conform import as_object
from remanence.core.group import ManagerType
from remanence.core.llm import EmbeddingConfig, LLMConfig
from remanence.core.message import (
    ImagePart,
    OmittedReasoningPart,
    ReasoningPart,
    RedactedReasoningPart,
    ReturnPart,
    Role,
    SummarizedReasoningPart,
    TextPart,
)
from remanence.core.tool import DEFAULT_RETURN_CHARS, ToolType
from remanence.edge.fields import MAX_NUMBER, StoredMoment
from remanence.kit.json import JsonObject
from remanence.memory.schemas import BlockCreate
from remanence.tools.mcp.schemas import Name as ServerName
from remanence.tools.schemas import PackageInput, ReturnLimit, Source, SourceType

EXTRA = "remanence"
"""The key of our own section."""

MOST = 10_000
"""Of agents, blocks, tools and the like in one file."""

MOST_MESSAGES = 100_000
"""They are stored in one transaction, and others wait for it meanwhile."""


def _local(prefix: str) -> Any:
    return StringConstraints(pattern=rf"^{prefix}-[A-Za-z0-9-]{{1,64}}$")


AgentRef = Annotated[str, _local("agent")]
BlockRef = Annotated[str, _local("block")]
ToolRef = Annotated[str, _local("tool")]
MessageRef = Annotated[str, _local("message")]
GroupRef = Annotated[str, _local("group")]
SourceRef = Annotated[str, _local("(source|folder)")]
FileRef = Annotated[str, _local("file")]
ServerRef = Annotated[str, _local("mcp_server")]
ArchiveRef = Annotated[str, _local("archive")]
ConversationRef = Annotated[str, _local("conv(ersation)?")]

SmallNumber = Annotated[int, Field(ge=-1, le=MAX_NUMBER)]


def _without_nulls(value: Any) -> Any:
    """Older files spell defaults out as null."""
    fields = as_object(value)
    return {name: each for name, each in fields.items() if each is not None} if fields else value


def _stored_role(value: Any) -> Any:
    return "tool" if value == "function" else value


class _Read(BaseModel):
    model_config = ConfigDict(defer_build=True)  # files are seldom read, and start-up is counted


class FileFunction(_Read):
    name: Annotated[str, StringConstraints(max_length=1000)]
    arguments: str = "{}"


class FileCall(_Read):
    id: Annotated[str, StringConstraints(max_length=1000)]
    function: FileFunction
    gate: Literal["approval", "client"] | None = None
    signature: str | None = None


class FileReturn(_Read):
    tool_call_id: str | None = None
    status: Literal["success", "error"] = "success"
    stdout: list[str] | None = None
    stderr: list[str] | None = None
    func_response: str | list[ReturnPart] | None = None
    tool_return: str | list[ReturnPart] | None = None
    name: str | None = None


class FileApproval(_Read):
    type: Literal["approval"] = "approval"
    tool_call_id: str
    approve: bool
    reason: str | None = None


class CallPart(_Read):
    type: Literal["tool_call"]
    id: str
    name: str
    input: JsonObject
    signature: str | None = None


class ReturnedPart(_Read):
    type: Literal["tool_return"]
    tool_call_id: str
    content: str
    is_error: bool = False


FilePart = Annotated[
    TextPart
    | ImagePart
    | ReasoningPart
    | RedactedReasoningPart
    | OmittedReasoningPart
    | SummarizedReasoningPart
    | CallPart
    | ReturnedPart,
    Discriminator("type"),
]


class FileMessage(_Read):
    id: MessageRef
    role: Annotated[Role, BeforeValidator(_stored_role)]
    content: str | list[FilePart] | None = None
    name: str | None = None
    model: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    group_id: str | None = None
    batch_item_id: str | None = None
    tool_calls: list[FileCall] | None = None
    tool_call_id: str | None = None
    tool_returns: list[FileReturn] | None = None
    created_at: StoredMoment | None = None
    approve: bool | None = None
    approval_request_id: str | None = None
    denial_reason: str | None = None
    approvals: list[FileApproval | FileReturn] | None = None

    @property
    def parts(self) -> list[FilePart]:
        return [TextPart(text=self.content)] if isinstance(self.content, str) else self.content or []


class FileBlock(BlockCreate, defer_build=True):
    id: BlockRef


class FileTool(_Read):
    id: ToolRef
    name: Annotated[str, StringConstraints(min_length=1, max_length=128)] | None = None
    tool_type: ToolType = "custom"
    description: str | None = None
    source_type: SourceType | None = None
    source_code: Source | None = None
    json_schema: JsonObject | None = None
    args_json_schema: JsonObject | None = None
    tags: list[str] | None = None
    return_char_limit: ReturnLimit = DEFAULT_RETURN_CHARS
    pip_requirements: list[PackageInput] | None = None
    npm_requirements: list[PackageInput] | None = None
    default_requires_approval: bool | None = None
    enable_parallel_execution: bool | None = None
    metadata_: JsonObject | None = None

    @property
    def own_name(self) -> str | None:
        given = self.name or (self.json_schema or {}).get("name")
        return given if isinstance(given, str) else None


class FileServer(_Read):
    """An MCP server, without what is secret about it."""

    id: ServerRef
    server_type: str
    server_name: ServerName
    server_url: str | None = None
    stdio_config: JsonObject | None = None


class FileManager(_Read):
    """How the members of a group work together; what a kind has no use for is null."""

    manager_type: ManagerType = "round_robin"
    manager_agent_id: AgentRef | None = None
    termination_token: str | None = None
    max_turns: SmallNumber | None = None
    sleeptime_agent_frequency: SmallNumber | None = None
    max_message_buffer_length: SmallNumber | None = None
    min_message_buffer_length: SmallNumber | None = None


class FileGroup(_Read):
    id: GroupRef
    agent_ids: list[AgentRef]
    description: str = ""
    manager_config: FileManager = FileManager()
    shared_block_ids: list[BlockRef] = []
    hidden: bool | None = None


class FileSource(_Read):
    """A folder."""

    id: SourceRef
    name: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    description: str | None = None
    instructions: str | None = None
    metadata: JsonObject | None = None
    embedding: str | None = None
    embedding_config: Annotated[EmbeddingConfig | None, BeforeValidator(_without_nulls)] = None


class FileFile(_Read):
    """A file in a folder, with its text."""

    id: FileRef
    source_id: SourceRef
    file_name: str | None = None
    original_file_name: str | None = None
    file_path: str | None = None
    file_type: str | None = None
    file_size: SmallNumber | None = None
    file_creation_date: str | None = None
    file_last_modified_date: str | None = None
    error_message: str | None = None
    content: str | None = None


class FileLink(_Read):
    """What an agent has of a file."""

    file_id: FileRef
    source_id: SourceRef
    is_open: bool = True
    start_line: SmallNumber | None = None
    end_line: SmallNumber | None = None
    last_accessed_at: StoredMoment | None = None


class FileAgent(AgentCreate, defer_build=True):
    id: AgentRef
    tool_ids: list[ToolRef] | None = None
    block_ids: list[BlockRef] | None = None
    source_ids: list[SourceRef] | None = None
    folder_ids: list[SourceRef] | None = None
    identity_ids: list[str] | None = None
    llm_config: Annotated[LLMConfig | None, BeforeValidator(_without_nulls)] = None
    embedding_config: Annotated[EmbeddingConfig | None, BeforeValidator(_without_nulls)] = None
    in_context_message_ids: list[MessageRef] = Field(default_factory=list[str])
    messages: list[FileMessage] = Field(default_factory=list[FileMessage])
    files_agents: list[FileLink] = Field(default_factory=list[FileLink])
    group_ids: list[GroupRef] = Field(default_factory=list[str])


class FileArchive(_Read):
    id: ArchiveRef
    name: Name
    description: str | None = None
    embedding_config: EmbeddingConfig | None = None
    metadata: JsonObject | None = None
    owner_ids: list[AgentRef] = []
    """The agents whose own it is."""
    agent_ids: list[AgentRef] = []
    """All that it is attached to, owners too."""
    passages: list[PassageCreate] = []


class FileCopy(FileBlock, defer_build=True):
    """A block that a conversation has to itself, and the agent's block that it stands in for."""

    copied_from: BlockRef | None = None


class FileConversation(_Read):
    """A side history. Its messages are its own; those it shares with what is before it in the file are named."""

    id: ConversationRef
    agent_id: AgentRef
    summary: str | None = None
    description: str | None = None
    model: str | None = None
    model_settings: JsonObject | None = None
    context_window_limit: SmallNumber | None = None
    archived: bool = False
    hidden: bool | None = None
    blocks: list[FileCopy] = []
    in_context_message_ids: list[MessageRef] = []
    shared_message_ids: list[MessageRef] = []
    messages: list[FileMessage] = []


class AgentExtra(_Read):
    id: AgentRef
    compaction_settings: CompactionInput | None = None


class Extra(_Read):
    agents: Annotated[list[AgentExtra], Field(max_length=MOST)] = []
    archives: Annotated[list[FileArchive], Field(max_length=MOST)] = []
    conversations: Annotated[list[FileConversation], Field(max_length=MOST)] = []


class AgentFile(_Read):
    agents: Annotated[list[FileAgent], Field(min_length=1, max_length=1000)]
    groups: Annotated[list[FileGroup], Field(max_length=MOST)] = []
    blocks: Annotated[list[FileBlock], Field(max_length=MOST)] = []
    files: Annotated[list[FileFile], Field(max_length=MOST)] = []
    sources: Annotated[list[FileSource], Field(max_length=MOST)] = []
    tools: Annotated[list[FileTool], Field(max_length=MOST)] = []
    mcp_servers: Annotated[list[FileServer], Field(max_length=MOST)] = []
    remanence: Extra = Extra()

    def faults(self) -> Iterable[str]:
        """Ids that stand twice, and references to what is not in the file."""
        kinds = (
            self.agents,
            self.groups,
            self.blocks,
            self.files,
            self.sources,
            self.tools,
            self.mcp_servers,
            self.remanence.archives,
            self.remanence.conversations,
        )
        histories = (*self.agents, *self.remanence.conversations)
        if (count := sum(len(each.messages) for each in histories)) > MOST_MESSAGES:
            yield f"it has {count} messages, and a file may have {MOST_MESSAGES}"
        for kind in kinds:
            yield from _repeated(each.id for each in kind)
        known = {each.id for kind in kinds for each in kind}
        for agent in self.agents:
            said = [each.id for each in agent.messages]
            yield from _repeated(said)
            yield from _missing(agent.id, agent.in_context_message_ids, set(said))
            links = [ref for link in agent.files_agents for ref in (link.file_id, link.source_id)]
            refs = [*(agent.tool_ids or ()), *(agent.block_ids or ()), *(agent.all_source_ids or ())]
            yield from _missing(agent.id, [*refs, *agent.group_ids, *links], known)
        for file in self.files:
            yield from _missing(file.id, [file.source_id], known)
        for group in self.groups:
            manager = group.manager_config.manager_agent_id
            refs = [*group.agent_ids, *group.shared_block_ids, *([manager] if manager else ())]
            yield from _missing(group.id, refs, known)
        for archive in self.remanence.archives:
            yield from _missing(archive.id, [*archive.agent_ids, *archive.owner_ids], known)
        said_by = {agent.id: {each.id for each in agent.messages} for agent in self.agents}
        for talk in self.remanence.conversations:
            own = [each.id for each in talk.messages]
            yield from _repeated(own)
            yield from _missing(talk.id, [talk.agent_id], known)
            copied = [each.copied_from for each in talk.blocks if each.copied_from]
            yield from _missing(talk.id, copied, known)
            earlier = said_by.setdefault(talk.agent_id, set())
            yield from _missing(talk.id, talk.shared_message_ids, earlier)
            yield from _missing(talk.id, talk.in_context_message_ids, {*own, *talk.shared_message_ids})
            yield from _repeated([*earlier, *own])
            earlier.update(own)


def _repeated(ids: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            yield f"the id {id} stands for two things"
        seen.add(id)


def _missing(owner: str, refs: Iterable[str], known: set[str]) -> Iterable[str]:
    return (f"{owner} refers to {ref}, which is not in the file" for ref in refs if ref not in known)
