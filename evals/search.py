"""How well search finds what was once said: recall@5/10, MRR and nDCG, by words, by meaning, and by both.

    make eval                                  # made-up conversations, always the same; the held-back half
    make eval ARGS="--set tuning"              # the half that constants are chosen with
    make eval ARGS="--file talks.json"         # a set of your own
    make eval ARGS="--queries"                 # every question with the rank of its answer

Conversations are generated from `evals/facts.py`: people who tell facts about themselves in the course of many
sessions, short turns, answers that only make sense after their question, the same words said about others, and
small talk, between friends or with a long-winded assistant. Questions ask in other words than the fact was told in,
some with its date. Small talk comes from the package `chatterbot-corpus` where that is installed
(`pip install chatterbot-corpus`), and else from sentences made here.

A file has a list of `{"turns": [{"speaker", "role", "text", "at"}], "questions": [{"question", "evidence": [turn
numbers]}]}`. It is no part of the test suite: its figures are a measurement, not a promise.
"""

# ruff: noqa: T201 - it prints its figures

import argparse
import asyncio
import math
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from facts import ADVICE, CHOICES, DISTRACTORS, HELD_BACK, NAMES, SMALL_TALK, TUNING
from sqlalchemy import Connection, insert

from remanence.accounts.repository import ensure_defaults
from remanence.core.llm import LLMConfig
from remanence.core.message import Message, text_parts
from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.db.tables import AgentRow
from remanence.kit import json
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, new_agent_id, new_message_id
from remanence.llm.local.embedded import EmbeddedSource
from remanence.llm.local.embedding import LOCAL_EMBEDDING
from remanence.llm.registry import EmbedderRegistry
from remanence.llm.transport import Transport
from remanence.messages.repository import insert_messages
from remanence.search.embedding import BackgroundEmbedding
from remanence.search.messages import message_documents
from remanence.search.ports import SearchQuery, open_index
from remanence.search.service import Search

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    role: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[int]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: Sequence[Turn]
    questions: Sequence[Question]


# The made-up set


@dataclass(frozen=True, slots=True)
class Fact:
    kind: str
    turns: tuple[str, ...]
    questions: tuple[str, ...]


def read_facts(lines: str) -> list[Fact]:
    facts: list[Fact] = []
    for line in lines.strip().splitlines():
        kind, _, rest = line.partition(": ")
        told, *questions = rest.split(" => ")
        facts.append(Fact(kind, tuple(told.split(" / ")), tuple(questions)))
    return facts


class Writer:
    """Writes one conversation between two friends, or between somebody and an assistant."""

    def __init__(self, dice: random.Random, *, with_assistant: bool) -> None:
        self._dice = dice
        self._with_assistant = with_assistant
        self.one, self.other = dice.sample(NAMES, 2)
        if with_assistant:
            self.other = ""
        self._at = datetime(2025, 1, 6, 18, tzinfo=UTC)
        self.turns: list[Turn] = []
        self.questions: list[Question] = []

    def say(self, is_one: bool, text: str) -> None:
        self._at += timedelta(seconds=self._dice.randint(10, 120))
        speaker = self.one if is_one else self.other
        self.turns.append(Turn(speaker, "user" if is_one else "assistant", text, self._at))

    def chat(self, count: int, talk: Sequence[Sequence[str]]) -> None:
        """Talks about nothing that is asked for, sometimes with the same words."""
        until, is_one = len(self.turns) + count, self._dice.random() < 0.5
        while len(self.turns) < until:
            for text in self._dice.choice(talk):
                self.say(is_one, text)
                is_one = not is_one
            if self._dice.random() < 0.15:
                self.say(True, self._dice.choice(DISTRACTORS).format(**self.choose()))
            if self._with_assistant and self._dice.random() < 0.25:
                self.say(False, self._dice.choice(ADVICE))
            if self._dice.random() < 0.1:
                self._at += timedelta(days=self._dice.randint(1, 6), hours=self._dice.randint(0, 9))

    def tell(self, fact: Fact, teller_is_one: bool) -> None:
        values = self.choose()
        who = self.one if teller_is_one else self.other
        evidence = 0
        for text in fact.turns:
            if text.startswith("*"):
                evidence = len(self.turns)
            told = text.lstrip("*>").format(**values)
            self.say(teller_is_one != text.startswith(">"), told)
        reply = self._dice.choice(ADVICE if self._with_assistant else REPLIES)
        self.say(not teller_is_one, reply)
        asked = [text.format(who=who, **values) for text in fact.questions]
        if self._with_assistant:
            asked = [text.replace(f"{who}'s", "the user's").replace(who, "the user") for text in asked]
        found = frozenset({evidence})
        self.questions += [Question(text, found, fact.kind) for text in asked]
        at = self.turns[evidence].at
        if self._dice.random() < 0.2:
            day = f"{at.day} {at.strftime('%B %Y')}"
            self.questions.append(Question(f"{asked[0].rstrip('?')}, on {day}?", found, "dated"))

    def choose(self) -> dict[str, str]:
        return {name: self._dice.choice(words) for name, words in CHOICES.items()}


