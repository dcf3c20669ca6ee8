"""Rows of advanced NCCL tracing (`nsys profile -t nccl`, since nsys 2025.6.1): experimental.

It replaces NCCL's own ranges by rows named `Send`, `Recv` …, still in the domain NCCL, with a category per
communicator. All else stands in JSON (`nsys export --include-json=true`) whose keys NVIDIA does not document, and no
real file was at hand: so several spellings are taken, values that contradict each other count as unknown, and a row
that does not say which operation it belongs to is left out and counted. Its kernel then stays one of unknown size.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl

from nsysparse.frames import Frame, NcclOps, tid
from nsysparse.source import nccl_domain
from nsysparse.source.usable import MAX_BYTES

SIDES = {"Send": "send", "Recv": "recv"}
_DEEPEST = 4
# Keys, lower case and without anything but letters and digits → what they say.
_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("bytes", "nbytes", "size", "sizebytes", "messagesize", "messagesizebytes", "datasize"), "bytes"),
    **dict.fromkeys(("count", "elements", "elementcount", "nelements"), "count"),
    **dict.fromkeys(("datatype", "dtype", "nccldatatype"), "datatype"),
    **dict.fromkeys(("peer", "peerrank", "remoterank"), "peer"),
    **dict.fromkeys(
        ("comm", "commid", "commhash", "communicator", "communicatorid", "ncclcommunicatorid"), "communicator"
    ),
    **dict.fromkeys(("rank", "myrank", "ownrank"), "rank"),
    **dict.fromkeys(("nranks", "numranks", "noofranks", "rankcount", "commsize"), "rank_count"),
    **dict.fromkeys(("device", "deviceid", "cudadevice", "cudadev"), "device"),
    **dict.fromkeys(("apiid", "ncclapiid"), "api_id"),
    **dict.fromkeys(("channel", "channelid"), "channel"),
    **dict.fromkeys(("stream", "streamid"), "stream"),
    **dict.fromkeys(("gpu", "isgpu", "ongpu"), "gpu"),
}
_LIMITS = {
    "bytes": (0, MAX_BYTES), "count": (0, MAX_BYTES), "communicator": (0, 2**64), "api_id": (0, 2**63),
}  # fmt: skip
_SMALL = (-(2**31), 2**31)
_MARKS = ("channel", "stream", "gpu")
# ncclDataType_t: its number, or its name without the prefix → bytes.
_WIDTHS: Mapping[str, int] = {
    **dict.fromkeys(("0", "1", "10", "11", "int8", "char", "uint8", "float8e4m3", "float8e5m2"), 1),
    **dict.fromkeys(("6", "9", "float16", "half", "bfloat16", "bf16", "f16"), 2),
    **dict.fromkeys(("2", "3", "7", "int32", "int", "uint32", "float32", "float", "f32"), 4),
    **dict.fromkeys(("4", "5", "8", "int64", "uint64", "float64", "double", "f64"), 8),
}
_STORED: Mapping[str, type[pl.DataType]] = {
    "communicator": pl.UInt64, "bytes": pl.Int64, "peer": pl.Int64, "rank": pl.Int64, "rank_count": pl.Int64,
    "device": pl.Int64, "api_id": pl.Int64, **dict.fromkeys((f"has_{mark}" for mark in _MARKS), pl.Boolean),
}  # fmt: skip


def is_traced() -> pl.Expr:
    """True for labels of Send and Recv rows of advanced tracing; for a frame with the columns of `Labels`."""
    return (pl.col("domain") == nccl_domain.DOMAIN).fill_null(value=False) & pl.col("name").is_in(list(SIDES))


def read_nccl_trace(ranges: pl.DataFrame, labels: pl.DataFrame, anomalies: Counter[str]) -> Frame[NcclOps]:
    """What the Send and Recv rows of advanced tracing say, and whether they are calls or GPU work.

    Args:
        ranges: NVTX ranges with `has_category`, and with `json` where any event carries something.
        labels: Labels of `ranges`.
        anomalies: Counts a file that has such rows, rows that cannot be used, and JSON that is none.
    """
    rows = ranges.join(labels.filter(is_traced()).select("label_id", "name"), on="label_id").filter(
        pl.col("has_category") & (pl.col("style") != "mark")
    )
    if "json" not in rows.columns:
        rows = rows.with_columns(json=pl.lit(None, dtype=pl.String))
    if rows.height:
        anomalies["nccl-trace-rows-experimental"] += 1
    said = {text: _facts(text, anomalies) for text in rows["json"].drop_nulls().unique().sort().to_list()}
    decoded = pl.DataFrame(
        [{"json": text, **facts} for text, facts in said.items()], schema={"json": pl.String, **_STORED}
    )
    known = rows.join(decoded, on="json", how="left").with_columns(
        pl.col("name").replace_strict(SIDES, return_dtype=pl.String).alias("side")
    )
    usable = known.filter(pl.col("api_id").is_not_null())
    if usable.height < rows.height:
        anomalies["nccl-trace-rows-unusable"] += rows.height - usable.height
    return NcclOps.validate(_with_kind(usable).sort("range_id").select(NcclOps.column_names()))


def _with_kind(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `is_gpu`. GPU work names a channel or the GPU, stands on no thread, or names a stream where others do not."""
    marked = pl.col("has_channel").fill_null(value=False) | pl.col("has_gpu").fill_null(value=False)
    sure = rows.with_columns(is_gpu=marked | (tid(pl.col("thread")) == 0))
    streamed = pl.col("has_stream").fill_null(value=False)
    plain = (~pl.col("is_gpu") & ~streamed).any().over("process", "api_id", "side")
    return sure.with_columns(is_gpu=pl.col("is_gpu") | (streamed & plain))


