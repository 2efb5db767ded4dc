"""Identifiers: a prefix and a lowercase uuid4, made here and nowhere else."""

import os
import re
from collections import deque
from typing import NewType
from uuid import UUID

AgentId = NewType("AgentId", str)
ArchiveId = NewType("ArchiveId", str)
BlockId = NewType("BlockId", str)
ConversationId = NewType("ConversationId", str)
FileId = NewType("FileId", str)
FolderId = NewType("FolderId", str)
"""Of a folder; clients know it as `source-…`, the name that folders had before."""
JobId = NewType("JobId", str)
McpServerId = NewType("McpServerId", str)
MessageId = NewType("MessageId", str)
OrgId = NewType("OrgId", str)
PassageId = NewType("PassageId", str)
RunId = NewType("RunId", str)
StepId = NewType("StepId", str)
ToolId = NewType("ToolId", str)
UserId = NewType("UserId", str)

DEFAULT_ORG_ID = OrgId("org-00000000-0000-4000-8000-000000000000")
DEFAULT_USER_ID = UserId("user-00000000-0000-4000-8000-000000000000")

_UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


_drawn: deque[UUID] = deque()
os.register_at_fork(after_in_child=_drawn.clear)


def _uuid4() -> UUID:
    """Drawn many at a time: to ask the kernel for each lets other threads in, for up to milliseconds."""
    while True:
        try:
            return _drawn.popleft()
        except IndexError:
            noise = os.urandom(16 * 64)
            _drawn.extend(UUID(bytes=noise[n : n + 16], version=4) for n in range(0, len(noise), 16))


def new_id(prefix: str) -> str:
    return f"{prefix}-{_uuid4()}"


def new_agent_id() -> AgentId:
    return AgentId(new_id("agent"))


def new_archive_id() -> ArchiveId:
    return ArchiveId(new_id("archive"))


def new_job_id() -> JobId:
    return JobId(new_id("job"))


def new_passage_id() -> PassageId:
    return PassageId(new_id("passage"))


def new_folder_id() -> FolderId:
    return FolderId(new_id("source"))


def new_file_id() -> FileId:
    return FileId(new_id("file"))


def new_block_id() -> BlockId:
    return BlockId(new_id("block"))


def new_mcp_server_id() -> McpServerId:
    return McpServerId(new_id("mcp_server"))


def new_message_id() -> MessageId:
    """Always odd: the id before it then has the same otids, which leave the lowest bits out."""
    return MessageId(f"message-{UUID(int=_uuid4().int | 1)}")


def new_run_id() -> RunId:
    return RunId(new_id("run"))


def new_step_id() -> StepId:
    return StepId(new_id("step"))


def new_tool_id() -> ToolId:
    return ToolId(new_id("tool"))


def new_call_id() -> str:
    """The id of a tool call whose provider gave none; OpenAI takes at most 40 letters."""
    return f"call_{_uuid4().hex[:24]}"


def new_otid() -> str:
    return str(_uuid4())


def id_pattern(prefix: str) -> str:
    """The regular expression that ids of this kind match."""
    return f"^{prefix}-{_UUID4}$"


def is_id(text: str, prefix: str) -> bool:
    return re.match(id_pattern(prefix), text) is not None


def id_before(message_id: MessageId) -> MessageId:
    """The id one below: a request for approval has it, beside the message it is a part of."""
    return MessageId(f"message-{UUID(int=UUID(message_id[-36:]).int - 1)}")


def id_after(message_id: MessageId) -> MessageId:
    return MessageId(f"message-{UUID(int=UUID(message_id[-36:]).int + 1)}")


def derive_otid(message_id: MessageId, index: int) -> str:
    """The otid of the index-th typed message of a stored one: its uuid with the lowest 7 bits replaced."""
    value = UUID(message_id[-36:]).int
    return str(UUID(int=(value & ~0x7F) | (index & 0x7F)))
