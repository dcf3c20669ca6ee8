"""A redacted copy says of its run what the trace says, number for number; what a copy holds is all that it needs."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from nsysparse.api import Options, analyse, inspect
from nsysparse.api.redacting import Redaction, redact
from nsysparse.errors import InputError, NotAnExport
from nsysparse.presets.loader import builtin
from nsysparse.redaction.digests import Digests
from nsysparse.redaction.hashed import Hashed
from nsysparse.redaction.names import Label
from nsysparse.render.to_json import render

KEY = bytes(range(32))
SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*/*.sqlite"))
PLACES = ".timeline.levels[].request[]"
"""Places of requests in the list of them, which is in the order of their ids."""
HOSTS = ["synthetic/pd-two-hosts-decode.sqlite", "synthetic/pd-two-hosts-prefill.sqlite"]


def copied(paths: Sequence[Path], folder: Path, **wish: bool) -> list[Path]:
    """Copies under the same names."""
    made = []
    for path in paths:
        target = folder / path.name
        target.touch()
        redact(path, target, Redaction(key=KEY, **wish))
        made.append(target)
    return made


def said(paths: Sequence[Path]) -> list[str]:
    return [render(analyse(paths, Options(link="nvlink4-h100"))), render(inspect(paths))]


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Values of a JSON text with the keys that lead there; not at which place of a list, since names give the order."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, f"{path}[]")
    else:
        yield path, tree


def numbers(texts: Sequence[str]) -> Counter[tuple[str, object]]:
    found = (leaf for text in texts for leaf in leaves(json.loads(text)))
    return Counter((path, value) for path, value in found if not isinstance(value, str) and path != PLACES)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_report_is_the_same_to_the_byte(path: Path, tmp_path: Path) -> None:
    assert said(copied([path], tmp_path)) == said([path])


def test_clocks_of_several_files_stand_as_they_stood(sample: Callable[[str], Path], tmp_path: Path) -> None:
    paths = [sample(name) for name in HOSTS]
    assert said(copied(paths, tmp_path)) == said(paths)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_hashed_names_leave_every_number(path: Path, tmp_path: Path) -> None:
    assert numbers(said(copied([path], tmp_path, hashed=True))) == numbers(said([path]))


def test_hashed_names_of_two_files_still_meet(sample: Callable[[str], Path], tmp_path: Path) -> None:
    paths = [sample(name) for name in HOSTS]
    kept, hashed = said(paths), said(copied(paths, tmp_path, hashed=True))
    assert numbers(hashed) == numbers(kept)
    ids, digests = ({each["request_id"] for each in json.loads(text[0])["requests"]} for text in (kept, hashed))
    assert len(ids) > 5
    assert digests == {Digests(KEY).request(each) for each in ids}


def test_rebased_times_count_from_the_first_event(sample: Callable[[str], Path], tmp_path: Path) -> None:
    (copy,) = copied([sample("synthetic/pd-oneprofile.sqlite")], tmp_path, rebased=True)
    with closing(sqlite3.connect(copy)) as connection:
        starts = [connection.execute(f"SELECT min(start) FROM {table}").fetchone()[0]
                  for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL")]  # fmt: skip
    before, after = (analyse([each]) for each in (sample("synthetic/pd-oneprofile.sqlite"), copy))
    assert min(starts) == 0
    assert after.traces[0].capabilities["utc_anchor"].status == "absent"
    assert (after.verdict.value, after.summary) == (before.verdict.value, before.summary)


def test_the_same_trace_gives_the_same_bytes(sample: Callable[[str], Path], tmp_path: Path) -> None:
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    one, other = (copied([sample("synthetic/pd-transports.sqlite")], folder, hashed=True)[0] for folder in folders)
    assert one.read_bytes() == other.read_bytes()


def test_a_copy_of_a_copy_is_that_copy(sample: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    (once,) = copied([sample("synthetic/pd-transports.sqlite")], tmp_path)
    (twice,) = copied([once], tmp_path / "again")
    tables = "SELECT name FROM sqlite_master ORDER BY name"
    dumps = []
    for path in (once, twice):
        with closing(sqlite3.connect(path)) as connection:
            names = [name for (name,) in connection.execute(tables)]
            dumps.append({name: connection.execute(f"SELECT * FROM `{name}`").fetchall() for name in names})
    dumps[0].pop("TARGET_INFO_SYSTEM_ENV"), dumps[1].pop("TARGET_INFO_SYSTEM_ENV")  # a digest of a digest
    assert dumps[0] == dumps[1]


@pytest.mark.real
@pytest.mark.parametrize("kind", ["real_traces", "lab_traces"])
def test_real_traces_say_the_same(kind: str, shared_traces: Callable[[str], list[Path]], tmp_path: Path) -> None:
    for path in shared_traces(kind):
        try:
            before = said([path])
        except (NotAnExport, InputError):
            continue
        (tmp_path / path.stem).mkdir()
        assert said(copied([path], tmp_path / path.stem)) == before, path.name


def test_what_a_rule_does_not_know_is_a_digest_and_what_it_knows_keeps_what_it_is_known_by() -> None:
    texts = {
        "kv_transfer op=send request=alice-1 layer=3 bytes=64 user=bob": "kv_transfer op=send request=",
        "forward pass of bob": "~",
        "model.layers.3.secretsauce": "model.layers.3.",
        "ncclSend": "ncclSend",
    }
    labels = {text: Label("NCCL" if text == "ncclSend" else None, text != "ncclSend", text) for text in texts}
    hashed = Hashed(KEY, builtin(), set(labels.values()))
    for text, start in texts.items():
        found = hashed.label(labels[text])
        assert found.startswith(start)
        assert not any(secret in found for secret in ("alice", "bob", "secretsauce"))
    transfer = hashed.label(labels["kv_transfer op=send request=alice-1 layer=3 bytes=64 user=bob"])
    assert f"request={Digests(KEY).request('alice-1')} layer=3 bytes=64" in transfer


@pytest.mark.parametrize(
    ("ident", "shape"),
    [
        ("7", r"[1-9]\d{17}"),
        ("cmpl-7f1a-0", r"cmpl-r0[0-9a-f]{16}"),
        ("chatcmpl-abc-0011aabb", r"chatcmpl-r0[0-9a-f]{16}-[0-9a-f]{8}"),
        ("resp_" + "0" * 32, r"resp_[0-9a-f]{32}"),
    ],
)
def test_ids_keep_the_shape_that_engines_give_them(ident: str, shape: str) -> None:
    assert re.fullmatch(shape, Digests(KEY).request(ident))
    assert Digests(KEY).request(ident) != Digests(KEY[::-1]).request(ident)


def test_an_id_and_its_suffixed_form_still_differ_by_the_suffix_alone() -> None:
    plain, suffixed = (Digests(KEY).request(each) for each in ("abc", "abc-0011aabb"))
    assert suffixed[: len(plain) + 1] == f"{plain}-"
