"""`nsysparse.annotate`: what it writes is what the preset reads, it needs nothing, and it never disturbs a server."""

import ast
import asyncio
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.presets.loader import builtin_rules, match

FILE = Path(__file__).resolve().parents[2] / "nsysparse/annotate.py"
OWN = [rule for rule in builtin_rules() if rule.preset == "own"]
RANGES = ("kv_transfer", "kv_transfer_start", "kv_pack", "kv_wait", "kv_layer", "kv_step", "kv_request")


class Recorder:
    """Stands where PyTorch's NVTX functions are: notes what it is told, on which thread."""

    def __init__(self) -> None:
        self.said: list[tuple[str, object]] = []
        self.threads: list[int] = []
        self.stacks: dict[int, list[str]] = {}

    def _note(self, what: str, value: object) -> None:
        self.said.append((what, value))
        self.threads.append(threading.get_ident())

    def range_push(self, text: str) -> int:
        self._note("push", text)
        self.stacks.setdefault(threading.get_ident(), []).append(text)
        return len(self.stacks[threading.get_ident()]) - 1

    def range_pop(self) -> int:
        self._note("pop", self.stacks[threading.get_ident()].pop())
        return 0

    def range_start(self, text: str) -> int:
        self._note("start", text)
        return len(self.said)

    def range_end(self, number: int) -> None:
        self._note("end", self.said[number - 1][1])

    def mark(self, text: str) -> None:
        self._note("mark", text)


