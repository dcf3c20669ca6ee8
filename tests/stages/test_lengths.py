"""Lengths of requests: out of strangers' files, into a histogram, against links."""

from pathlib import Path

import pytest

from nsysparse.api import prompt_lengths
from nsysparse.catalog.loader import find_model
from nsysparse.errors import InputError, NsysparseError, UsageError
from nsysparse.lengths import Histogram, histogram
from nsysparse.prediction import Lengths, Question, Steps
from nsysparse.testing import TraceBuilder
from nsysparse.theory import length_files
from nsysparse.theory.length_files import COLUMNS, read_lengths
from nsysparse.theory.links import resolve
from nsysparse.theory.predict import predict
from nsysparse.theory.shipment import Shipment

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.03,3180,8\n"
MOONCAKE = '{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}\n'
MS = 1_000_000


def read(tmp_path: Path, content: str | bytes, column: str | None = None) -> Histogram:
    path = tmp_path / "requests.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_lengths(path, column)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "source", "lengths"),
    [
        (AZURE, "ContextTokens", [(3180, 1), (4808, 1)]),
        (MOONCAKE * 2, "input_length", [(6758, 2)]),
        ("Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,18\n", "Request tokens", [(472, 1)]),
        ("tokens;prompt_tokens\n9;7\n", "prompt_tokens", [(7, 1)]),
        ("id\ttokens\r\na\t12.0\r\n", "tokens", [(12, 1)]),
        ("\ufeffprompt_tokens\n5\n\n6\n", "prompt_tokens", [(5, 1), (6, 1)]),
        ('text,input_len\n"one, ""two""\nthree",3\n', "input_len", [(3, 1)]),
        ('\n{"tokens": 0}\n\n{"tokens": 8.0, "more": {"tokens": 9}}\n', "tokens", [(0, 1), (8, 1)]),
    ],
)
def test_known_columns_are_found_in_csv_and_json_lines(
    content: str, source: str, lengths: list[tuple[int, int]], tmp_path: Path
):
    found = read(tmp_path, content)
    assert (found.source, list(found.lengths)) == (f"requests.txt, {source}", lengths)


@pytest.mark.parametrize("column", COLUMNS)
def test_every_known_column_is_known_in_every_spelling(column: str, tmp_path: Path):
    for spelling in (column, column.upper(), column.title().replace("_", ""), column.replace("_", " ")):
        assert read(tmp_path, f"a,{spelling}\n1,2\n").lengths == [(2, 1)]


def test_a_column_can_be_named(tmp_path: Path):
    assert read(tmp_path, AZURE, "GeneratedTokens").lengths == [(8, 1), (10, 1)]
    assert read(tmp_path, MOONCAKE, "output_length").lengths == [(500, 1)]


def test_requests_without_a_length_are_counted_apart(tmp_path: Path):
    for content in ("tokens,b\n4,x\n,x\n \t,x\n", '{"tokens": 4}\n{"tokens": null}\n{"b": 1}\n'):
        found = read(tmp_path, content)
        assert (found.total, found.unknown_count) == (1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("[1, 2]\n", "one JSON array"),
        ("a,b\n1,2\n", "no column is known to hold lengths of prompts. It has 'a', 'b'"),
        ("17\n18\n", "It has '17'"),
        ("tokens\nmany\n", "line 2: 'tokens' is 'many', which is no count of tokens"),
        ("id,tokens\na,1\nb,-5\n", "line 3: 'tokens' is '-5'"),
        ("tokens\n1.5\n", "line 2: 'tokens' is '1.5'"),
        ("tokens\nnan\n", "is 'nan'"),
        ("tokens\n\u0661\u0662\n", "which is no count"),
        ("tokens\n1000000001\n", "line 2: 'tokens' has more than 1,000,000,000 tokens"),
        (f"tokens\n{'9' * 5000}\n", "line 2"),
        ("tokens,b\n1\n", "line 2: has 1 fields under 2 titles"),
        ('tokens\n"5\n', "is no CSV"),
        ("tokens,Tokens,TOKENS \n1,2,3\n", ""),
        ("Tokens,TOKENS\n1,2\n", "2 columns are called 'tokens'"),
        ("tokens\n\n \n", "holds no length in any line"),
        ('{"tokens": 1}\n{"tokens": true}\n', "line 2: 'tokens' is 'True'"),
        ('{"tokens": 1}\n{"tokens": [2]}\n', "line 2: 'tokens' is '[2]'"),
        ('{"tokens": 1}\n\n{"tokens": \n', "line 3: is no JSON object"),
        ('{"tokens": 1}\n7\n', "line 2: is no JSON object"),
        ('{"tokens": ' + "9" * 5000 + "}\n", "line 1: is no JSON object"),
        ('{"tokens": 1, "a": ' + "[" * 100_000 + "\n", "line 1: is no JSON object"),
        (b"tokens\n\xff\xfe\n", "line 2: is not UTF-8"),
        (b"\x00\x01\x02", "no column is known"),
        ("tokens\n" + "1" * 1_000_001, "line 2: has more than 1,000,000 bytes"),
    ],
    ids=range(26),
)
def test_what_is_wrong_is_said_with_its_line(content: str | bytes, message: str, tmp_path: Path):
    if not message:
        assert read(tmp_path, content).lengths == [(1, 1)]  # the one that is spelled exactly so
        return
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert message in caught.value.message
    assert caught.value.message.startswith("requests.txt")
    assert len(caught.value.message) < 400


