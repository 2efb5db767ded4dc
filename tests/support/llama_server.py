"""A real server of llama.cpp, from the wheel of the embedded model's engine, as people run it themselves.

    python -m tests.support.llama_server MODEL.gguf

prints its address and serves until its input closes.
"""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ALIAS = "a-real-model"


@contextmanager
def llama_server(model: Path, *, context_tokens: int = 4096) -> Generator[str]:
    """Its address. The model is named `ALIAS`."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.llama_server", str(model), str(context_tokens)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_WAIT_POLICY": "passive"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main() -> None:
    import xllamacpp  # pyright: ignore[reportMissingTypeStubs] - it has none

    engine: Any = xllamacpp
    params = engine.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {ALIAS}
    params.n_ctx = int(sys.argv[2])
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(os.cpu_count() or 1, 4)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.no_extra_bufts = params.offline = True
    params.ui = params.warmup = params.fit_params = False
    params.verbosity = 1
    server = engine.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
