"""The process that holds the model: llama.cpp behind a private HTTP port.

It lives apart from the server because its failures are aborts, not exceptions, because its threads
fight over the interpreter lock, and because the memory goes back when it ends. It is told what to
load in one line on stdin, answers with one line on stdout, and ends when stdin closes, so it never
outlives the server.
"""

import json
import os
import signal
import sys
from typing import Any


def load(order: dict[str, Any]) -> Any:
    # The engine is imported here, in its own process, and nowhere else.
    import xllamacpp  # pyright: ignore[reportMissingTypeStubs]

    engine: Any = xllamacpp
    params = engine.CommonParams()
    params.model.path = order["model_path"]
    params.n_ctx = order["context_tokens"]
    params.n_parallel = order["slots"]
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    # Small batches: other conversations get their turn, and a cancelled one its end, within two seconds.
    params.n_batch = params.n_ubatch = 128
    # Repacked weights would take twice the memory and, on CPUs without AVX-512, twice the time.
    params.no_extra_bufts = True
    # The server decides itself which conversation stays in which slot, see slots.py.
    params.cache_idle_slots = False
    params.cache_ram_mib = 0
    params.slot_save_path = order["state_dir"] + os.sep
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["key"]]
    params.cors_origins = ""
    params.ui = params.endpoint_props = params.endpoint_slots = False
    params.warmup = params.fit_params = False
    params.offline = True
    params.verbosity = 1
    return engine.Server(params)


def main() -> None:
    # Ctrl-C in a terminal reaches all processes in it; the server decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints goes to stderr, so that the one line on stdout is ours.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.readline())
    try:
        server = load(order)
        answer = {"address": server.listening_address}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    if "address" in answer:
        sys.stdin.read()
    # Not a tidy exit: tearing the model down takes seconds, and the system frees it all the same.
    os._exit(0)


if __name__ == "__main__":
    main()