def _facts(text: str, anomalies: Counter[str]) -> dict[str, int | bool]:
    """The facts of one JSON text, by column; what it says twice and differently is left out."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        loaded = None
    if not isinstance(loaded, dict):
        anomalies["payloads-not-decodable"] += 1
        return {}
    said: dict[str, set[object]] = {}
    for key, value in _flat(loaded):
        name = _meant(key)
        if name is not None:
            said.setdefault(name, set()).add(value)
    numbers = {name: _number(values) for name, values in said.items()}
    facts: dict[str, int | bool] = {}
    for name, value in numbers.items():
        low, high = _LIMITS.get(name, _SMALL)
        if value is not None and low <= value < high:
            facts[name] = value
    width = {_WIDTHS.get(_type_name(value)) for value in said.get("datatype", ())}
    if "bytes" not in said and "count" in facts and len(width) == 1:
        size = facts["count"] * (width.pop() or MAX_BYTES)
        if size < MAX_BYTES:
            facts["bytes"] = size
    marks = {f"has_{mark}": _is_marked(said.get(mark, set())) for mark in _MARKS}
    return {name: value for name, value in (facts | marks).items() if name in _STORED}


def known_part(tree: Mapping[str, object], depth: int = 0) -> dict[str, object]:
    """Of a JSON object the keys that are read, with values that say the same: a text that is neither is "?"."""
    kept: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            if depth < _DEEPEST and (inner := known_part(value, depth + 1)):
                kept[f"at {len(kept)}"] = inner
        elif isinstance(value, int | str) and _meant(key) is not None:
            is_plain = (
                not isinstance(value, str) or not value or _whole(value) is not None or _type_name(value) in _WIDTHS
            )
            kept[key] = value if is_plain else "?"
    return kept


def _meant(key: str) -> str | None:
    return _KEYS.get(re.sub(r"[^a-z0-9]", "", key.lower()))


def _flat(tree: Mapping[str, object], depth: int = 0) -> Iterator[tuple[str, object]]:
    """Keys and plain values of nested objects."""
    for key, value in tree.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from _flat(value, depth + 1)
        elif isinstance(value, int | str):
            yield key, value


def _number(values: set[object]) -> int | None:
    """The one number that all of these are; None where they differ or are none."""
    numbers = {_whole(value) for value in values}
    return numbers.pop() if len(numbers) == 1 else None


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = str(value).strip().lower()
    if re.fullmatch(r"-?[0-9]{1,20}", text):
        return int(text)
    return int(text, 16) if re.fullmatch(r"(?:0x)?[0-9a-f]{1,16}", text) else None


def _type_name(value: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(value).lower()).removeprefix("nccl")


def _is_marked(values: set[object]) -> bool:
    """Whether a key that GPU work has is there and is not denied."""
    return any(value is not False and value not in (-1, "") for value in values)
