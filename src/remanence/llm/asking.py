"""One question to a model, and its whole answer."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from remanence.core.llm import Delta, InContext
from remanence.core.message import Message, Role, TextPart, text_parts
from remanence.core.reply import Reply, ReplyBuilder
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, new_message_id

NOBODY = AgentId("agent-00000000-0000-4000-8000-000000000000")


async def whole_reply(batches: AsyncGenerator[Sequence[Delta]]) -> Reply:
    """Raises ProviderError."""
    builder = ReplyBuilder()
    async with aclosing(batches):
        async for batch in batches:
            builder.add(batch)
    return builder.build()


def words_of(reply: Reply) -> str:
    return "".join(part.text for part in reply.content if isinstance(part, TextPart))


def said(role: Role, text: str, agent_id: AgentId = NOBODY) -> InContext:
    """A message that is part of no history."""
    content = text_parts(text)
    return InContext(
        Message(id=new_message_id(), agent_id=agent_id, role=role, content=content, created_at=utc_now())
    )