Load = Callable[..., ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """The file as a server drops it in, imported in an environment of the given variables, with or without PyTorch."""

    def imported(torch: Any = None, **environment: str) -> ModuleType:
        for name in ("KVX_NVTX", "NVTX_INJECTION64_PATH"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        if torch is not None:
            monkeypatch.setitem(sys.modules, "torch", torch)
        spec = importlib.util.spec_from_file_location("kvx_annotate", FILE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return imported


def torch_with(nvtx: Any, *, built: bool = True) -> Any:
    functions = SimpleNamespace(rangePushA=None, rangeStartA=None) if built else None
    parts = SimpleNamespace(_nvtx=functions) if built else SimpleNamespace()
    return SimpleNamespace(_C=parts, cuda=SimpleNamespace(nvtx=nvtx))


@pytest.fixture
def recorded(load: Load) -> tuple[ModuleType, Recorder]:
    nvtx = Recorder()
    return load(torch_with(nvtx), KVX_NVTX="1"), nvtx


# --- text -------------------------------------------------------------------------------------------------------------


def test_texts_are_those_of_the_convention(recorded: tuple[ModuleType, Recorder]) -> None:
    module, nvtx = recorded
    module.kv_role(role="prefill", rank=0, tp=2, pp=1, engine="vllm", layers=32, model="llama-3-8b")
    with (
        module.kv_step(step=88, phase="prefill", requests=["cmpl-1", "cmpl-2"], tokens=512),
        module.kv_layer(layer=3, step=88, phase="prefill"),
        module.kv_pack(request="r1", layer=3),
        module.kv_wait(request="r1", layer=3),
        module.kv_transfer(
            v=1,
            op="send",
            request="cmpl-7f1a-0",
            layer=12,
            bytes=4194304,
            peer=1,
            role="prefill",
            chunk=(0, 2),
            step=88,
        ),
    ):
        pass
    module.end(module.kv_request(request="cmpl-1", prompt=512, output=64))
    module.end(module.kv_transfer_start(request=42, layer=range(32), bytes=134217728, peer=None))
    examples = [example.text for rule in OWN for example in rule.examples]
    texts = [text for what, text in nvtx.said if what in ("push", "start", "mark")]
    assert set(texts) <= set(examples)
    assert len(set(texts)) == 8
    assert (
        "kv_transfer v=1 op=send request=cmpl-7f1a-0 layer=12 bytes=4194304 peer=1 role=prefill chunk=0/2 step=88"
        in texts
    )


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({}, "kv_transfer"),
        ({"request": None, "layer": 0, "bytes": 0}, "kv_transfer layer=0 bytes=0"),
        ({"layer": range(4)}, "kv_transfer layer=0-3"),
        ({"layer": [4, 5, 6]}, "kv_transfer layer=4-6"),
        ({"layer": (7,)}, "kv_transfer layer=7"),
        ({"layer": "0-31", "layer_bytes": [1, 2]}, "kv_transfer layer=0-31 layer_bytes=1,2"),
        ({"layer": "all", "layer_bytes": "1,2"}, "kv_transfer layer=all layer_bytes=1,2"),
        ({"layer": [1, 3]}, "kv_transfer layer=1,3"),  # the convention has no form for it, and the reader says so
        ({"layer": []}, "kv_transfer layer="),
        ({"layer": range(10**30)}, f"kv_transfer layer=0-{10**30 - 1}"),
        ({"request": "a,b c"}, "kv_transfer request=a%2Cb%20c"),
        ({"request": ["a,b", "c"], "request_bytes": (3, 4)}, "kv_transfer request=a%2Cb,c request_bytes=3,4"),
        ({"request": "100%"}, "kv_transfer request=100%25"),
        ({"request": "é\n"}, "kv_transfer request=%C3%A9%0A"),
        ({"request": b"id"}, "kv_transfer request=id"),
        ({"bytes": 4096.0}, "kv_transfer bytes=4096"),
        ({"Bad Key": 1, "9": 2, "": 3}, "kv_transfer bad_key=1 x9=2 x=3"),
    ],
)
def test_values(load: Load, keys: dict[str, Any], text: str) -> None:
    nvtx = Recorder()
    with load(torch_with(nvtx), KVX_NVTX="1").kv_transfer(**keys):
        pass
    assert nvtx.said == [("push", text), ("pop", text)]


def test_no_value_raises(load: Load) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    nvtx = Recorder()
    module = load(torch_with(nvtx), KVX_NVTX="1")
    values = (Broken(), [Broken()], 10**5000, float("nan"), "\ud800", b"\xff", object, {"a": 1}, [[1, 2]], ("x", None))
    for key in ("layer", "request", "bytes", "chunk", "other"):
        for value in values:
            with module.kv_transfer(**{key: value}):
                pass
    texts = [text for _, text in nvtx.said]
    assert len(texts) == 2 * 5 * len(values)
    assert all(isinstance(text, str) and text.isascii() and len(text.split()) == 2 for text in texts)


WORDS = st.text(min_size=1, max_size=12) | st.text(alphabet=" ,%=/-\t\u00a0é中\U0001f600a0", min_size=1, max_size=8)
NUMBERS = st.integers(0, 2**62)
NO_VALUES = ("None", "null", "nil")
"""What programs write where they have no value, and so what none of them calls a request or a peer."""
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "request": WORDS | NUMBERS | st.lists(WORDS, min_size=1, max_size=4),
    "requests": st.lists(WORDS, min_size=1, max_size=4),
    "layer": st.integers(0, 200) | st.tuples(st.integers(0, 99), st.integers(1, 99)).map(lambda p: range(p[0], sum(p))),
    "layer_bytes": st.lists(NUMBERS, min_size=1, max_size=4),
    "request_bytes": st.lists(NUMBERS, min_size=1, max_size=4),
    "bytes": NUMBERS, "prompt": NUMBERS, "layers": NUMBERS, "step": NUMBERS,
    **dict.fromkeys(("role", "op", "xfer", "peer", "phase", "model"), WORDS),
}  # fmt: skip


def read_back(field: str, text: str) -> Any:
    """A field of the preset as what a server may have given: lists of texts, numbers."""
    if field in ("request", "requests"):
        return [unquote(part, errors="surrogatepass") for part in text.split(",")]
    if field in ("layer_bytes", "request_bytes"):
        return [int(part) for part in text.split(",")]
    if field == "layer":
        first, _, last = text.partition("-")
        return list(range(int(first), int(last or first) + 1))
    return unquote(text, errors="surrogatepass")


