"""The catalogues say where every figure comes from, agree with themselves, and refuse what they do not know."""

import re

import pytest

from nsysparse.catalog.entries import Box, Link, Model
from nsysparse.catalog.loader import (
    boxes,
    find_box,
    find_link,
    find_model,
    links,
    models,
    parse_interconnects,
    parse_models,
)
from nsysparse.errors import InputError, UsageError

ALL = [*links().values(), *boxes().values(), *models().values()]

A_LINK = """
[[link]]
id = "wire"
name = "A wire"
kind = "nvlink"
scope = "gpu"
one_way_peak_bytes_per_s = 100
marketing_bidirectional_bytes_per_s = 200
links = 4
per_link = 25
typical_fraction = [0.5, 0.75]
typical_basis = "measured"
encoding = "8b/10b"
source = "arithmetic"
note = "4 x 25"
  [[link.measured]]
  what = "a test, GB/s"
  value = 3
  source = "arithmetic"
"""
A_BOX = """
[[box]]
id = "chest"
name = "A chest"
gpus_per_node = 2
intra_link = "wire"
pair_intra_one_way_peak_bytes_per_s = 100
source = "arithmetic"
"""
A_MODEL = """
[[model]]
id = "toy"
name = "A toy"
attention = "gqa"
layers = 2
query_heads = 4
short_bytes_per_token = 16
long_bytes_per_token = 16
verified = true
source = "arithmetic"
  [[model.group]]
  kind = "full"
  layers = 2
  kv_heads = 1
  head_dim = 2
"""


def interconnects(text: str):
    return parse_interconnects(f"schema = 1\n{text}", "mine.toml")


def models_of(text: str):
    return parse_models(f"schema = 1\n{text}", "mine.toml")


def test_the_catalogues_are_as_large_as_collected_and_keep_the_order_of_the_file():
    assert (len(links()), len(boxes()), len(models())) == (56, 24, 63)
    assert next(iter(links())) == "nvlink1-p100"
    assert list(models())[:2] == ["llama-2-7b", "llama-2-13b"]
    assert all(key == entry.id for catalogue in (links(), boxes(), models()) for key, entry in catalogue.items())


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: f"{type(entry).__name__}-{entry.id}")
def test_every_entry_has_a_source_and_arithmetic_is_shown(entry: Link | Box | Model):
    assert re.match(r"https?://\S+$|arithmetic$", entry.source)
    assert entry.source != "arithmetic" or re.search(r"\d", entry.note or "")


@pytest.mark.parametrize("link", links().values(), ids=lambda link: link.id)
def test_a_link_agrees_with_itself(link: Link):
    total = link.marketing_bidirectional_bytes_per_s
    # PCIe totals are printed before encoding, so they exceed twice the usable rate by at most the FLIT's 14/256.
    assert total is None or 2 * link.one_way_peak_bytes_per_s <= total <= 2.12 * link.one_way_peak_bytes_per_s
    assert total is None or link.kind in {"nvlink", "c2c", "pcie", "xgmi"} or link.id == "gaudi3-scaleup"
    assert link.links is None or link.links * (link.per_link or 0) == link.one_way_peak_bytes_per_s
    assert all(
        re.match(r"https?://\S+$", item.source) and re.search(r"G(B/s|b/s)", item.what) for item in link.measured
    )
    assert link.typical_basis != "measured" or link.measured


@pytest.mark.parametrize(
    ("link_id", "lanes", "gigabits"),
    [
        ("pcie3-x16", 16, 8 * 128 / 130),
        ("pcie4-x16", 16, 16 * 128 / 130),
        ("pcie5-x16", 16, 32 * 128 / 130),
        ("pcie6-x16", 16, 64 * 242 / 256),
        ("ib-qdr", 4, 10 * 8 / 10),
        ("ib-fdr", 4, 14.0625 * 64 / 66),
        ("ib-edr", 4, 25.78125 * 64 / 66),
        ("nvme-gen4-x4", 4, 16 * 128 / 130),
        ("eth-100g", 1, 100),
    ],
)
def test_peaks_follow_from_signalling_and_coding(link_id: str, lanes: int, gigabits: float):
    assert find_link(link_id).one_way_peak_bytes_per_s == round(lanes * gigabits * 1e9 / 8)


def test_nvlink_is_one_direction():
    h100 = find_link("nvlink4-h100")
    assert h100.one_way_peak_bytes_per_s == 450_000_000_000
    assert h100.marketing_bidirectional_bytes_per_s == 900_000_000_000


@pytest.mark.parametrize("box", boxes().values(), ids=lambda box: box.id)
def test_a_box_agrees_with_its_links(box: Box):
    assert box.pair_intra_one_way_peak_bytes_per_s == find_link(box.intra_link).one_way_peak_bytes_per_s
    assert (box.nic_link is None) == (box.nic_one_way_peak_per_gpu_bytes_per_s is None)
    if box.nic_link is None or box.nic_one_way_peak_per_gpu_bytes_per_s is None:
        return
    nic = find_link(box.nic_link)
    if nic.scope == "gpu":
        assert box.nic_one_way_peak_per_gpu_bytes_per_s == nic.one_way_peak_bytes_per_s
    else:
        per_node = (box.nics_per_node or 0) * nic.one_way_peak_bytes_per_s
        assert per_node == box.gpus_per_node * box.nic_one_way_peak_per_gpu_bytes_per_s


@pytest.mark.parametrize("model", models().values(), ids=lambda model: model.id)
def test_only_pruned_and_state_space_models_have_layers_that_keep_nothing(model: Model):
    keeping = sum(group.layers for group in model.groups)
    assert keeping == model.layers or (keeping < model.layers and model.id.startswith("nemotron"))