REPLIES = ("Oh really?", "I see.", "Good to know.", "No way!", "Tell me more some time.")


def made_up(count: int, turns: int, facts: Sequence[Fact], *, seed: int) -> Iterator[Conversation]:
    """Every third is with an assistant."""
    dice = random.Random(seed)
    talk = small_talk()
    for number in range(count):
        with_assistant = number % 3 == 2
        writer = Writer(dice, with_assistant=with_assistant)
        tellers = (True,) if with_assistant else (True, False)
        told = [(fact, is_one) for fact in facts for is_one in tellers]
        dice.shuffle(told)
        gap = max(1, turns // len(told))
        for fact, is_one in told:
            writer.chat(gap + dice.randint(-gap // 3, gap // 3), talk)
            writer.tell(fact, is_one)
        yield Conversation(writer.turns, writer.questions)


def small_talk() -> list[list[str]]:
    """Short exchanges about nothing that is asked for."""
    try:
        import chatterbot_corpus  # pyright: ignore[reportMissingImports] - optional
    except ImportError:
        return [list(SMALL_TALK[start : start + 3]) for start in range(len(SMALL_TALK) - 2)]
    folder = Path(str(chatterbot_corpus.__file__)).parent / "data" / "english"
    talks: list[list[str]] = []
    for file in sorted(folder.glob("*.yml")):
        current: list[str] = []
        for line in file.read_text("utf-8").splitlines():
            found = re.match(r"^(- )?\s*- (.+)$", line)
            if found and found[1]:
                current = [found[2].strip("'\" ")]
                talks.append(current)
            elif found and talks:
                current.append(found[2].strip("'\" "))
    return [talk for talk in talks if 2 <= len(talk) <= 12]


def read_file(path: Path) -> Iterator[Conversation]:
    for entry in json.decode(path.read_bytes()):
        yield Conversation(
            [
                Turn(
                    each["speaker"],
                    each.get("role", "user"),
                    each["text"],
                    datetime.fromisoformat(each["at"]),
                )
                for each in entry["turns"]
            ],
            [
                Question(each["question"], frozenset(each["evidence"]), str(each.get("kind", "")))
                for each in entry["questions"]
            ],
        )


# Measuring


@dataclass(slots=True)
class Score:
    asked: int = 0
    recall5: float = 0.0
    recall10: float = 0.0
    mrr: float = 0.0
    ndcg: float = 0.0
    seconds: float = 0.0

    def note(self, found: Sequence[int], evidence: frozenset[int], seconds: float) -> None:
        self.asked += 1
        self.seconds += seconds
        self.recall5 += len(evidence & set(found[:5])) / len(evidence)
        self.recall10 += len(evidence & set(found[:DEPTH])) / len(evidence)
        ranks = [rank for rank, turn in enumerate(found, 1) if turn in evidence]
        self.mrr += 1 / ranks[0] if ranks else 0.0
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(evidence), DEPTH) + 1))
        self.ndcg += sum(1 / math.log2(rank + 1) for rank in ranks) / ideal

    def line(self, name: str) -> str:
        count = self.asked or 1
        figures = (self.recall5, self.recall10, self.mrr, self.ndcg)
        shown = "".join(f"{figure / count:>11.3f}" for figure in figures)
        return f"{name:<22}{self.asked:>6}{shown}{1000 * self.seconds / count:>9.2f}"


