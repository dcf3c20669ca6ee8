"""Writes the ranges of nsysparse's annotation convention, so that KV transfers in a trace name their layer and request.

One file, standard library only, Python 3.8 or newer: import it as `nsysparse.annotate`, or drop it into a server
(`nsysparse convention --python`). Part of nsysparse, Apache License 2.0.

    with kv_transfer(op="send", request=request_id, layer=12, bytes=tensor.nbytes, peer=1):
        communicator.send(tensor, 1)

    posted = kv_transfer_start(op="put", request=request_id, layer=range(32), bytes=size, xfer=transfer_id)
    engine.post(batch)
    ...  # on any thread, when the completion was seen
    end(posted)

- `kv_transfer`, `kv_pack`, `kv_wait`, `kv_layer` and `kv_step` push a range and pop it on the same thread. They must
  not hold an `await` or a `yield`: another task would run inside, and pops would meet the wrong range. What spans one
  is annotated by `kv_transfer_start` and `kv_request`, which start a range at once and end it on whatever thread: by
  `end`, or at the end of a `with`.
- A value is a number, text, or a list of them; `layer` is an int, a range, or text such as "0-31" or "all". Keys that
  are None are left out. What the convention has no room for is percent-encoded. No value raises.
- Without a profiler every function hands back one object that does nothing, and no text is made. That is decided once,
  at import: on where NVTX_INJECTION64_PATH is set, as nsys does for what it starts; KVX_NVTX=0 or 1 decides otherwise.
- Ranges go through torch.cuda.nvtx where the server has imported it by the first range, else by ctypes into the domain
  `kvx` of the profiler's injection library, or of libnvToolsExt. `writes_through()` says which.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import sys
import threading
from enum import Enum
from functools import lru_cache
from operator import index
from typing import Any, Callable, Sequence

__all__ = [
    "end", "kv_layer", "kv_pack", "kv_request", "kv_role", "kv_step", "kv_transfer", "kv_transfer_start", "kv_wait",
    "writes_through",
]  # fmt: skip

DOMAIN = b"kvx"
INJECTION = "NVTX_INJECTION64_PATH"
SWITCH = "KVX_NVTX"


# --- what a server calls ----------------------------------------------------------------------------------------------


def kv_transfer(**keys: object) -> _Range:
    """A transfer, around the call that sends, receives or copies, on its thread: `request` `layer` `bytes`.

    Also `op` (send, recv, put, get, copy, offload, load) `peer` `role` `chunk` (text, or a pair i, n) `step` `tp` `pp`
    `xfer` (the same id on both sides) `blocks` `tokens` `layer_bytes` `request_bytes` `v`; other keys are allowed.
    """
    return _Pushed(_text("kv_transfer", keys))


def kv_transfer_start(**keys: object) -> _Range:
    """A transfer from its post, now, to `end` of what this returns, on any thread; keys as `kv_transfer`."""
    return _Started(_text("kv_transfer", keys))


def kv_pack(**keys: object) -> _Range:
    """Gather, scatter or convert kernels before or after a transfer; keys as `kv_transfer`."""
    return _Pushed(_text("kv_pack", keys))


def kv_wait(**keys: object) -> _Range:
    """Blocking on arrival: `request` `layer`."""
    return _Pushed(_text("kv_wait", keys))


def kv_layer(**keys: object) -> _Range:
    """The compute of one layer: `layer` `step` `phase`."""
    return _Pushed(_text("kv_layer", keys))


def kv_step(**keys: object) -> _Range:
    """One iteration of the engine: `step` `phase` (prefill, decode, mixed) `requests` (a list) `tokens`."""
    return _Pushed(_text("kv_step", keys))


def kv_request(**keys: object) -> _Range:
    """A request from its arrival, now, to `end` of what this returns, on any thread: `request` `prompt` `output`."""
    return _Started(_text("kv_request", keys))


def kv_role(**keys: object) -> None:
    """What this process is, once: `role` (prefill, decode) `rank` `tp` `pp` `engine` `layers` `model`."""
    _call("mark", _text("kv_role", keys))


def end(started: _Range | None) -> None:
    """End what `kv_transfer_start` or `kv_request` began; once more, or of anything else, it does nothing."""
    if isinstance(started, _Range):
        started.__exit__()


def writes_through() -> str:
    """Where ranges go: `torch`, `injection`, `library`, `nowhere` (NVTX cannot be reached) or `off` (no profiler)."""
    return _tool().name if _ON else "off"


# --- ranges -----------------------------------------------------------------------------------------------------------


class _Range:
    """A range that is not there."""

    __slots__ = ()

    def __enter__(self) -> _Range:  # noqa: PYI034 (Self is not in Python 3.8)
        return self

    def __exit__(self, *_exception: object) -> None:
        return None


class _Pushed(_Range):
    """A range on the stack of the thread that enters it. On another thread it is left open: that has its own stack."""

    __slots__ = ("_text", "_threads")

    def __init__(self, text: str) -> None:
        self._text = text
        self._threads: list[int] = []  # of those that entered it: it may be entered again

    def __enter__(self) -> _Range:
        if _call("push", self._text) is not None:
            self._threads.append(threading.get_ident())
        return self

    def __exit__(self, *_exception: object) -> None:
        try:
            self._threads.remove(threading.get_ident())
        except ValueError:
            return
        _call("pop")


class _Started(_Range):
    """A range of no thread, open from now on."""

    __slots__ = ("_open",)

    def __init__(self, text: str) -> None:
        self._open = [_call("start", text)]

    def __exit__(self, *_exception: object) -> None:
        try:
            number = self._open.pop()  # of several threads that end it, one
        except IndexError:
            return
        if number is not None:
            _call("end", number)


def _call(what: str, *arguments: Any) -> Any:
    """What NVTX returns, or None where there is none or it failed: a server never hears of it."""
    try:
        return getattr(_tool(), what)(*arguments)
    except Exception:  # noqa: BLE001 (of a server whose answer must not depend on its profiler)
        return None


_NOTHING = _Range()


def _nothing(**_keys: object) -> _Range:
    return _NOTHING


# --- text -------------------------------------------------------------------------------------------------------------

_ODD = re.compile(r"[^!-$&-~]+")  # all but printable ASCII; % too, so that decoding gives the value back
_PLAIN = 10**18  # numbers that are written as they are, without a look at what else they might be
_ODD_IN_LIST = re.compile(r"[^!-$&-+\--~]+")  # the comma as well


def _text(kind: str, keys: dict[str, object]) -> str:
    """The kind, then `key=value` of every key that is not None, in the order given."""
    return " ".join([kind, *(f"{_key(key)}={_value(key, keys[key])}" for key in keys if keys[key] is not None)])


@lru_cache(256)
def _key(key: str) -> str:
    """A key as the convention allows it: `[a-z][a-z0-9_]*`."""
    return re.sub(r"\A(?![a-z])", "x", re.sub(r"[^a-z0-9_]", "_", key.lower()))


def _value(key: str, value: object) -> str:
    """A value as the convention allows it, whatever it is."""
    if type(value) is int and -_PLAIN < value < _PLAIN:
        return str(value)
    odd = _ODD_IN_LIST if key in ("request", "requests") else _ODD
    try:
        if not isinstance(value, (list, tuple, range)):
            return _quoted(_plain(value), odd)
        if key == "chunk" and isinstance(value, tuple):
            return "/".join(_quoted(_plain(part), odd) for part in value)
        span = _span(value) if key == "layer" else None
        return span or ",".join(_quoted(_plain(part), _ODD_IN_LIST) for part in value)
    except Exception:  # noqa: BLE001 (an object whose __str__ fails, an int too long to print)
        return _quoted(type(value).__name__, odd)


def _span(layers: Sequence[Any]) -> str | None:
    """Layers that follow each other as the convention writes them, `7` or `0-31`; None for others."""
    if not layers:
        return None
    try:
        first, last = index(layers[0]), index(layers[-1])
        follow = range(first, last + 1)
        if layers != follow and [index(layer) for layer in layers] != list(follow):
            return None
    except TypeError:
        return None
    return str(first) if first == last else f"{first}-{last}"


def _plain(value: object) -> str:
    if type(value) is str:
        return value
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "backslashreplace")
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _quoted(text: str, odd: re.Pattern[str]) -> str:
    if odd.search(text) is None:
        return text
    return odd.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")), text)


# --- NVTX -------------------------------------------------------------------------------------------------------------


class _Tool:
    """How text reaches the profiler, and what that is called."""

    def __init__(self, name: str, push: Any, pop: Any, start: Any, end: Any, mark: Any) -> None:
        self.name, self.push, self.pop, self.start, self.end, self.mark = name, push, pop, start, end, mark


_chosen: dict[str, _Tool] = {}


def _tool() -> _Tool:
    """The first of PyTorch, the injection library and libnvToolsExt that works; chosen once, by whoever comes first."""
    tool = _chosen.get("tool")
    return tool if tool is not None else _chosen.setdefault("tool", _reach())


def _reach() -> _Tool:
    failed = []
    for way in (_torch, _injection, _library):
        try:
            return way()
        except Exception as error:  # noqa: BLE001, PERF203 (whatever is wrong with one way, the next may work)
            failed.append(f"{way.__name__[1:]}: {error}")
    logging.getLogger(__name__).warning("No NVTX ranges are written (%s)", "; ".join(failed))
    return _Tool("nowhere", *[lambda *_arguments: None] * 5)


def _torch() -> _Tool:
    """PyTorch's own functions; they write into the default domain. Its builds without CUDA have them, but not NVTX."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise RuntimeError("not imported")
    if not all(hasattr(torch._C._nvtx, name) for name in ("rangePushA", "rangeStartA")):  # noqa: SLF001 (nothing public tells)
        raise RuntimeError("built without NVTX")
    nvtx = torch.cuda.nvtx
    return _Tool("torch", nvtx.range_push, nvtx.range_pop, nvtx.range_start, nvtx.range_end, nvtx.mark)


