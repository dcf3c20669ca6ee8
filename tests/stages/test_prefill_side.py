"""What sending costs a prefill device, with answers worked out by hand and from the file itself."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from engine_scenes import Scene, known

from nsysparse.analysis import PrefillDevice, PrefillLayer
from nsysparse.metrics.prefill import prefill_devices


def layered(scene: Scene) -> Scene:
    """Compute in [1000, 2000) and [2400, 3000); layer 0 is sent in [1800, 2300), 1 in [2900, 3500), 2 and 3 later."""
    scene.prefill.step("a", (1_000, 2_000), (2_400, 3_000))
    for layer, start, end in (("0", 1_800, 2_300), ("1", 2_900, 3_500), ("2-3", 3_600, 3_701)):
        scene.prefill.transfer("a", (start, end), layer)
        scene.decode.transfer("a", (start, end + 10), layer)
    return scene


def device(scene: Scene, folder: Path) -> PrefillDevice:
    found = prefill_devices(*scene.known(folder))
    assert found is not None
    assert len(found) == 1
    return found[0]


def test_a_step_stands_still_while_it_only_sends(tmp_path: Path) -> None:
    """From 2000 to 2300 nothing but a send runs; what is sent after the step delays it no more."""
    found = device(layered(Scene()), tmp_path)
    assert (found.trace_id, found.device_id, found.gpu) == ("one", 0, "gpu0")
    assert (found.step_count, found.step_ns, found.stall_ns, found.stall_share) == (1, 2_000, 300, 0.15)
    assert (found.send_ns, found.exposed_ns) == (500 + 600 + 101, 300 + 500 + 101)


def test_layers_share_what_is_sent_together_to_the_nanosecond(tmp_path: Path) -> None:
    found = device(layered(Scene()), tmp_path)
    assert found.layers == (
        PrefillLayer(0, 500, 300, 200, 0.6),
        PrefillLayer(1, 600, 500, 100, 500 / 600),
        PrefillLayer(2, 51, 51, 0, 1.0),
        PrefillLayer(3, 50, 50, 0, 1.0),
    )


def test_the_tail_of_a_request_is_what_is_sent_after_its_prefill(tmp_path: Path) -> None:
    scene = layered(Scene())
    scene.prefill.step("b", (5_000, 6_000))
    scene.prefill.transfer("b", (5_100, 5_900))
    scene.decode.transfer("b", (5_100, 5_950))
    tails = device(scene, tmp_path).tail_ms
    assert tails is not None
    assert (tails.count, tails.min, tails.max) == (2, 0, pytest.approx(701 / 1e6))


def test_what_names_no_layer_is_in_no_layer(tmp_path: Path) -> None:
    scene = layered(Scene())
    scene.prefill.transfer("", (9_000, 9_400))
    scene.decode.transfer("", (9_000, 9_450))
    found = device(scene, tmp_path)
    assert found.send_ns == 500 + 600 + 101 + 400
    assert sum(layer.time_ns for layer in found.layers) == 500 + 600 + 101


def test_a_clock_that_begins_elsewhere_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    assert device(layered(Scene(shift=987_654_321)), tmp_path) == device(layered(Scene()), tmp_path / "x")


def test_two_files_tell_the_same_of_the_prefill_side(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    apart, together = device(layered(Scene(files=2)), tmp_path), device(layered(Scene()), tmp_path / "x")
    assert (apart.stall_ns, apart.exposed_ns, apart.tail_ms) == (
        together.stall_ns, together.exposed_ns, together.tail_ms,
    )  # fmt: skip


def test_a_device_without_recorded_sends_is_not_listed(tmp_path: Path) -> None:
    scene = Scene()
    scene.prefill.step("a", (1_000, 2_000))
    assert prefill_devices(*scene.known(tmp_path)) is None


def test_the_sample_from_its_own_rows(sample: Callable[[str], Path]) -> None:
    path = sample("synthetic/pd-oneprofile.sqlite")
    found = prefill_devices(*known([path]))
    assert found is not None
    (device,) = found
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute(
            "SELECT start, end, value LIKE '%SendRecv%' FROM CUPTI_ACTIVITY_KIND_KERNEL"
            " JOIN StringIds ON id = demangledName WHERE deviceId = 0 AND value NOT LIKE '%AllReduce%' ORDER BY start"
        ).fetchall()
        ranges = file.execute(
            "SELECT start, end, text FROM NVTX_EVENTS WHERE text LIKE 'kv_transfer op=send%'"
        ).fetchall()
    sends = [(start, end) for start, end, is_send in rows if is_send]
    compute = [(start, end) for start, end, is_send in rows if not is_send]
    # Neither sends nor compute kernels overlap their like in this file.
    assert device.send_ns == sum(end - start for start, end in sends)
    hidden = {send: sum(max(min(send[1], b) - max(send[0], a), 0) for a, b in compute) for send in sends}
    assert device.exposed_ns == sum(end - start - hidden[start, end] for start, end in sends)
    time: dict[int, int] = defaultdict(int)
    behind: dict[int, int] = defaultdict(int)
    for begin, stop, text in ranges:
        layer = int(dict(word.split("=") for word in text.split()[1:])["layer"])
        for send in sends:  # its annotation encloses it there
            if begin <= send[0] and send[1] <= stop:
                time[layer] += send[1] - send[0]
                behind[layer] += hidden[send]
    # Three sends carry no annotation of their own.
    assert {layer.layer: (layer.time_ns, layer.overlapped_ns) for layer in device.layers} == {
        layer: (time[layer], behind[layer]) for layer in sorted(time)
    }
