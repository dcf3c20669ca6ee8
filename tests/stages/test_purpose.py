"""KV or not: what ranges say decides, a kernel's name never does."""

from pathlib import Path

import polars as pl

from nsysparse.purpose import with_purpose
from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.testing import Thread, TraceBuilder
from nsysparse.transports.nccl import find

SEND_RECV = "ncclDevKernel_SendRecv(args)"


def decided(builder: TraceBuilder, folder: Path) -> list[tuple[str, str]]:
    trace = read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)
    scopes = find_scopes(trace)
    found = find(trace, scopes).with_row_index("transfer_id").with_columns(pl.col("transfer_id").cast(pl.UInt32))
    return with_purpose(found, scopes).select("purpose", "purpose_rule").rows()


def sending(builder: TraceBuilder) -> Thread:
    thread = builder.process(pid=1).thread(tid=1)
    thread.nccl("ncclSend", 100, 110, nbytes=8, peer=1)
    return thread


def test_nothing_around_it_is_unknown(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    sending(builder).push_pop("model.layers.0", 50, 200)
    assert decided(builder, tmp_path) == [("unknown", "no rule matched")]


def test_our_annotation_makes_it_kv_and_the_innermost_word_wins(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    thread = sending(builder)
    thread.push_pop("nccl:all_to_all, op_id = 3", 10, 300)
    thread.push_pop("kv_transfer request=r layer=1", 50, 200, domain="kvx")
    assert decided(builder, tmp_path) == [("kv", "own/kv_transfer")]


def test_all_to_all_of_torch_is_other_only_in_the_default_domain(tmp_path: Path) -> None:
    for domain, expected in ((None, "other"), ("mine", "unknown")):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"})
        sending(builder).push_pop("nccl:all_to_all, op_id = 3", 50, 200, domain=domain)
        assert decided(builder, tmp_path)[0][0] == expected


def test_a_kernel_without_call_goes_with_its_stream_if_that_is_of_one_mind(tmp_path: Path) -> None:
    for second, expected in ((True, "other"), (False, "unknown")):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"})
        process = builder.process(pid=1)
        thread = process.thread(tid=1)
        for index, covered in enumerate((True, second)):
            at = 1000 * (index + 1)
            thread.nccl("ncclSend", at, at + 10, nbytes=8, peer=1)
            process.kernel(SEND_RECV, at + 50, at + 60, launch=thread.launch(at + 2, at + 4), stream=20)
            if covered:
                thread.push_pop("nccl:all_to_all, op_id = 3", at - 10, at + 30)
        process.kernel(SEND_RECV, 5000, 5010, correlation=99, stream=20)
        process.kernel(SEND_RECV, 6000, 6010, correlation=98, stream=21)
        lone = decided(builder, tmp_path)[2:]
        assert [purpose for purpose, _ in lone] == [expected, "unknown"]
