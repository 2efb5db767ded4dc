"""Files for agents, put into a folder as an upload leaves them once it is read."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from tests.support.talks import Talk

from remanence.core.file import File, FileStatus
from remanence.files import repository
from remanence.kit.clock import utc_now
from remanence.kit.ids import FolderId, new_file_id
from remanence.kit.json import JsonObject


@dataclass(frozen=True, slots=True)
class Shelved:
    """A folder and a way to fill it."""

    talk: Talk
    id: str
    name: str

    @classmethod
    def make(cls, talk: Talk, name: str = "garden", **texts: str) -> "Shelved":
        """`texts` by the names of their files, without the ending."""
        folder = cls(talk, talk.sdk.folders.create(name=name).id, name)
        for file, text in texts.items():
            folder.put(f"{file}.txt", text)
        return folder

    def put(self, name: str, text: str | None, status: FileStatus = "completed") -> str:
        return self.talk.tenant.house.write(self._put, name, text, status)

    def _put(self, connection: Connection, name: str, text: str | None, status: FileStatus) -> str:
        actor = self.talk.tenant.actor
        now = utc_now()
        file = File(
            id=new_file_id(),
            organization_id=actor.organization_id,
            folder_id=FolderId(self.id),
            name=name,
            original_name=name,
            status=status,
            created_at=now,
            updated_at=now,
        )
        repository.insert_file(connection, file)
        if text is not None:
            repository.store_text(connection, file.id, text)
        repository.give_to_agents(connection, file, self.name)
        return file.id


def attach(talk: Talk, agent: JsonObject, folder: Shelved) -> None:
    talk.sdk.agents.folders.attach(folder.id, agent_id=agent["id"])


def files_of(talk: Talk, agent: JsonObject) -> dict[str, Any]:
    """By name."""
    return {each.file_name: each for each in talk.sdk.agents.files.list(agent["id"])}


def open_names(talk: Talk, agent: JsonObject) -> list[str]:
    return sorted(name for name, each in files_of(talk, agent).items() if each.is_open)