class _Attributes(ctypes.Structure):
    """NVTX's nvtxEventAttributes_t."""

    _fields_ = [
        ("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
        ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32),
        ("payload_type", ctypes.c_int32), ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64),
        ("message_type", ctypes.c_int32), ("message", ctypes.c_char_p),
    ]  # fmt: skip


def _event(text: str) -> Any:
    """Version 3, no category, colour or payload; the message is plain text (1), which the profiler copies."""
    return ctypes.byref(_Attributes(3, ctypes.sizeof(_Attributes), 0, 0, 0, 0, 0, 0, 1, text.encode("ascii")))


# NVTX's functions by their place in the table that an injection library fills, with result and arguments.
_FUNCTIONS: dict[int, tuple[str, Any, tuple[Any, ...]]] = {
    1: ("nvtxDomainMarkEx", None, (ctypes.c_void_p, ctypes.c_void_p)),
    2: ("nvtxDomainRangeStartEx", ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_void_p)),
    3: ("nvtxDomainRangeEnd", None, (ctypes.c_void_p, ctypes.c_uint64)),
    4: ("nvtxDomainRangePushEx", ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p)),
    5: ("nvtxDomainRangePop", ctypes.c_int, (ctypes.c_void_p,)),
    12: ("nvtxDomainCreateA", ctypes.c_void_p, (ctypes.c_char_p,)),
}


