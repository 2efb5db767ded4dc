"""Servers that are killed while they read a file: the next one goes on where the last one was."""

from pathlib import Path

import pytest
from tests.support.databases import Databases
from tests.support.folders import await_file, passages, upload
from tests.support.scripted_model import ScriptedModel
from tests.support.server_process import ServerProcess

from remanence.kit.failpoints import VARIABLE

POINTS = (
    "files.processing.store_parsed:before:1",
    "files.processing.store_batch:after:2",
    "files.processing.finish_file:before:1",
    "search.embedding.BackgroundEmbedding._finish.write:before:1",
)
"""Where each server dies, one after the other, over one and the same file. Vectors last: the rest does not
wait for them."""


@pytest.mark.promise("folders.files.killed")
def test_a_file_survives_one_killed_server_after_the_other(
    databases: Databases, tmp_path: Path, model: ScriptedModel
) -> None:
    url = databases.fresh()
    text = "\n\n".join(f"Paragraph {number}. " + "The gate is green. " * 60 for number in range(350))
    folder_id = file_id = ""
    for point in POINTS:
        dying = ServerProcess(url, tmp_path, model_url=model.base_url, settings={VARIABLE: point})
        try:
            dying.start()
            if not file_id:
                sdk = dying.client()
                folder_id = sdk.folders.create(name="garden").id
                file_id = upload(sdk, folder_id, "long.txt", text.encode()).id
            dying.wait()
        finally:
            dying.kill()
    living = ServerProcess(url, tmp_path, model_url=model.base_url)
    try:
        living.start()
        sdk = living.client()
        file = await_file(sdk, folder_id, file_id)
        assert (file.processing_status, file.error_message) == ("completed", None)
        assert file.content == text
        assert file.chunks_embedded == file.total_chunks == 350
        found = passages(sdk._client, folder_id)  # pyright: ignore[reportPrivateUsage] the plain client within
        numbers = [int(each["text"].split(".")[0].removeprefix("Paragraph ")) for each in found]
        assert numbers == list(range(350))
        assert all(each["embedding"] for each in found)
    finally:
        living.kill()
