"""`nsysparse kv`: how large a cache is and how long links would need for it, before anything was recorded."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nsysparse.cli.numbers import band_ns, nanoseconds, whole_numbers
from nsysparse.cli.place import format_for, write
from nsysparse.cli.settings import Configured, config_files
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.errors import UsageError
from nsysparse.render import FORMATS
from nsysparse.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsysparse.lengths import Histogram
    from nsysparse.prediction import Prediction
    from nsysparse.theory.links import Peak

CLASSIC = ("nvlink4-h100@bidirectional", "nvlink4-h100", "ib-ndr", "ib-hdr", "eth-100g")
"""What is compared where no link is named: the vendor's total beside its one direction, and three networks."""

EXTENSIONS = {name: FORMATS[name].extension for name in ("text", "json", "markdown", "html")}
SETTINGS = ("tp", "kv_dtype", "wire_dtype", "step_ms")
"""Options that mean here what they mean for a report. Links are compared here, so the one of a project is not taken."""
_NS_PER_US = 1000
_MOST_TOKENS, _MOST_BATCH, _MOST_RANKS = 1_000_000_000, 1_000_000, 4096
_MOST_ROWS = 4096
_SQLITE = b"SQLite format 3\0"
_REPORTS = (".sqlite", ".nsys-rep", ".qdrep")


@click.command("kv", cls=Configured, reads=SETTINGS)
@click.argument("model", metavar="MODEL")
@click.option("--tokens", default="1024", show_default=True, metavar="N,N…", help="Tokens per sequence.")
@click.option("--batch", default="1,32", show_default=True, metavar="N,N…", help="Sequences that cross at once.")
@click.option(
    "--tp",
    type=click.IntRange(1, _MOST_RANKS),
    default=1,
    show_default=True,
    metavar="N",
    help="Tensor-parallel ranks of the side that sends. Heads fewer than ranks are sent more than once.",
)
@click.option(
    "--pp",
    type=click.IntRange(1, _MOST_RANKS),
    default=1,
    show_default=True,
    metavar="N",
    help="Its pipeline stages.",
)
@click.option(
    "--block",
    type=click.IntRange(1, 65_536),
    default=1,
    show_default=True,
    metavar="N",
    help="Tokens per block of the cache: whole blocks cross. 16 in vLLM.",
)
@click.option(
    "--mla",
    type=click.Choice(["replicated", "repeated", "divided"]),
    default="replicated",
    show_default=True,
    help="Latents on the ranks of a stage: one rank sends them, each sends its copy, or each has its part.",
)
@click.option("--kv-dtype", metavar="TYPE", help="Type of cached values, e.g. fp8 or int8. Default: 16-bit.")
@click.option("--wire-dtype", metavar="TYPE", help="Type while they cross, where they are compressed for that.")
@click.option(
    "--nics",
    type=click.IntRange(1, _MOST_RANKS),
    metavar="N",
    help="Links side by side, among which the ranks are divided. Default: one for each rank.",
)
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="ID",
    help="A link, e.g. ib-ndr (`nsysparse links list`). Repeatable. Default: NVLink 4, NDR, HDR, 100GbE.",
)
@click.option("--peak", "peak_gb_s", type=float, metavar="GB/S", help="Its rate in one direction, instead of --link's.")
@click.option(
    "--box",
    metavar="ID",
    help="A machine instead (`nsysparse links list --boxes`): its links inside, and its adapters.",
)
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What a bandwidth benchmark printed for the link (docs/reference/measured.md): its practical ceiling.",
)
@click.option("--step-ms", default="20..50", show_default=True, metavar="A..B", help="How long a decode step takes.")
@click.option("--layer-ms", metavar="MS", help="Time to compute one layer: each is then sent as soon as it is done.")
@click.option("--fixed-cost-us", metavar="US", help="What each transfer costs whatever its size. Default: unknown.")
@click.option("--lengths", metavar="FILE|TRACE", help="How long requests are: CSV, JSON lines, or a trace's requests.")
@click.option("--length-column", metavar="NAME", help="Column or key of --lengths that holds the tokens of a prompt.")
@click.option("--benefit-ms", metavar="MS", help="What a request gains if the transfer took no time, for --lengths.")
@click.option("-f", "--format", "output_format", type=click.Choice(list(EXTENSIONS)), help="Default: by -o, else text.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; default and - are stdout.")
@click.option("--force", is_flag=True, help="Replace a file that nsysparse did not write.")
@verbosity_options
def command(
    model: str,
    tokens: str,
    batch: str,
    tp: int,
    pp: int,
    block: int,
    mla: str,
    kv_dtype: str | None,
    wire_dtype: str | None,
    nics: int | None,
    links: tuple[str, ...],
    peak_gb_s: float | None,
    box: str | None,
    measured: Path | None,
    step_ms: str,
    layer_ms: str | None,
    fixed_cost_us: str | None,
    lengths: str | None,
    length_column: str | None,
    benefit_ms: str | None,
    output_format: str | None,
    output: str | None,
    force: bool,  # noqa: FBT001 (click passes flags by name)
) -> None:
    """Predict size and transfer time of a model's KV cache, and from which length on a link is too slow.

    Arithmetic on the catalogues, no trace needed. Times are of one direction at the line rate, and at what large
    transfers reach in practice; each is set against the decode step that it delays.

    \b
        nsysparse kv llama-3-70b
        nsysparse kv deepseek-v3 --tokens 4096,32768 --tp 8 --link ib-ndr
        nsysparse kv ./my-model/config.json --link eth-100g --step-ms 30 --wire-dtype fp8
        nsysparse kv llama-3-70b --box dgx-h100 --measured ib_write_bw.txt
        nsysparse kv llama-3-70b --link ib-ndr --lengths requests.csv --benefit-ms 100
        nsysparse kv llama-3-70b -f json | jq .rows

    MODEL is an id (`nsysparse models list`), or a model's Hugging Face config.json or its folder.
    """
    chosen = format_for(output_format, output, EXTENSIONS, "text")
    from nsysparse.catalog.loader import CONFIG, find_model
    from nsysparse.prediction import Question, Steps
    from nsysparse.theory.dtypes import cache_type, default_type
    from nsysparse.theory.layout import layout
    from nsysparse.theory.predict import predict
    from nsysparse.theory.shipment import Shipment

    if lengths is None and (benefit_ms is not None or length_column is not None):
        option = "--benefit-ms" if benefit_ms is not None else "--length-column"
        raise UsageError(f"{option} is about the lengths of requests, which are not given.", "Add --lengths FILE.")
    shipment = Shipment(
        find_model(model),
        layout(tp, pp, block, mla),
        default_type() if kv_dtype is None else cache_type(kv_dtype),
        None if wire_dtype is None else cache_type(wire_dtype),
        nics,
    )
    peaks = _peaks(links, peak_gb_s, box, measured)
    asked = Question(
        tokens=whole_numbers("--tokens", tokens, _MOST_TOKENS, example="1024,8192"),
        batch=whole_numbers("--batch", batch, _MOST_BATCH, example="1,32"),
        step_ns=Steps(*band_ns("--step-ms", step_ms, NS_PER_MS, example="20..50")),
        layer_ns=_time("--layer-ms", layer_ms, NS_PER_MS, "1.5"),
        fixed_cost_ns=_time("--fixed-cost-us", fixed_cost_us, _NS_PER_US, "250"),
        benefit_ns=_time("--benefit-ms", benefit_ms, NS_PER_MS, "100"),
        lengths=None if lengths is None else _histogram(lengths, length_column),
    )
    if (count := len(peaks) * len(asked.tokens) * len(asked.batch)) > _MOST_ROWS:
        raise UsageError(f"That would be {count:,} rows; at most {_MOST_ROWS:,} are computed.", "Ask for fewer.")
    prediction = predict(shipment, peaks, asked)
    target = None if output in (None, "-") else Path(str(output))
    read = [Path(model), Path(model, CONFIG), *([Path(lengths)] if lengths else []), *([measured] if measured else [])]
    read += config_files()
    write(_rendered(prediction, chosen), target, force=force, inputs=read)
    if target is not None:
        say(f"Wrote {target}")


