"""The catalogues as mappings from id to entry, read once and checked on the way in."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from nsysparse.catalog.entries import (
    Box,
    FullAttention,
    GatedDeltaNet,
    IndexedLatent,
    Kda,
    Latent,
    LayerGroup,
    Link,
    Mamba1,
    Mamba2,
    Measured,
    Model,
    WindowedAttention,
)
from nsysparse.catalog.strict import Table, build, by_id, nested_tables, read_tables
from nsysparse.errors import InputError, UsageError, unknown_name

__all__ = [
    "Box",
    "LayerGroup",
    "Link",
    "Measured",
    "Model",
    "boxes",
    "find_box",
    "find_link",
    "find_model",
    "link_of_gpu",
    "links",
    "models",
    "parse_interconnects",
    "parse_models",
    "shown_model",
]

SCHEMA = 1

CONFIG = "config.json"
_SEPARATORS = ("/", "\\")
_OR_A_FILE = "`nsysparse models list` shows all of them; the config.json of any other model can be given as a file."

_GROUPS: Mapping[str, type[LayerGroup]] = {
    "full": FullAttention,
    "sliding": WindowedAttention,
    "chunked": WindowedAttention,
    "mla": Latent,
    "mla_dsa": IndexedLatent,
    "gated_delta_net": GatedDeltaNet,
    "kda": Kda,
    "mamba1": Mamba1,
    "mamba2": Mamba2,
}

# Keys of a link that are shown but enter no formula; listed here so that a misspelt one is noticed.
_DETAILS = (
    "signalling_bytes_per_s",
    "mps128_payload_bytes_per_s",
    "mps256_payload_bytes_per_s",
    "mps512_payload_bytes_per_s",
    "flit_payload_bytes_per_s",
    "signalling_gbit_per_s_per_lane",
    "encoding",
    "payload_eff_mtu4096",
    "roce_eff_mtu1024",
    "roce_eff_mtu2048",
    "roce_eff_mtu4096",
    "tcp_eff_mtu1500",
    "tcp_eff_mtu9000",
)

_Named = TypeVar("_Named", Link, Box, Model)


def links() -> Mapping[str, Link]:
    """All links by id, in the order of the file."""
    return _interconnects()[0]


def boxes() -> Mapping[str, Box]:
    """All machines by id, in the order of the file."""
    return _interconnects()[1]


@cache
def models() -> Mapping[str, Model]:
    """All models by id, in the order of the file."""
    return parse_models(_text("models.toml"), "models.toml")


def find_link(link_id: str) -> Link:
    """The link of that id; UsageError with the nearest ids when there is none."""
    return _find("link", link_id, links(), "nsysparse links list")


def link_of_gpu(name: str) -> Link | None:
    """The link between two GPUs of that product name, where the catalogue knows it; None where no one or several."""
    words = set(name.replace("-", " ").upper().split())
    if words & {"PCIE", "NVL"}:  # cards, of which a pair may be bridged or not
        return None
    found = [link for link in links().values() if any(words >= set(each.upper().split()) for each in link.gpus)]
    return found[0] if len(found) == 1 else None


def find_box(box_id: str) -> Box:
    """The machine of that id; UsageError with the nearest ids when there is none."""
    return _find("box", box_id, boxes(), "nsysparse links list --boxes")


def find_model(name: str) -> Model:
    """The model of that id, or of that Hugging Face `config.json`.

    A name that ends in .json or has a folder in it is a file, or a folder that holds one; ids never look so.

    Raises:
        UsageError: There is no such id; the message names the nearest ones.
        InputError: The file cannot be read as a model.
    """
    if name in models():
        return models()[name]
    from nsysparse.catalog.hf_config import read_config  # what spells a model in a config takes long to load

    path = Path(name)
    if name.lower().endswith(".json") or any(separator in name for separator in _SEPARATORS):
        return read_config(path / CONFIG if _is(path.is_dir) else path)
    if name and _is((path / CONFIG).is_file):
        return read_config(path / CONFIG)
    try:
        return _find("model", name, models(), "nsysparse models list")
    except UsageError as error:
        here = name and _is(path.is_file)
        error.hint = f"`./{name}` is a file here, and would be read as a config. {error.hint}" if here else _OR_A_FILE
        raise


def shown_model(model: Model) -> str:
    """What a report calls the model: its id, and the name of the file where it is not the catalogue's."""
    return model.id if models().get(model.id) is model else f"{model.id} ({model.source})"