SETS = {"tuning": (TUNING, 11), "held-back": (HELD_BACK, 29)}
MODES = {"lexical": ("fts", True, False), "vector": ("vector", False, True), "fused": ("hybrid", True, True)}


async def load(db: Database, conversation: Conversation) -> tuple[str, dict[str, int]]:
    """The agent that now remembers the conversation, and the turn of each of its messages."""
    agent_id: AgentId = new_agent_id()
    config = LLMConfig(model="m", model_endpoint_type="openai", context_window=8192)
    messages = [
        Message(
            id=new_message_id(),
            agent_id=agent_id,
            role="user" if turn.role == "user" else "assistant",
            content=text_parts(turn.text),
            name=turn.speaker or None,
            created_at=turn.at,
        )
        for turn in conversation.turns
    ]
    index = open_index(db)

    def save(connection: Connection) -> None:
        row = {"id": agent_id, "organization_id": DEFAULT_ORG_ID, "llm_config": config}
        connection.execute(insert(AgentRow), row | {"embedding_config": LOCAL_EMBEDDING.embedding_config()})
        insert_messages(connection, DEFAULT_ORG_ID, messages)
        index.index(connection, message_documents(messages, DEFAULT_ORG_ID))

    await db.write(save)
    return agent_id, {message.id: number for number, message in enumerate(messages)}


async def measure(conversations: Sequence[Conversation], url: str, *, shows_queries: bool) -> None:
    await migrate(url)
    db = open_database(url)
    transport = Transport()
    try:
        await db.write(ensure_defaults)
        index = open_index(db)
        await db.write(index.open)
        search = Search(db, index, EmbedderRegistry([EmbeddedSource(None)], transport).embed)
        worker = BackgroundEmbedding(db, index, search)
        scores: dict[str, Score] = {}
        for conversation in conversations:
            agent_id, turns = await load(db, conversation)
            while await worker.embed_some():
                pass
            for question in conversation.questions:
                query = SearchQuery(
                    organization_id=DEFAULT_ORG_ID, text=question.text, owner_ids=[agent_id], limit=DEPTH
                )
                for mode, (_, uses_words, uses_meaning) in MODES.items():
                    began = time.perf_counter()
                    hits = await search.find(replace(query, uses_words=uses_words), uses_meaning=uses_meaning)
                    spent = time.perf_counter() - began
                    found = [turns[hit.id] for hit in hits]
                    for name in (mode, f"  {mode} {question.kind}"):
                        scores.setdefault(name, Score()).note(found, question.evidence, spent)
                    if shows_queries and mode == "fused":
                        ranks = [rank for rank, turn in enumerate(found, 1) if turn in question.evidence]
                        said = [conversation.turns[turn].text for turn in sorted(question.evidence)]
                        print(f"{ranks or '-'!s:<8} {question.text}  <=  {said}")
        print(f"{'':<22}{'asked':>6}{'recall@5':>11}{'recall@10':>11}{'MRR':>11}{'nDCG@10':>11}{'ms':>9}")
        for name in sorted(scores, key=lambda name: (name.split()[0], name)):
            print(scores[name].line(name))
    finally:
        await transport.close()
        await db.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, help="a set of your own")
    parser.add_argument("--url", help="a database; a SQLite file of its own by default")
    parser.add_argument("--set", choices=SETS, default="held-back", help="of the made-up conversations")
    parser.add_argument("--count", type=int, default=6, help="made-up conversations")
    parser.add_argument("--turns", type=int, default=600, help="turns of each, about")
    parser.add_argument("--queries", action="store_true", help="show each question")
    given: Any = parser.parse_args()
    lines, seed = SETS[given.set]
    made = made_up(given.count, given.turns, read_facts(lines), seed=seed)
    conversations = list(read_file(given.file) if given.file else made)
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"sqlite:///{folder}/eval.sqlite3"
        asyncio.run(measure(conversations, url, shows_queries=given.queries))


if __name__ == "__main__":
    main()