def _domain(name: str, address: Callable[[int, str], int | None]) -> _Tool:
    """NVTX by ctypes in a domain of our own, where no pop of anybody else meets a range of ours.

    The functions are called with the GIL held, as PyTorch does: they take less time than handing it over.
    """
    made = []
    for place, (function, result, arguments) in _FUNCTIONS.items():
        found = address(place, function)
        if not found:
            raise RuntimeError("no " + function)
        made.append(ctypes.PYFUNCTYPE(result, *arguments)(found))
    mark, start, end_, push, pop, create = made
    kvx = create(DOMAIN)
    return _Tool(
        name,
        lambda text: push(kvx, _event(text)), lambda: pop(kvx),
        lambda text: start(kvx, _event(text)), lambda number: end_(kvx, number),
        lambda text: mark(kvx, _event(text)),
    )  # fmt: skip


def _library() -> _Tool:
    """NVTX as a shared library, of CUDA before 13."""
    library: Any = None
    for name in ("libnvToolsExt.so.1", "libnvToolsExt.so"):
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    if library is None:
        raise RuntimeError("libnvToolsExt was not found")
    return _domain("library", lambda _place, name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


# NVTX 3 has no library: each program that uses it holds a table of its functions, loads the library that the profiler
# names in the environment, and hands it a function that finds that table (NVIDIA/NVTX, nvtxTypes.h and nvtxInit.h).
_MODULES = {1: 16, 2: 9, 3: 15, 4: 7, 5: 16, 6: 7}  # module: functions in its table
_DOMAINS = 5
_TABLES = 1  # the export table that finds them; nobody needs the others
_FIND_TABLE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint)
)
_EXPORT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
_kept: list[Any] = []  # what the profiler holds pointers to


class _Export(ctypes.Structure):
    """NVTX's NvtxExportTableCallbacks."""

    _fields_ = [("size", ctypes.c_size_t), ("find_table", _FIND_TABLE)]


def _injection() -> _Tool:
    """NVTX as its own header does it: our table of functions, filled by the profiler's injection library."""
    path = os.environ.get(INJECTION)
    if not path:
        raise RuntimeError(INJECTION + " is not set")
    functions = {module: (ctypes.c_void_p * count)() for module, count in _MODULES.items()}
    tables = {}
    for module, slots in functions.items():
        places = [ctypes.addressof(slots) + place * ctypes.sizeof(ctypes.c_void_p) for place in range(len(slots))]
        tables[module] = (ctypes.c_void_p * (len(slots) + 1))(None, *places[1:], None)

    def find_table(module: int, table: Any, count: Any) -> int:
        if module not in tables:
            return 0
        if table:
            table[0] = ctypes.addressof(tables[module])
        if count:
            count[0] = _MODULES[module]
        return 1

    export = _Export(ctypes.sizeof(_Export), _FIND_TABLE(find_table))
    hand_out = _EXPORT(lambda asked: ctypes.addressof(export) if asked == _TABLES else None)
    library = ctypes.CDLL(path)
    _kept.extend((functions, tables, export, hand_out, library))
    attach = library.InitializeInjectionNvtx2
    attach.restype, attach.argtypes = ctypes.c_int, [_EXPORT]
    if not attach(hand_out):
        raise RuntimeError("the profiler declined")
    return _domain("injection", lambda place, _name: functions[_DOMAINS][place])


# --- on or off --------------------------------------------------------------------------------------------------------


def _wanted() -> bool:
    switch = os.environ.get(SWITCH, "").strip().lower()
    return switch in ("1", "on", "true", "yes") or (
        switch not in ("0", "off", "false", "no") and bool(os.environ.get(INJECTION))
    )


_ON = _wanted()
if not _ON:
    globals().update(
        dict.fromkeys(
            [name for name in __all__ if name.startswith("kv_")], _nothing
        )  # callers see the signatures above
    )
