"""Names as digests, except what a rule knows them by: recognised texts keep their words and numbers, no more.

A text that no rule of the analysis or of a preset knows becomes a digest as a whole. Of one that is known, ids of
requests and transfers become digests, and so do words that the presets' own patterns and examples do not use. Then all
rules are asked again: where they would say anything else, only ids become digests; where even that would, a text stays.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

import polars as pl

from nsysparse.presets.loader import match, rules_of
from nsysparse.presets.matching import matches
from nsysparse.presets.rules import Preset, Probe, Rule
from nsysparse.redaction.digests import Digests
from nsysparse.redaction.names import Label
from nsysparse.redaction.spans import LISTS, replaced, spans_of
from nsysparse.redaction.words import WORD, vocabulary
from nsysparse.source import nccl_domain, nccl_trace, nixl_domain, pack_kernels
from nsysparse.units import counted

_OWN = re.compile(r"(?i)^(?:nccl[a-z0-9_]*|nixl::[a-z0-9_.:]*)$")
_NCCL_KERNEL = re.compile(r"^((?:void )?nccl\w*)(.*)$", re.DOTALL | re.IGNORECASE)
_NCCL_ARGUMENTS = frozenset(
    [
        "nccl",
        "dev",
        "kernel",
        "args",
        "storage",
        "comm",
        "work",
        "k",
        "unsigned",
        "long",
        "int",
        "void",
        "char",
        "struct",
        "uint",
        "t",
    ]
)
_UCX_CALL = re.compile(r"(?i)^ucp_[a-z0-9_]+$")
_IDS = (*LISTS, "xfer", "peer")
_SCHEMA = {"label_id": pl.UInt32, "domain": pl.String, "is_default_domain": pl.Boolean, "name": pl.String}


class Hashed:
    """Names of one file, hashed.

    Args:
        key: Keys the digests.
        presets: Whose rules are to find what they found.
        labels: All labels of the file.
    """

    def __init__(self, key: bytes, presets: Sequence[Preset], labels: set[Label]) -> None:
        """Find out what each label becomes."""
        self._digests = Digests(key)
        self._rules = rules_of(presets)
        self._probes = [probe for preset in presets for probe in preset.probes]
        asked = [rule.domain for rule in self._rules] + [probe.domain for probe in self._probes]
        self._domains = {nccl_domain.DOMAIN, *(name for name in asked if name is not None)}
        self._words = vocabulary(presets)
        self._kept_ids: set[str] = set()
        self._whole, self._in_part = 0, 0
        self._labels = self._hashed(sorted(labels, key=lambda each: (each.domain or "", each.is_default, each.name)))

    def label(self, label: Label) -> str:
        """The name of an NVTX event."""
        return self._labels.get(label, label.name and self._digests.name(label.name))

    def domain(self, name: str) -> str:
        """The name of a domain or an agent."""
        return name if name in self._domains else name and self._digests.name(name)

    def kernel(self, name: str) -> str:
        """The name of a kernel: of NCCL's what it is called, else a digest and what tells that it packs KV."""
        if own := _NCCL_KERNEL.match(name):
            words = {word.lower() for word in WORD.findall(own[2])}
            return name if words <= _NCCL_ARGUMENTS else f"{own[1]}{own[2][0]}{self._digests.name(name)}"
        lower = name.lower()
        parts = [part for part in (*pack_kernels.NAMES, "nccl") if part.lower() in lower]
        return " ".join([self._digests.name(name), *parts]) if name else name

    def call(self, name: str) -> str:
        """The name of a call of UCX's."""
        return name if _UCX_CALL.match(name) else name and self._digests.name(name)

    def said(self) -> Sequence[str]:
        """How many texts stayed whole, and ids."""
        every = counted(len(self._labels), "distinct name")
        in_part = f"{self._in_part:,} keep the words and numbers that rules know them by"
        found = [f"Of {every} of ranges {in_part}, others are digests."]
        if self._whole:
            found.append(f"{counted(self._whole, 'name')} of ranges stayed whole: rules would read them otherwise.")
        if self._kept_ids:
            found.append(f"{counted(len(self._kept_ids), 'id')} of requests or transfers stayed, likewise.")
        return found

    def _hashed(self, labels: Sequence[Label]) -> Mapping[Label, str]:
        own = {label: label.name for label in labels if _is_own(label)}
        rest = [label for label in labels if label not in own]
        before = self._outcome([(label, label.name) for label in rest])
        known = before.filter("is_known")["place"].to_list()
        found = dict(own)
        for place in sorted(set(range(len(rest))) - set(known)):
            found[rest[place]] = rest[place].name and self._digests.name(rest[place].name)
        chosen = self._chosen([rest[place] for place in known], before.filter("is_known"))
        self._in_part = len(chosen)
        return found | chosen

    def _chosen(self, labels: Sequence[Label], before: pl.DataFrame) -> dict[Label, str]:
        """What labels that rules know become; ids that cannot become anything else stay so in all of them."""
        spans = [spans_of(label.name, self._rules, said) for label, said in zip(labels, _said(before), strict=True)]
        while True:
            chosen: dict[Label, str] = {}
            failing = list(range(len(labels)))
            for with_words in (True, False):
                candidates = [
                    (labels[at], replaced(labels[at].name, spans[at], self._id, self._word if with_words else None))
                    for at in failing
                ]
                good = self._same(candidates, before[failing])
                chosen |= {label: text for (label, text), is_good in zip(candidates, good, strict=True) if is_good}
                failing = [at for at, is_good in zip(failing, good, strict=True) if not is_good]
            lost = {part for at in failing for span in spans[at] for part in span.ids} - self._kept_ids
            if not lost:
                self._whole = len(failing)
                return chosen | {labels[at]: labels[at].name for at in failing}
            self._kept_ids |= lost

    def _id(self, field: str, text: str) -> str:
        if text in self._kept_ids:
            return text
        if field in LISTS:
            return self._digests.request(text)
        if text.isascii() and text.isdigit():  # ranks
            return text if field == "peer" else self._digests.number(field, text)
        return f"{field[0]}{self._digests.hex(field, text)}"

    def _word(self, word: str) -> str:
        return word if word.lower() in self._words or len(word) == 1 else self._digests.word(word)

    def _same(self, candidates: Sequence[tuple[Label, str]], before: pl.DataFrame) -> list[bool]:
        """Whether rules and probes say of each text what they said before, but for ids, which are replaced."""
        if not candidates:
            return []
        after = self._outcome(candidates)
        expected = before.with_columns(
            pl.Series(field, [self._expected(field, text) for text in before[field].to_list()], dtype=pl.String)
            for field in _IDS
        )
        names = [name for name in after.columns if name != "place"]
        equal = [(expected[name].eq_missing(after[name])).to_list() for name in names]
        return [all(each) for each in zip(*equal, strict=True)]

    def _expected(self, field: str, text: str | None) -> str | None:
        if text is None:
            return None
        parts = text.split(",") if field in LISTS else [text]
        return ",".join(part and self._id(field, _plain(field, part)) for part in parts)

    def _outcome(self, named: Sequence[tuple[Label, str]]) -> pl.DataFrame:
        """What all rules and probes say of texts: a row each, in order; `is_known` where any matches."""
        frame = pl.DataFrame(
            [(place, label.domain, label.is_default, text) for place, (label, text) in enumerate(named)],
            schema=_SCHEMA, orient="row",
        )  # fmt: skip
        said = match(frame, self._rules)
        asked: list[Rule | Probe] = [*self._rules, *self._probes]
        masks = {str(place): mask for place, mask in matches(frame, asked)}
        marks = {f"mask {place}": masks.get(str(place), pl.Series([False]).new_from_index(0, frame.height))
                 for place in range(len(asked))}  # fmt: skip
        known = pl.any_horizontal(*marks) if marks else pl.lit(value=False)
        joined = frame.select("label_id").join(said, on="label_id", how="left", maintain_order="left")
        return joined.with_columns(**marks).with_columns(is_known=known).rename({"label_id": "place"})


def _plain(field: str, text: str) -> str:
    return unquote(text, errors="backslashreplace") if field in LISTS else text


def _is_own(label: Label) -> bool:
    """Labels that the analysis itself knows, and that say nothing but which call it is."""
    if label.domain == nccl_domain.DOMAIN and label.name in nccl_trace.SIDES:
        return True
    return bool(_OWN.match(label.name)) and (
        label.name in nccl_domain.API or label.name.lower().startswith(nixl_domain.PREFIX) or not label.is_default
    )


def _said(before: pl.DataFrame) -> Iterator[Mapping[str, str]]:
    rows: Iterable[dict[str, str | None]] = before.select(_IDS).iter_rows(named=True)
    return ({field: text for field, text in row.items() if text} for row in rows)