def as_read(field: str, value: Any) -> Any:
    if field in ("request", "requests"):
        return [str(part) for part in (value if isinstance(value, list) else [value])]
    if field in ("layer_bytes", "request_bytes"):
        return value
    if field == "layer":
        return list(value) if isinstance(value, range) else [value]
    return str(value)


@given(
    st.sampled_from(RANGES),
    st.dictionaries(st.sampled_from(sorted(VALUES)), st.none()).flatmap(
        lambda keys: st.fixed_dictionaries({key: st.none() | VALUES[key] for key in keys})
    ),
)
def test_the_preset_reads_back_what_was_given(kind: str, keys: dict[str, Any]) -> None:
    text = text_of(kind, keys)
    assert text.isascii()
    assert text.split(" ")[0] == kind.removesuffix("_start")
    labels = pl.DataFrame({"label_id": pl.Series([0], dtype=pl.UInt32), "domain": ["kvx"], "name": [text],
                           "is_default_domain": [False]})  # fmt: skip
    (row,) = match(labels, OWN).rows(named=True)
    (rule,) = (rule for rule in OWN if rule.id == kind.removesuffix("_start"))
    for field in rule.fields:
        value = keys.get(field)
        if value is None or value in NO_VALUES:
            assert row[field] is None
        else:
            assert read_back(field, row[field]) == as_read(field, value)
    # Keys that the preset does not read are there all the same, and nothing else is.
    said = dict(part.split("=", 1) for part in text.split(" ")[1:])
    assert {key: read_back(key, value) for key, value in said.items()} == {
        key: as_read(key, value) for key, value in keys.items() if value is not None
    }


def text_of(kind: str, keys: dict[str, Any]) -> str:
    import nsysparse.annotate

    return nsysparse.annotate._text(kind.removesuffix("_start"), keys)  # noqa: SLF001 (no fixtures under hypothesis)


# --- threads and tasks ------------------------------------------------------------------------------------------------


