"""`nsysparse links`: which links are known, how fast they are in one direction, and who says so."""

from typing import TYPE_CHECKING

import click

from nsysparse.cli.listing import format_option, matches, print_columns, print_facts, print_json, report_none
from nsysparse.cli.talk import verbosity_options

if TYPE_CHECKING:
    from nsysparse.catalog.entries import Box, Link


@click.group("links")
def command() -> None:
    """Show the catalogue of links that transfers are held against.

    Rates are for one direction, because a KV transfer uses one: 450 GB/s for an H100's NVLink, not the 900 that add
    both directions. GB is 1e9 bytes.

    \b
    nsysparse links list nvlink
    nsysparse links show nvlink4-h100
    nsysparse report trace.sqlite --link nvlink4-h100
    """


@command.command("list")
@click.argument("word", required=False)
@click.option("--boxes", "want_boxes", is_flag=True, help="List machines instead of links.")
@format_option
@verbosity_options
def list_(word: str | None, output_format: str, *, want_boxes: bool) -> None:
    """List links, or with --boxes machines; WORD keeps those with it in id, name or kind.

    \b
    nsysparse links list infiniband
    nsysparse links list --boxes h100
    """
    from nsysparse.catalog.loader import boxes, links

    if want_boxes:
        machines = [box for box in boxes().values() if matches(word, box.id, box.name)]
        _list_boxes(machines, output_format)
        found = bool(machines)
    else:
        chosen = [link for link in links().values() if matches(word, link.id, link.name, link.kind)]
        _list_links(chosen, output_format)
        found = bool(chosen)
    if not found:
        report_none("box" if want_boxes else "link", word)


@command.command()
@click.argument("name", metavar="ID")
@click.option("--box", "is_box", is_flag=True, help="ID is a machine, as listed by `links list --boxes`.")
@format_option
@verbosity_options
def show(name: str, output_format: str, *, is_box: bool) -> None:
    """Show all that is known about one link, with sources.

    \b
    nsysparse links show ib-ndr
    nsysparse links show dgx-h100 --box -f json
    """
    from nsysparse.catalog.loader import find_box, find_link

    entry = find_box(name) if is_box else find_link(name)
    if output_format == "json":
        print_json(_plain(entry))
    else:
        _show(entry)


def _plain(entry: "Link | Box") -> dict[str, object]:
    from dataclasses import asdict

    plain = asdict(entry)
    # Kept as pairs so that an entry stays hashable; in JSON they are what they say.
    return {**plain, "details": dict(plain["details"])} if "details" in plain else plain


def _list_links(chosen: "list[Link]", output_format: str) -> None:
    if output_format == "json":
        print_json([_plain(entry) for entry in chosen])
    elif chosen:
        titles = ("id", "one direction GB/s", "both GB/s", "typical", "per", "kind", "name")
        rows = [
            (
                link.id,
                _gb_s(link.one_way_peak_bytes_per_s),
                _gb_s(link.marketing_bidirectional_bytes_per_s),
                "" if link.typical_fraction is None else "{:.2f}-{:.2f}".format(*link.typical_fraction),
                link.scope,
                link.kind,
                link.name,
            )
            for link in chosen
        ]
        print_columns([titles, *rows], right=frozenset({1, 2, 3}))


def _list_boxes(chosen: "list[Box]", output_format: str) -> None:
    if output_format == "json":
        print_json([_plain(entry) for entry in chosen])
    elif chosen:
        titles = ("id", "GPUs", "pair inside", "one direction GB/s", "NIC", "per GPU, one direction GB/s", "name")
        rows = [
            (
                box.id,
                str(box.gpus_per_node),
                box.intra_link,
                _gb_s(box.pair_intra_one_way_peak_bytes_per_s),
                box.nic_link or "",
                _gb_s(box.nic_one_way_peak_per_gpu_bytes_per_s),
                box.name,
            )
            for box in chosen
        ]
        print_columns([titles, *rows], right=frozenset({1, 3, 5}))


def _show(entry: "Link | Box") -> None:
    from nsysparse.catalog.entries import Link

    click.echo(f"{entry.id}: {entry.name}\n")
    print_facts(_link_facts(entry) if isinstance(entry, Link) else _box_facts(entry))
    if isinstance(entry, Link) and entry.measured:
        click.echo("\nMeasured by others:")
        print_columns([(f"  {item.value:g}", item.what, item.source) for item in entry.measured], right=frozenset({0}))


def _link_facts(link: "Link") -> list[tuple[str, str | None]]:
    from nsysparse.theory.links import packets, resolve

    peak = resolve(link.id, None)
    left = [f"{payload / 1e9:.4g} GB/s with {link.id}@{name}" for name, payload in packets(link).items()]
    both = link.marketing_bidirectional_bytes_per_s
    practical = None
    if peak is not None and peak.practical_gb_s is not None:
        practical = f"{peak.practical_gb_s:.4g} GB/s ({peak.practical_source})"
    return [
        ("line rate, one direction", f"{_gb_s(link.one_way_peak_bytes_per_s)} GB/s per {link.scope}"),
        ("both directions added up", None if both is None else f"{_gb_s(both)} GB/s, used by {link.id}@bidirectional"),
        ("practical ceiling", practical or "unknown"),
        ("what packet headers leave", ", ".join(left) or None),
        ("made of", None if link.links is None else f"{link.links} links of {_gb_s(link.per_link)} GB/s"),
        ("kind", link.kind),
        *((key, str(value)) for key, value in link.details if key.startswith(("signalling", "encoding"))),
        ("source", link.source),
        ("note", link.note),
    ]


def _box_facts(box: "Box") -> list[tuple[str, str | None]]:
    nic = None
    if box.nic_link is not None:
        count = "" if box.nics_per_node is None else f"{box.nics_per_node} per machine, "
        nic = f"{box.nic_link}, {count}{_gb_s(box.nic_one_way_peak_per_gpu_bytes_per_s)} GB/s per GPU, one direction"
    return [
        ("GPUs", str(box.gpus_per_node)),
        ("between two GPUs", f"{box.intra_link}, {_gb_s(box.pair_intra_one_way_peak_bytes_per_s)} GB/s, one direction"),
        ("NIC", nic or "site-specific"),
        ("source", box.source),
        ("note", box.note),
    ]


def _gb_s(rate: int | None) -> str:
    return "" if rate is None else f"{rate / 1e9:.5g}"
