"""Files on their way into folders, as clients see them."""

from typing import Any

from letta_client import Letta
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit.json import JsonObject


def upload(sdk: Letta, folder_id: str, name: str, data: bytes, **options: Any) -> Any:
    return sdk.folders.files.upload(folder_id, file=(name, data), **options)


def await_file(sdk: Letta, folder_id: str, file_id: str, timeout_s: float = 30) -> Any:
    """The file once nothing more will happen to it by itself."""
    found: list[Any] = []

    def is_over() -> bool:
        found[:] = [sdk.folders.files.retrieve(file_id, folder_id=folder_id, include_content=True)]
        return found[0].processing_status in ("completed", "error")

    until_sync(is_over, timeout_s)
    return found[0]


def stored(sdk: Letta, folder_id: str, name: str, data: bytes, **options: Any) -> Any:
    """An upload that is waited for, and goes well."""
    file = await_file(sdk, folder_id, upload(sdk, folder_id, name, data, **options).id)
    assert file.processing_status == "completed", file.error_message
    return file


def passages(http: Any, folder_id: str) -> list[JsonObject]:
    return http.get(f"/v1/folders/{folder_id}/passages", params={"order": "asc", "limit": 1000}).json()


def search_files(talk: Talk, agent: JsonObject, query: str) -> str:
    """What the agent is told when it looks into its files."""
    answer = talk.say(agent, "Look.", calls("semantic_search_files", query=query), says("Done."))
    return next(
        each["tool_return"] for each in answer["messages"] if each["message_type"] == "tool_return_message"
    )