def test_a_column_that_is_not_there_names_those_that_are(tmp_path: Path):
    with pytest.raises(UsageError, match="has no column 'prompt'") as caught:
        read(tmp_path, AZURE, "prompt")
    assert caught.value.hint == "It has 'TIMESTAMP', 'ContextTokens', 'GeneratedTokens'."


def test_files_and_columns_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(length_files, "MOST_BYTES", 20)
    with pytest.raises(InputError, match="more than 20 bytes"):
        read(tmp_path, "tokens\n" + "1\n" * 20)
    monkeypatch.undo()
    monkeypatch.setattr(length_files, "MOST_LENGTHS", 3)
    assert read(tmp_path, "tokens\n1\n2\n3\n1\n").total == 4
    with pytest.raises(InputError, match="more than 3 different lengths"):
        read(tmp_path, "tokens\n1\n2\n3\n4\n")


@pytest.mark.parametrize("name", ["missing.csv", "folder", "nul\0byte.csv", "x" * 5000])
def test_a_file_that_cannot_be_read_is_no_traceback(name: str, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(NsysparseError) as caught:
        read_lengths(tmp_path / name)
    assert caught.value.hint


# --- the histogram ----------------------------------------------------------------------------------------------------


def test_bins_double_and_hold_every_request():
    edges, counts = histogram("", [0, 1, 2, 3, 4, 7, 8, 100, None]).bins()
    assert edges == (0, 1, 2, 4, 8, 16, 32, 64, 128)
    assert counts == (1, 1, 2, 2, 1, 0, 0, 1)
    assert histogram("", [5]).bins() == ((4, 8), (1,))
    assert histogram("", []).bins() == ((), ())


def test_percentiles_are_lengths_that_occur():
    told = histogram("", [*range(1, 101), None])
    assert (told.percentile(50), told.percentile(90), told.percentile(99)) == (50, 90, 99)
    assert histogram("", [7]).percentile(50) == 7
    assert histogram("", []).percentile(50) is None
    assert histogram("", [None]).share(bool) is None


def answered(
    tokens: list[int], *links: str, fixed_cost_ns: int | None = None, benefit_ns: int | None = None
) -> Lengths:
    peaks = [peak for link in links if (peak := resolve(link, None))]
    asked = Question([1024], [1], Steps(30 * MS, 30 * MS), None, fixed_cost_ns, benefit_ns, histogram("told", tokens))
    found = predict(Shipment(find_model("llama-3-70b")), peaks, asked).lengths
    assert found is not None
    return found


def test_shares_change_at_the_critical_length_and_at_the_fixed_cost():
    """On 100GbE 1,144 tokens cross in one step of 30 ms; 1 ms is as long as 38.1 tokens take."""
    found = answered([38, 39, 1144, 1145], "eth-100g", fixed_cost_ns=MS, benefit_ns=31 * MS)
    assert found.above_critical_share.low == found.above_critical_share.high == 0.25
    assert found.below_fixed_cost_share == 0.25
    assert found.pays_share == 0.75  # 1,145 tokens and the fixed cost take 31.02 ms


def test_the_share_that_pays_leaves_out_a_fixed_cost_that_nobody_told():
    assert answered([1144, 1145], "eth-100g", benefit_ns=30_000_001).pays_share == 0.5
    assert answered([1], "eth-100g", fixed_cost_ns=5 * MS, benefit_ns=MS).pays_share == 0


def test_a_third_of_a_nanosecond_is_longer():
    """One token takes 218,453 1/3 ns at 1.5 GB/s."""
    link = resolve(None, 1.5)
    assert link is not None
    for step_ns, share in ((218_453, 1), (218_454, 0)):
        asked = Question([1], [1], Steps(step_ns, step_ns), benefit_ns=step_ns, lengths=histogram("told", [1]))
        found = predict(Shipment(find_model("llama-3-70b")), [link], asked).lengths
        assert found is not None
        assert (found.above_critical_share.low, found.pays_share) == (share, 1 - share)


def test_several_links_have_a_share_each_and_none_together():
    found = answered([2000], "eth-100g", "ib-ndr")
    assert [each.above_critical_share.low for each in found.by_link] == [1, 0]
    assert found.above_critical_share.low is found.pays_share is None


# --- traces -----------------------------------------------------------------------------------------------------------


def test_a_traces_requests_tell_their_prompts(tmp_path: Path):
    builder = TraceBuilder(duration=1_000)
    thread = builder.process(pid=1).thread(tid=1)
    for place, text in enumerate(("request=a prompt=96 output=8", "request=b prompt=512", "request=c")):
        thread.start_end(f"kv_request {text}", 10 * place, 10 * place + 5)
    assert sorted(prompt_lengths([builder.write(tmp_path / "t.sqlite")]), key=str) == [512, 96, None]