def test_a_small_catalogue_is_read_as_written():
    found, machines = interconnects(A_LINK + A_BOX)
    wire = found["wire"]
    assert (wire.typical_fraction, wire.typical_basis, wire.details) == (
        (0.5, 0.75),
        "measured",
        (("encoding", "8b/10b"),),
    )
    assert [(item.what, item.value) for item in wire.measured] == [("a test, GB/s", 3.0)]
    assert (machines["chest"].intra_link, machines["chest"].nic_link) == ("wire", None)
    assert models_of(A_MODEL)["toy"].groups[0].layers == 2


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("links = 4", "link_count = 4", "link wire: unknown key 'link_count'"),
        ("value = 3", "valeu = 3", "link wire, measured: unknown key 'valeu'"),
        ('name = "A wire"\n', "", "link wire: name is missing"),
        ('id = "wire"\n', "", "link without id: id is missing"),
        ('scope = "gpu"', 'scope = "rack"', "scope is 'rack'"),
        ("one_way_peak_bytes_per_s = 100", 'one_way_peak_bytes_per_s = "fast"', "must be of type int, not 'fast'"),
        ("one_way_peak_bytes_per_s = 100", "one_way_peak_bytes_per_s = true", "must be of type int, not True"),
        ("one_way_peak_bytes_per_s = 100", "one_way_peak_bytes_per_s = 0", "must be a positive number, not 0"),
        ("value = 3", "value = inf", "must be a positive number, not inf"),
        ("bidirectional_bytes_per_s = 200", "bidirectional_bytes_per_s = 199", "less than twice"),
        ("per_link = 25", "per_link = 26", "links x per_link"),
        ("[0.5, 0.75]", "[0.75, 0.5]", "[low, high]"),
        ("[0.5, 0.75]", "[0.5, 1.2]", "[low, high]"),
        ("[0.5, 0.75]", "[0.5]", "a list of 2 values"),
        ('typical_basis = "measured"\n', "", "need each other"),
        ('encoding = "8b/10b"', "encoding = [8, 10]", "encoding must be a number or text"),
        ('source = "arithmetic"\nnote', 'source = ""\nnote', "source is empty"),
        ("[[link]]", "[[lnik]]", "unknown key 'lnik'"),
        ("[[link]]", "[[link]", "is not valid TOML"),
        ('intra_link = "wire"', 'intra_link = "rope"', "box chest: intra_link names 'rope'"),
        ('id = "chest"', 'id = "chest"\nid2 = "box"', "box chest: unknown key 'id2'"),
    ],
)
def test_what_the_format_does_not_know_is_an_error_that_names_it(old: str, new: str, named: str):
    broken = (A_LINK + A_BOX).replace(old, new, 1)
    with pytest.raises(InputError, match=re.escape(named)) as caught:
        interconnects(broken)
    assert caught.value.message.startswith("mine.toml")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('kind = "full"', 'kind = "linear"', "model toy, group: kind is 'linear'"),
        ('kind = "full"', "", "model toy, group: kind is 'None'"),
        ("head_dim = 2", "head_dim = 2\nwindow = 4", "model toy, group full: unknown key 'window'"),
        ('kind = "full"', 'kind = "sliding"', "model toy, group sliding: window is missing"),
        ("kv_heads = 1", "kv_heads = 0", "kv_heads must be a positive number, not 0"),
        ("layers = 2", "layers = 1", "at most 1 layers"),
        (A_MODEL[A_MODEL.index("  [[model.group]]") :], "", "at least one"),
        ("verified = true", 'verified = "yes"', "must be of type bool"),
        (A_MODEL, A_MODEL + A_MODEL, "'toy' occurs twice"),
    ],
)
def test_models_are_read_as_strictly(old: str, new: str, named: str):
    with pytest.raises(InputError, match=re.escape(named)):
        models_of(A_MODEL.replace(old, new, 1))


def test_an_array_of_tables_cannot_be_something_else():
    for text in ("link = 3", "link = [3]", '[link]\nid = "wire"'):
        with pytest.raises(InputError, match=re.escape("mine.toml: link must be a list of tables")):
            interconnects(text)


def test_a_file_of_another_version_is_refused():
    with pytest.raises(InputError, match="`schema = 1` is missing"):
        parse_models(f"schema = 2\n{A_MODEL}", "mine.toml")


@pytest.mark.parametrize(
    ("find", "typo", "nearest", "listing"),
    [
        (find_link, "nvlink4-h10", "nvlink4-h100", "nsysparse links list"),
        (find_box, "dgxh100", "dgx-h100", "nsysparse links list --boxes"),
        (find_model, "llama3-70b", "llama-3-70b", "nsysparse models list"),
    ],
)
def test_an_unknown_id_names_the_nearest_and_where_to_look(find, typo: str, nearest: str, listing: str):
    with pytest.raises(UsageError) as caught:
        find(typo)
    assert nearest in caught.value.message
    assert f"`{listing}`" in caught.value.hint


def test_catalogues_cannot_be_changed_by_their_readers():
    with pytest.raises(TypeError):
        links()["mine"] = find_link("ib-ndr")  # type: ignore[index]
    with pytest.raises(AttributeError):
        find_link("ib-ndr").one_way_peak_bytes_per_s = 1  # type: ignore[misc]


def test_no_two_entries_share_a_name():
    for catalogue in (links(), boxes(), models()):
        names = [entry.name for entry in catalogue.values()]
        assert len(set(names)) == len(names)
