"""A prefill and a decode process that hand KV cache over a socket and annotate it; no GPU, no engine, real bytes.

    nsys profile -t nvtx ... python drive_annotated.py

`record.py` puts `nsysparse/annotate.py` beside it as `kvx_annotate.py`, as a server drops it in. Prefill runs
one step a request. Most requests are sent layer by layer from the thread that computes, as P2pNccl does; others are
posted whole and seen complete by another thread, as RDMA is. On stdout: what each side counted while it moved bytes.
"""

import json
import queue
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import kvx_annotate as annotate

LAYERS = 4
TOKEN_BYTES = 256  # of one layer
WINDOW = {1: 64}  # layers that keep the last tokens only, so that layers differ
# Id, tokens, and how it is handed over: `layers` one after the other, or `whole`. The ids are what clients may send.
REQUESTS = (
    ("cmpl-7f1a-0", 96, "layers"),
    ("chat 2,b", 64, "layers"),
    ("r\u00e9sum\u00e9-100%", 160, "whole"),
    ("cmpl-7f1a-1", 32, "layers"),
    ("cmpl-long", 512, "whole"),
)
TOKENS_OUT = 3
HEADER = struct.Struct("<I")
COMPUTE_S = 0.0003


class Counted:
    """What one side moved by its own count of bytes through the socket: in all, per layer and per request."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.transfers = Counter[str]()
        self.layers = {"bytes": [0] * LAYERS, "movements": [0] * LAYERS}
        self.requests: dict[str, dict[str, int]] = {}

    def moved(self, style: str, request: str, layer_bytes: dict[int, int]) -> None:
        """Add a transfer that has arrived or left whole."""
        self.transfers[style] += 1
        sums = self.requests.setdefault(request, {"bytes": 0, "movements": 0})
        sums["movements"] += 1
        for layer, size in layer_bytes.items():
            sums["bytes"] += size
            self.layers["bytes"][layer] += size
            self.layers["movements"][layer] += 1

    def told(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {"transfers": self.transfers, "layers": self.layers, "requests": self.requests}


def main() -> None:
    """Prefill, which starts decode; with the number of a socket, decode."""
    if len(sys.argv) > 1:
        decode(socket.socket(fileno=int(sys.argv[1])))
        return
    here, there = socket.socketpair()
    command = [sys.executable, __file__, str(there.fileno())]
    with subprocess.Popen(command, pass_fds=[there.fileno()], stdout=subprocess.PIPE, text=True) as other:
        there.close()
        counted = prefill(here)
        received = json.loads(other.communicate()[0])
    if other.returncode:
        sys.exit(other.returncode)
    prompts = {request: tokens for request, tokens, _ in REQUESTS}
    json.dump({"prefill": counted.told(), "decode": received, "prompt_tokens": prompts}, sys.stdout, indent=1)


# --- prefill ----------------------------------------------------------------------------------------------------------


def prefill(link: socket.socket) -> Counted:
    """Compute every request and hand its KV cache over."""
    annotate.kv_role(role="prefill", rank=0, tp=1, pp=1, engine="driver", layers=LAYERS)
    counted, posted = Counted(), queue.Queue[Any]()
    engine = threading.Thread(target=transfer_engine, args=(link, posted), name="transfer")
    engine.start()
    exactly(link, 1)  # decode is there
    for step, (request, tokens, how) in enumerate(REQUESTS):
        arrived = annotate.kv_request(request=request, prompt=tokens)
        kept = [min(tokens, WINDOW.get(layer, tokens)) for layer in range(LAYERS)]
        cache = [bytes([layer + 1]) * (count * TOKEN_BYTES) for layer, count in enumerate(kept)]
        with annotate.kv_step(step=step, phase="prefill", requests=[request], tokens=tokens):
            for layer, data in enumerate(cache):
                with annotate.kv_layer(layer=layer, step=step, phase="prefill"):
                    time.sleep(COMPUTE_S)
                if how == "layers":
                    send_layer(link, request, layer, data, step)
                    counted.moved("push_pop", request, {layer: len(data)})
        if how == "whole":
            sizes = {layer: len(data) for layer, data in enumerate(cache)}
            done = threading.Event()
            # Started by this thread at the post, ended by the engine's where it saw the last byte leave.
            begun = annotate.kv_transfer_start(
                op="send", request=request, layer=range(LAYERS), layer_bytes=list(sizes.values()),
                bytes=sum(sizes.values()), peer=1, xfer=f"{request}/all", role="prefill", step=step,
            )  # fmt: skip
            posted.put((begun, arrived, request, cache, done))
            done.wait()  # the socket is one; an engine of its own would go on
            counted.moved("start_end", request, sizes)
        else:
            annotate.end(arrived)
    posted.put(None)
    engine.join()
    link.close()
    return counted


def send_layer(link: socket.socket, request: str, layer: int, data: bytes, step: int) -> None:
    """Gather a layer and send it, both on the computing thread."""
    with annotate.kv_pack(request=request, layer=layer):
        time.sleep(COMPUTE_S / 4)
    with annotate.kv_transfer(
        op="send", request=request, layer=layer, bytes=len(data), peer=1, xfer=f"{request}/{layer}", role="prefill",
        step=step,
    ):  # fmt: skip
        say(link, request, [layer], [data])


def transfer_engine(link: socket.socket, posted: "queue.Queue[Any]") -> None:
    """Carry out what was posted, and see it complete."""
    while (post := posted.get()) is not None:
        begun, arrived, request, cache, done = post
        say(link, request, list(range(LAYERS)), cache)
        annotate.end(begun)
        annotate.end(arrived)  # requests end on another thread than they arrive on
        done.set()


def say(link: socket.socket, request: str, layers: list[int], parts: list[bytes]) -> None:
    """One message: what follows, then the bytes of its layers."""
    head = json.dumps({"request": request, "layers": layers, "sizes": [len(part) for part in parts]}).encode()
    link.sendall(HEADER.pack(len(head)) + head)
    for part in parts:
        link.sendall(part)


# --- decode -----------------------------------------------------------------------------------------------------------


def decode(link: socket.socket) -> None:
    """Receive on one thread, decode on the main one."""
    annotate.kv_role(role="decode", rank=1, tp=1, pp=1, engine="driver", layers=LAYERS)
    counted, ready = Counted(), queue.Queue[Any]()
    receiver = threading.Thread(target=receive, args=(link, counted, ready), name="receive")
    receiver.start()
    link.sendall(b"!")
    while True:
        with annotate.kv_wait():
            item = ready.get()
        if item is None:
            break
        request, started = item
        for step in range(TOKENS_OUT):
            with annotate.kv_step(step=step, phase="decode", requests=[request], tokens=1):
                time.sleep(COMPUTE_S)
        annotate.end(started)  # began on the receiving thread
    receiver.join()
    json.dump(counted.told(), sys.stdout)


def receive(link: socket.socket, counted: Counted, ready: "queue.Queue[Any]") -> None:
    """Take all messages; a request whose layers are all there is ready to be decoded."""
    left: dict[str, set[int]] = {}
    started: dict[str, Any] = {}
    while head := exactly(link, HEADER.size):
        message = json.loads(exactly(link, HEADER.unpack(head)[0]))
        request, layers, sizes = message["request"], message["layers"], message["sizes"]
        if request not in started:
            started[request] = annotate.kv_request(request=request)
            left[request] = set(range(LAYERS))
        whole = len(layers) > 1
        keys = {"op": "recv", "request": request, "bytes": sum(sizes), "peer": 0, "role": "decode"}
        if whole:
            keys |= {"layer": layers, "layer_bytes": sizes, "xfer": f"{request}/all"}
            with annotate.kv_transfer_start(**keys):
                parts = [exactly(link, size) for size in sizes]
        else:
            keys |= {"layer": layers[0], "xfer": f"{request}/{layers[0]}"}
            with annotate.kv_transfer(**keys):
                parts = [exactly(link, size) for size in sizes]
        got = {layer: len(part) for layer, part in zip(layers, parts, strict=True)}
        if any(part != bytes([layer + 1]) * len(part) for layer, part in zip(layers, parts, strict=True)):
            raise ValueError("these are not the bytes that were sent")
        counted.moved("start_end" if whole else "push_pop", request, got)
        left[request] -= set(layers)
        if not left[request]:
            ready.put((request, started[request]))
    ready.put(None)


def exactly(link: socket.socket, size: int) -> bytes:
    """So many bytes, or none at the end."""
    data = bytearray()
    while len(data) < size and (part := link.recv(size - len(data))):
        data += part
    return bytes(data)


if __name__ == "__main__":
    main()
