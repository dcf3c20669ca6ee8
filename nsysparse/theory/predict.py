"""How long a link would need: at its two reference lines, in decode steps, beside fixed costs, behind computing."""

from collections.abc import Sequence

from nsysparse import __version__
from nsysparse.catalog.loader import shown_model
from nsysparse.errors import UsageError
from nsysparse.prediction import FORMAT_VERSION, Band, Packing, Prediction, Question, Row, Tokens
from nsysparse.theory.critical import Length, critical_length, fixed_cost_length
from nsysparse.theory.dtypes import NARROW_BITS, cache_types
from nsysparse.theory.links import Peak, line_rate_ns, practical_ns
from nsysparse.theory.paying import shares_over
from nsysparse.theory.pipeline import exposed_ns
from nsysparse.theory.shipment import Shipment
from nsysparse.theory.unsaid import Limits, of_lengths, of_question, of_row


def predict(shipment: Shipment, peaks: Sequence[Peak], asked: Question) -> Prediction:
    """Rows by link, then batch, then tokens, in the order asked for.

    Args:
        shipment: What crosses.
        peaks: The links to hold it against, at least one.
        asked: What else is known and wanted.

    Raises:
        UsageError: The parts of the shipment contradict each other.
    """
    if not (peaks and asked.tokens and asked.batch):
        raise UsageError("A prediction needs a link, a length and a batch.")
    reasons = of_question(shipment, asked)
    rows: list[Row] = []
    for peak in peaks:
        limits = _limits(shipment, peak, asked)
        for batch in asked.batch:
            for tokens in asked.tokens:
                reasons += of_row(f"/rows/{len(rows)}", peak, limits, asked)
                rows.append(_row(shipment, peak, asked, limits, (batch, tokens)))
    lengths = None
    if asked.lengths is not None:
        lengths = shares_over(shipment, peaks, asked, asked.lengths)
        reasons += of_lengths(lengths, asked)
    model, layout = shipment.model, shipment.layout
    return Prediction(
        format_version=FORMAT_VERSION,
        nsysparse=__version__,
        model=shown_model(model),
        model_note=model.note or "",
        kv_bytes_per_token=shipment.token_bytes,
        late_kv_bytes_per_token=shipment.late_token_bytes,
        state_bytes=shipment.fixed_bytes,
        bytes_per_rank=shipment.on_rank(asked.tokens[0]),
        batch=tuple(asked.batch),
        tokens=tuple(asked.tokens),
        tp=layout.tp,
        pp=layout.pp,
        block=layout.block,
        mla=layout.mla,
        nics=shipment.link_count,
        kv_dtype=shipment.kv_dtype.id,
        wire_dtype=None if shipment.wire_dtype is None else shipment.wire_dtype.id,
        step_ns=asked.step_ns,
        layer_count=shipment.layers,
        layer_ns=asked.layer_ns,
        fixed_cost_ns=asked.fixed_cost_ns,
        benefit_ns=asked.benefit_ns,
        rows=rows,
        packings=_packings(shipment),
        lengths=lengths,
        reasons=reasons,
    )


def _limits(shipment: Shipment, peak: Peak, asked: Question) -> Limits:
    def critical(rate: float) -> tuple[Length, Length]:
        low, high = asked.step_ns.low, asked.step_ns.high
        return critical_length(shipment, rate, low), critical_length(shipment, rate, high)

    cost = asked.fixed_cost_ns
    return Limits(
        critical(peak.bytes_per_s),
        None if peak.practical_bytes_per_s is None else critical(peak.practical_bytes_per_s),
        None if cost is None else fixed_cost_length(shipment, peak.bytes_per_s, cost),
    )


def _row(shipment: Shipment, peak: Peak, asked: Question, limits: Limits, size: tuple[int, int]) -> Row:
    batch, tokens = size
    on_link = shipment.on_link(tokens, batch)
    time_ns = line_rate_ns(on_link, peak)
    crossing = shipment.sent(tokens, batch)
    exposed = None
    if asked.layer_ns is not None:
        exposed = exposed_ns(on_link, peak.bytes_per_s, shipment.layers, asked.layer_ns, asked.fixed_cost_ns or 0)
    return Row(
        link=peak.link_id,
        peak_gb_s=peak.gb_s,
        peak_source=peak.source,
        practical_gb_s=peak.practical_gb_s,
        practical_source=peak.practical_source,
        link_count=shipment.link_count,
        batch=batch,
        tokens=tokens,
        bytes=crossing,
        saved_bytes=shipment.kept(tokens, batch) - crossing,
        rank_bytes=shipment.on_rank(tokens, batch),
        link_bytes=on_link,
        line_rate_ns=time_ns,
        practical_ns=practical_ns(on_link, peak),
        steps=Band(time_ns / asked.step_ns.high, time_ns / asked.step_ns.low),
        critical_tokens=_tokens(limits.line_rate),
        practical_critical_tokens=_tokens(limits.practical),
        fixed_cost_tokens=limits.fixed_cost.tokens if limits.fixed_cost else None,
        exposed_ns=exposed,
    )


def _tokens(ends: tuple[Length, Length] | None) -> Tokens:
    return Tokens(None, None) if ends is None else Tokens(ends[0].tokens, ends[1].tokens)


def _packings(shipment: Shipment) -> list[Packing]:
    """What narrower types would make of a token; none for a cache that has 8 bits a value or fewer already."""
    kept = shipment.token_bytes
    if shipment.kv_dtype.bits <= NARROW_BITS or not kept:
        return []
    found = []
    for kind in cache_types().values():
        if kind.bits >= shipment.kv_dtype.bits:
            continue
        try:
            packed = Shipment(shipment.model, kv_dtype=kind).token_bytes
        except UsageError:  # a type with a layout of its own, which this model does not have
            continue
        found.append(Packing(kind.id, kind.name, packed, packed / kept))
    return found