def test_a_range_that_was_started_ends_once_on_whatever_thread(recorded: tuple[ModuleType, Recorder]) -> None:
    module, nvtx = recorded
    posted = module.kv_transfer_start(xfer="x1")
    threads = [threading.Thread(target=module.end, args=(posted,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    module.end(posted)
    assert nvtx.said == [("start", "kv_transfer xfer=x1"), ("end", "kv_transfer xfer=x1")]
    assert nvtx.threads[0] != nvtx.threads[1]
    for other in (None, 5, "x"):
        module.end(other)


def test_a_push_is_popped_on_its_own_thread_or_not_at_all(recorded: tuple[ModuleType, Recorder]) -> None:
    module, nvtx = recorded
    pushed = module.kv_transfer(layer=1)
    pushed.__enter__()
    thread = threading.Thread(target=pushed.__exit__)
    thread.start()
    thread.join()
    assert nvtx.said == [("push", "kv_transfer layer=1")]


def test_threads_push_at_the_same_time(recorded: tuple[ModuleType, Recorder]) -> None:
    module, nvtx = recorded

    def work(number: int) -> None:
        for layer in range(50):
            with module.kv_layer(layer=layer, worker=number), module.kv_transfer(layer=layer, worker=number):
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(not stack for stack in nvtx.stacks.values())
    assert sorted(text for what, text in nvtx.said if what == "push") == sorted(
        text for what, text in nvtx.said if what == "pop"
    )
    assert len(nvtx.said) == 4 * 50 * 4


def test_tasks_of_one_thread_may_await_inside_what_was_started(recorded: tuple[ModuleType, Recorder]) -> None:
    module, nvtx = recorded

    async def serve(name: str) -> None:
        with module.kv_request(request=name):
            for _ in range(3):
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(serve("a"), serve("b"))

    asyncio.run(both())
    assert [what for what, _ in nvtx.said] == ["start", "start", "end", "end"]
    assert {text for what, text in nvtx.said if what == "end"} == {"kv_request request=a", "kv_request request=b"}


def test_an_exception_of_the_server_passes_and_the_range_is_popped(recorded: tuple[ModuleType, Recorder]) -> None:
    module, nvtx = recorded
    with pytest.raises(KeyError), module.kv_transfer(layer=1):
        raise KeyError
    assert [what for what, _ in nvtx.said] == ["push", "pop"]


# --- on and off -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "through"),
    [
        ({}, "off"),
        ({"KVX_NVTX": "0"}, "off"),
        ({"KVX_NVTX": "0", "NVTX_INJECTION64_PATH": "/nowhere.so"}, "off"),
        ({"KVX_NVTX": "", "NVTX_INJECTION64_PATH": ""}, "off"),
        ({"KVX_NVTX": "1"}, "torch"),
        ({"NVTX_INJECTION64_PATH": "/nowhere.so"}, "torch"),
    ],
)
def test_a_profiler_or_the_switch_decides(load: Load, environment: dict[str, str], through: str) -> None:
    assert load(torch_with(Recorder()), **environment).writes_through() == through


def test_without_a_profiler_all_is_one_object_and_no_text_is_made(load: Load) -> None:
    class Untouched:
        def __str__(self) -> str:
            raise AssertionError

    nvtx = Recorder()
    module = load(torch_with(nvtx))
    made = [getattr(module, name)(request=Untouched(), layer=[Untouched()]) for name in RANGES]
    assert all(each is made[0] for each in made)
    with made[0], made[0] as inner:
        assert inner is made[0]
    module.kv_role(role=Untouched())
    module.end(made[0])
    assert nvtx.said == []
    with pytest.raises(KeyError), made[0]:
        raise KeyError


def test_where_nvtx_cannot_be_reached_it_says_so_once(
    load: Load, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    module = load(torch_with(None, built=False), KVX_NVTX="1", NVTX_INJECTION64_PATH="/nowhere.so")
    monkeypatch.setattr("ctypes.CDLL", missing)
    for _ in range(2):
        with module.kv_transfer(layer=1):
            module.kv_role(role="decode")
        module.end(module.kv_request(request="r"))
    assert module.writes_through() == "nowhere"
    (record,) = caplog.records
    assert "nowhere.so" in record.getMessage()


def test_a_profiler_that_fails_does_not_reach_the_server(load: Load) -> None:
    class Failing(Recorder):
        def range_push(self, text: str) -> int:
            raise RuntimeError(text)

        range_start = range_push

    nvtx = Failing()
    module = load(torch_with(nvtx), KVX_NVTX="1")
    with module.kv_transfer(layer=1):
        module.end(module.kv_transfer_start(layer=1))
    assert nvtx.said == []


# --- one file, alone --------------------------------------------------------------------------------------------------


def test_it_imports_the_standard_library_only() -> None:
    tree = ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 8))
    named = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    named += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert named
    assert {name.split(".")[0] for name in named} <= set(sys.stdlib_module_names)


DROPPED_IN = """
import sys
sys.path.insert(0, {folder!r})
import kvx_annotate as annotate
sys.path.clear()
annotate.kv_role(role="prefill")
with annotate.kv_step(step=1), annotate.kv_transfer(op="send", request="r", layer=1, bytes=2):
    pass
annotate.end(annotate.kv_transfer_start(xfer="x"))
print(annotate.writes_through(), "nsysparse" in sys.modules, "torch" in sys.modules)
"""


@pytest.mark.parametrize(("switch", "through"), [("0", "off"), ("1", "nowhere")])
def test_it_works_where_nothing_else_is_installed(switch: str, through: str, tmp_path: Path) -> None:
    dropped = tmp_path / "kvx_annotate.py"
    dropped.write_bytes(FILE.read_bytes())
    # -S: no site-packages, -I: no environment and no folder of the script; so what is left is the standard library.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-bb", "-c", DROPPED_IN.format(folder=str(tmp_path))],
        capture_output=True, text=True, check=False, env={"KVX_NVTX": switch, "LD_LIBRARY_PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if through == "nowhere" and "library" in done.stdout:
        pytest.skip("libnvToolsExt is installed here")
    assert done.stdout.split() == [through, "False", "False"]
