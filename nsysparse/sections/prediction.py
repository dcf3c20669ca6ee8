"""What `nsysparse kv` computes, as blocks: sizes, times over links, lengths where a link is too slow, requests."""

from nsysparse.document import Block, Callout, Definition, Definitions, Document, Fact, Facts, Heading, Paragraph
from nsysparse.prediction import Prediction
from nsysparse.sections.cells import names, numbers, shares, table, texts
from nsysparse.sections.prediction_lengths import lengths_blocks
from nsysparse.sections.prediction_times import critical_blocks, times_blocks
from nsysparse.units import counted, human_bytes

_TERMS = (
    Definition(
        "Bytes per token",
        "What one more token adds to one copy of the cache while it fits every window, in the type it is kept in, with "
        "scales.",
        "bytes-per-token",
    ),
    Definition(
        "Line rate, practical ceiling",
        "The link's peak in one direction, and what large transfers reach on such links; GB is 10⁹ bytes. "
        "`ID@bidirectional` is the total that vendors print, of which a transfer can use one direction only.",
        "line-rate",
    ),
    Definition(
        "Decode steps",
        "Time at the line rate over the longest and the shortest decode step: for how many steps a request that waits "
        "for its cache misses its turn.",
        "steps",
    ),
    Definition(
        "Critical length",
        "The longest sequence up to which no transfer of one request takes longer than one decode step.",
        "critical-length",
    ),
    Definition(
        "Fixed cost length",
        "The shortest sequence whose bytes take as long as what each transfer costs whatever its size.",
        "fixed-cost-length",
    ),
    Definition(
        "Exposed",
        "What is left of a transfer when computing ends, if each layer is sent as soon as it is computed and one wire "
        "carries them in turn: max(t, L·t - (L - 1)·c) for L layers that take t to cross and c to compute.",
        "exposed",
    ),
)


def build(prediction: Prediction) -> Document:
    """The whole answer as a document that any format can draw."""
    blocks = [
        _answer(prediction),
        *_cache(prediction),
        *times_blocks(prediction),
        *critical_blocks(prediction),
        *_compression(prediction),
        *lengths_blocks(prediction),
        Heading("Definitions", "definitions"),
        Definitions(_TERMS),
    ]
    title = f"KV cache of {prediction.model}"
    return Document(title, "arithmetic on the catalogues, no trace", f"nsysparse {prediction.nsysparse}", blocks)


def _answer(prediction: Prediction) -> Callout:
    first = prediction.rows[0]
    text = f"{prediction.model} hands over {human_bytes(first.bytes)} for {counted(first.tokens, 'token')}"
    if first.batch > 1:
        text += f" of each of {first.batch:,} requests"
    note = f"per token, {prediction.kv_dtype}{', and a fixed state' if prediction.state_bytes else ''}"
    figure = f"{prediction.kv_bytes_per_token:,} B"
    return Callout("verdict", "Predicted, not measured", f"{text}.", "doubt", figure, note=note)


def _cache(prediction: Prediction) -> list[Block]:
    windows = prediction.late_kv_bytes_per_token != prediction.kv_bytes_per_token
    facts = [
        Fact("Bytes per token", f"{prediction.kv_bytes_per_token:,}", prediction.kv_dtype, term="bytes-per-token"),
    ]
    if windows:
        facts.append(Fact("Past all windows", f"{prediction.late_kv_bytes_per_token:,}", "bytes per token"))
    if prediction.state_bytes:
        facts.append(Fact("Fixed state", human_bytes(prediction.state_bytes), "per request, however long"))
    if prediction.tp * prediction.pp > 1:
        tokens = counted(prediction.tokens[0], "token")
        ranks = f"tensor parallel {prediction.tp}, pipeline stages {prediction.pp}"
        facts.append(Fact("Fullest rank", human_bytes(prediction.bytes_per_rank), f"of {tokens}; {ranks}"))
    blocks: list[Block] = [Heading("Cache", "cache"), Facts(facts)]
    if prediction.model_note:
        blocks.append(Paragraph(f"Of the model: {prediction.model_note}"))
    if prediction.wire_dtype is not None:
        row = prediction.rows[0]
        blocks.append(
            Paragraph(
                f"Compressed to {prediction.wire_dtype} on the way, {human_bytes(row.saved_bytes)} of "
                f"{human_bytes(row.bytes + row.saved_bytes)} need not cross. The time to compress and to restore "
                "is not counted.",
                "doubt",
            )
        )
    return blocks


def _compression(prediction: Prediction) -> list[Block]:
    packings = prediction.packings
    heading = Heading("Narrower types", "narrower-types")
    if not packings:
        return []
    columns = [
        names("Type", [each.dtype for each in packings]),
        texts("What it is", [each.name for each in packings]),
        numbers("Bytes per token", [each.kv_bytes_per_token for each in packings]),
        shares(f"Of {prediction.kv_dtype}", [each.share for each in packings]),
    ]
    text = "Scales are counted. What they cost in accuracy, and in time to convert on the way, is not."
    return [heading, Paragraph(text), table("By type", columns, "narrower-table")]