def _time(option: str, text: str | None, ns_per_unit: int, example: str) -> int | None:
    return None if text is None else nanoseconds(option, text, ns_per_unit, example=example)


def _peaks(links: tuple[str, ...], peak_gb_s: float | None, box: str | None, measured: Path | None) -> "Sequence[Peak]":
    """The links to compare, as named; what was measured holds for one of them."""
    from nsysparse.measured.loader import read_measured
    from nsysparse.theory.links import resolve
    from nsysparse.theory.practical import with_measured
    from nsysparse.theory.references import references

    named = tuple(dict.fromkeys(links))
    if peak_gb_s is not None and len(named) > 1:
        raise UsageError(f"--peak {peak_gb_s} and {len(named)} links: which of them is it of?", "Name one link.")
    if measured is not None and len(named) > 1:
        raise UsageError(f"--measured and {len(named)} links: which of them was measured?", "Name that one.")
    if box is not None and named:
        raise UsageError("--box names the links of a machine, and --link another.", "Leave one out.")
    if box is None and measured is None:
        every: Sequence[str | None] = named or ((None,) if peak_gb_s is not None else CLASSIC)
        return [peak for peak in (resolve(link, peak_gb_s) for link in every) if peak is not None]
    found = references(named[0] if named else None, peak_gb_s, box, (), ())
    if measured is not None:
        found = with_measured(found, read_measured(measured), measured)
    return [peak for peak in dict.fromkeys((found.within, found.across)) if peak is not None]


def _histogram(named: str, column: str | None) -> "Histogram":
    """The lengths that the file holds, or that the requests of the traces have."""
    from nsysparse.theory.length_files import read_lengths

    if not _is_trace(Path(named)):
        return read_lengths(Path(named), column)
    if column is not None:
        raise UsageError("--length-column is for CSV and JSON lines; a trace names its own.", "Leave it out.")
    from nsysparse.api import prompt_lengths
    from nsysparse.errors import InputError
    from nsysparse.lengths import histogram
    from nsysparse.source.inputs import find_inputs

    with ExitStack() as stack, progress() as tell:
        paths = find_inputs([named], stack)
        found = histogram(f"{' + '.join(path.name for path in paths)}, announced", prompt_lengths(paths, tell))
    if not found.total:
        raise InputError(
            f"{Path(named).name}: no request in it says how long its prompt is.",
            "Annotate it: `kv_request request=ID prompt=TOKENS` (docs/reference/convention.md), or give a CSV.",
        )
    return found


def _is_trace(path: Path) -> bool:
    """Whether a name means traces: a folder, a suffix of theirs, or what an SQLite file begins with."""
    if path.suffix.lower() in _REPORTS:
        return True
    try:
        if path.is_dir():
            return True
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):  # told by whoever reads it
        return False


def _rendered(prediction: "Prediction", chosen: str) -> str:
    renderer = FORMATS[chosen]
    if renderer.subject == "result":
        return renderer.render(prediction)
    from nsysparse.sections.prediction import build

    document = build(prediction)
    return renderer.render(document, most_rows=_MOST_ROWS) if chosen == "text" else renderer.render(document)