def parse_interconnects(text: str, origin: str) -> tuple[Mapping[str, Link], Mapping[str, Box]]:
    """Links and machines of a catalogue file.

    Args:
        text: The TOML text.
        origin: How error messages call the file.

    Raises:
        InputError: The text breaks the format that the header of our own file describes; the message names the entry
            and the key.
    """
    tables = read_tables(text, origin, ("link", "box"), SCHEMA)
    known = by_id((_link(table, _where(origin, "link", table)) for table in tables["link"]), origin)
    machines = by_id((build(Box, table, _where(origin, "box", table)) for table in tables["box"]), origin)
    for box in machines.values():
        for key, link_id in (("intra_link", box.intra_link), ("nic_link", box.nic_link)):
            if link_id is not None and link_id not in known:
                raise InputError(f"{origin}, box {box.id}: {key} names {link_id!r}, which is no link of this file.")
    return known, machines


def parse_models(text: str, origin: str) -> Mapping[str, Model]:
    """Models of a catalogue file; arguments and errors as for `parse_interconnects`."""
    tables = read_tables(text, origin, ("model",), SCHEMA)
    return by_id((_model(table, _where(origin, "model", table)) for table in tables["model"]), origin)


def _is(look: Callable[[], bool]) -> bool:
    """What a look at the disk says; a name that no disk can have is nothing there."""
    try:
        return look()
    except (OSError, ValueError):
        return False


@cache
def _interconnects() -> tuple[Mapping[str, Link], Mapping[str, Box]]:
    return parse_interconnects(_text("interconnects.toml"), "interconnects.toml")


def _text(name: str) -> str:
    return files("nsysparse.catalog").joinpath(name).read_text(encoding="utf-8")


def _find(kind: str, given: str, known: Mapping[str, _Named], listing: str) -> _Named:
    if given not in known:
        raise unknown_name(kind, given, known, listing)
    return known[given]


def _where(origin: str, kind: str, table: Table) -> str:
    return f"{origin}, {kind} {table.get('id', 'without id')}"


def _link(table: Table, where: str) -> Link:
    own = {key: value for key, value in table.items() if key not in (*_DETAILS, "measured")}
    measured = [build(Measured, item, f"{where}, measured") for item in nested_tables(table, "measured", where)]
    link = build(Link, own, where, {"measured": tuple(measured), "details": _details(table, where)})
    total, one_way = link.marketing_bidirectional_bytes_per_s, link.one_way_peak_bytes_per_s
    if total is not None and total < 2 * one_way:
        raise InputError(f"{where}: marketing_bidirectional_bytes_per_s is less than twice the one-way peak.")
    if (link.links or 1) * (link.per_link or one_way) != one_way:
        raise InputError(f"{where}: links x per_link is not the one-way peak.")
    if (link.typical_fraction is None) != (link.typical_basis is None):
        raise InputError(f"{where}: typical_fraction and typical_basis need each other.")
    if link.typical_fraction is not None and not link.typical_fraction[0] <= link.typical_fraction[1] <= 1:
        raise InputError(f"{where}: typical_fraction must be [low, high], at most 1.")
    return link


def _details(table: Table, where: str) -> tuple[tuple[str, str | float], ...]:
    found = tuple((key, table[key]) for key in _DETAILS if key in table)
    for key, value in found:
        if type(value) not in (str, int, float):
            raise InputError(f"{where}: {key} must be a number or text, not {value!r}.")
    return found


def _model(table: Table, where: str) -> Model:
    own = {key: value for key, value in table.items() if key != "group"}
    groups = tuple(_group(item, f"{where}, group") for item in nested_tables(table, "group", where))
    model = build(Model, own, where, {"groups": groups}, zero_allowed=("long_bytes_per_token",))
    if not 0 < sum(group.layers for group in groups) <= model.layers:
        raise InputError(f"{where}: its groups must cover at least one and at most {model.layers} layers.")
    return model


def _group(table: Table, where: str) -> LayerGroup:
    kind = str(table.get("kind"))
    if kind not in _GROUPS:
        raise InputError(f"{where}: kind is {kind!r}.", f"Known: {', '.join(_GROUPS)}.")
    return build(_GROUPS[kind], table, f"{where} {kind}")
