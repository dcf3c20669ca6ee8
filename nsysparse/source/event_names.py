"""What NVTX events are called: a number for each distinct name and domain while events are read, labels at the end."""

import numpy as np
import polars as pl

from nsysparse.frames import THREAD_BITS, Frame, Labels
from nsysparse.intervals import Ints
from nsysparse.source.batch import Batch
from nsysparse.source.export import Export
from nsysparse.source.numbering import Numbering, Numbers

_NAME_BITS, _HALF = 34, 32  # a name is one of 2 · 2^32 texts and strings, or none; a half holds one number
_NONE, _TEXT, _STRING = 0, 2, 3  # of neither; of text n it is 2 + 2n, of string n 3 + 2n


class EventNames:
    """Numbers for what events are called.

    Ids of domains are a process's own; most events are in the domain that all have, whose id is 0.
    """

    def __init__(self) -> None:
        """No event has been seen."""
        self._names, self._strings, self._places = Numbering(), Numbering(), Numbering()
        self._processes, self._domains = Numbering(), Numbering()

    def of(self, batch: Batch) -> Numbers:
        """The number of what each event is called.

        Args:
            batch: `thread`, `domain_id` (null is 0), `text` (a code) and `text_id`.
        """
        name = np.full(batch.height, _NONE, dtype=np.int64)
        has_text = batch.known("text")
        registered = batch.known("text_id") & ~has_text
        if registered.any():
            numbers = self._strings.of(batch.values("text_id")[registered])
            name[registered] = _STRING + 2 * numbers.astype(np.int64)
        name[has_text] = _TEXT + 2 * batch.values("text")[has_text].astype(np.int64)
        return self._names.of(self._place(batch) << _NAME_BITS | name)

    def _place(self, batch: Batch) -> Ints:
        """The number of each event's process and domain, from 1 on; 0 in the domain that all processes have."""
        place = np.zeros(batch.height, dtype=np.int64)
        domain = batch.values("domain_id")
        inside = np.flatnonzero(batch.known("domain_id") & (domain != 0))
        if len(inside):
            process = batch.values("thread")[inside] >> THREAD_BITS
            both = self._processes.of(process).astype(np.int64) << _HALF | self._domains.of(domain[inside])
            place[inside] = self._places.of(both).astype(np.int64) + 1
        return place

    def labels(
        self, export: Export, texts: list[str], given: Numbers, created: Numbers
    ) -> tuple[Frame[Labels], Numbers]:
        """Labels, and which of them each number means.

        Args:
            export: The open file, for registered strings.
            texts: All texts by code.
            given: Distinct numbers of events that count: a pass that was given up numbered others, with other codes.
            created: The numbers of events that name a domain by what they are called themselves.
        """
        named = self._named(export, texts, given)
        domains = (
            named.filter(pl.col("number").is_in(pl.Series(created).unique().implode()) & (pl.col("place") > 0))
            .sort("place", "name")
            .unique("place", keep="first")
            .select("place", domain="name")
        )
        named = named.join(domains, on="place", how="left").with_columns(is_default_domain=pl.col("place") == 0)
        key = ["domain", "is_default_domain", "name"]
        labels = named.select(key).unique().sort(key, nulls_last=False).with_row_index("label_id")
        told = named.join(labels, on=key, nulls_equal=True)
        of_numbers = np.zeros(len(self._names.values), dtype=np.uint32)
        of_numbers[told["number"].to_numpy()] = told["label_id"].to_numpy()
        return Labels.validate(labels.select(Labels.column_names())), of_numbers

    def _named(self, export: Export, texts: list[str], given: Numbers) -> pl.DataFrame:
        """`place` and `name` of each number: the text of an event, or of its id; empty where it has neither."""
        packed = self._names.values[given]
        name = packed & ((1 << _NAME_BITS) - 1)
        which, number = np.where(name == _NONE, _NONE, _TEXT + name % 2), (name - _TEXT) // 2
        ids = self._strings.values
        strings = export.read_strings(pl.Series(ids, dtype=pl.Int64))
        registered = dict(strings.iter_rows())
        said = [
            texts[n] if kind == _TEXT else (registered.get(int(ids[n])) or "") if kind == _STRING else ""
            for kind, n in zip(which.tolist(), number.tolist(), strict=True)
        ]
        return pl.DataFrame({"number": given, "place": packed >> _NAME_BITS, "name": pl.Series(said, dtype=pl.String)})
