"""Two processes whose modules are traced layer by layer, as serving engines do it; no GPU, real bytes.

    nsys profile -t nvtx ... python drive_hooks.py

One traces as vLLM: module names begin with the model's class, an empty range with the outputs follows each module, a
range lies around each step, and the thread that computes saves the KV cache of each layer within its attention. The
other traces as SGLang: names begin with `model.`, and a worker sends each request whole, after its last layer. Texts
are written in the default domain, as PyTorch does; `record.py` puts `nsysparse/annotate.py` beside this file as
`kvx_annotate.py`. Transfers are annotated without their layer, which only the modules' ranges tell. On stdout: what was
counted while bytes were moved.
"""

import ctypes
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import kvx_annotate as annotate

LAYERS = 3
WIDTH = 16
TOKEN_BYTES = 128  # of one layer
STEPS = ((("cmpl-a", 24), ("cmpl-b", 40)), (("cmpl-c", 8),))
WHOLE = (("room-1", 32), ("room-2", 16))
_PUSH, _POP = 9, 11  # nvtxRangePushA and nvtxRangePop in the first table of functions


def default_domain() -> tuple[Callable[[bytes], Any], Callable[[], Any]]:
    """How text is pushed and popped in the default domain."""
    if annotate.writes_through() != "injection":
        sys.exit("run me under nsys")
    slots = annotate._kept[0][1]  # noqa: SLF001 (what it keeps for the profiler is what is wanted here)
    push = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(slots[_PUSH])
    pop = ctypes.PYFUNCTYPE(ctypes.c_int)(slots[_POP])
    return push, pop


class Hooked:
    """A tree of modules that tells NVTX of each one it runs."""

    def __init__(self, prefix: str, *, with_outputs: bool) -> None:
        """Modules are called by paths that begin with `prefix`."""
        self.prefix, self.with_outputs = prefix, with_outputs
        self.push, self.pop = default_domain()

    def run(self, name: str, tokens: int, inside: Callable[[], object] = lambda: None, **more: object) -> None:
        """One module: its range, what it does, and the range of its outputs."""
        shape = [[tokens, WIDTH]]
        self.push(str({"Module": f"{self.prefix}{name}", **more, "Inputs": shape}).encode())
        inside()
        self.pop()
        if self.with_outputs:
            self.push(str({"Module": f"{self.prefix}{name}", "Outputs": shape}).encode())
            self.pop()

    def forward(self, tokens: int, saved: Callable[[int], object] = lambda _: None) -> None:
        """The whole model; `saved` is called within each layer's attention."""
        params = {"weight": [3 * WIDTH, WIDTH]}

        def attention(layer: int) -> None:
            self.run(f"model.layers.{layer}.self_attn.qkv_proj", tokens, TrainableParams=params)
            self.run(f"model.layers.{layer}.self_attn.attn", tokens, lambda: saved(layer))
            self.run(f"model.layers.{layer}.self_attn.o_proj", tokens)

        def block(layer: int) -> None:
            self.run(f"model.layers.{layer}.self_attn", tokens, lambda: attention(layer))
            self.run(f"model.layers.{layer}.mlp", tokens)

        def model() -> None:
            for layer in range(LAYERS):
                self.run(f"model.layers.{layer}", tokens, lambda layer=layer: block(layer))

        self.run("model", tokens, model)
        self.run("lm_head", tokens)


def main() -> None:
    """The process that traces as vLLM, which starts the other; with an argument, that one."""
    here, there = socket.socketpair()
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: there.recv(65536), b"")])
    drain.start()
    if len(sys.argv) > 1:
        print(json.dumps(whole_requests(here)))
    else:
        other = subprocess.run([sys.executable, __file__, "whole"], stdout=subprocess.PIPE, text=True, check=True)
        layers, requests = layer_by_layer(here)
        whole = json.loads(other.stdout)
        moved = sum(layers.values()) + sum(whole.values())
        answers = {
            "total": {"movements": len(layers) * sum(map(len, STEPS)) + len(whole), "bytes": moved},
            "layer_unattributed": len(whole),
            "layers": {"bytes": [layers[layer] for layer in range(LAYERS)]},
            "requests": {name: {"bytes": nbytes} for name, nbytes in (requests | whole).items()},
        }
        json.dump({"answers": answers}, sys.stdout, indent=1)
    here.shutdown(socket.SHUT_RDWR)
    drain.join()


def layer_by_layer(link: socket.socket) -> tuple[Counter[int], dict[str, int]]:
    """Bytes by layer and by request, as they were sent within each layer's attention."""
    hooked = Hooked("LlamaForCausalLM.", with_outputs=True)
    layers, requests = Counter[int](), Counter[str]()
    for batch in STEPS:
        tokens = sum(count for _, count in batch)

        def save(layer: int, batch: tuple[tuple[str, int], ...] = batch) -> None:
            for request, count in batch:
                data = os.urandom(count * TOKEN_BYTES)
                with annotate.kv_transfer(op="send", request=request, bytes=len(data), peer=1):
                    link.sendall(data)
                layers[layer] += len(data)
                requests[request] += len(data)

        hooked.push(f"execute_context_{len(batch)}({tokens})_generation_0(0)".encode())
        hooked.forward(tokens, save)
        hooked.pop()
    return layers, dict(requests)


def whole_requests(link: socket.socket) -> dict[str, int]:
    """Bytes by request, as a worker sent each while the main thread went on with the next."""
    hooked = Hooked("model.", with_outputs=False)
    posted, sent = queue.Queue[Any](), Counter[str]()

    def work() -> None:
        while (request := posted.get()) is not None:
            name, count = request
            data = os.urandom(LAYERS * count * TOKEN_BYTES)
            with annotate.kv_transfer(op="send", request=name, bytes=len(data), peer=1):
                link.sendall(data)
            sent[name] += len(data)

    worker = threading.Thread(target=work)
    worker.start()
    for request in WHOLE:
        hooked.push(b"scheduler.run_batch")
        hooked.forward(request[1])
        hooked.pop()
        posted.put(request)
    posted.put(None)
    worker.join()
    return dict(sent)


if __name__ == "__main__":
    main()
