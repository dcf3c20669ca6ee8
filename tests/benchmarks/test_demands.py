import pytest
from demands import CI_SLACK, DEMANDS, Figure, failures, missing
from record import Record, read, updated, write


def scan(value, **more):
    return Figure("reading/scan", "S", value, **more)


def speedup(value, **more):
    return Figure("reading/sqlalchemy", "S", value, **more)


@pytest.mark.parametrize(
    ("recorded", "now", "stands"),
    [
        (scan(1.0), scan(0.5), True),
        (scan(1.0), scan(1.24), True),
        (scan(1.0), scan(1.26), False),
        (speedup(30.0), speedup(60.0), True),
        # as many times slower: 24 % more time of ours is a speed-up divided by 1.24
        (speedup(30.0), speedup(30.0 / 1.24), True),
        (speedup(30.0), speedup(30.0 / 1.26), False),
    ],
)
def test_a_ratio_that_is_worse_than_recorded_by_more_than_a_quarter_fails(recorded, now, stands):
    assert (failures(now, recorded, CI_SLACK) == []) is stands


@pytest.mark.parametrize(
    ("now", "slack", "stands"),
    [
        (scan(1.3), 1, True),
        (scan(1.31), 1, False),
        (scan(2.16), 0.6, True),
        (scan(2.17), 0.6, False),
        (speedup(15), 1, True),
        (speedup(14.9), 1, False),
        (speedup(9.1), 0.6, True),
        (speedup(8.9), 0.6, False),
        (Figure("report/scans", "S", 1e6), 0.6, True),  # demanded of M only
        (scan(None, why="no such thing here"), 1, True),
    ],
)
def test_a_demand_is_met_with_slack_in_the_direction_of_what_is_better(now, slack, stands):
    assert (failures(now, None, slack) == []) is stands


def test_a_demand_that_the_record_misses_too_is_held_by_the_record():
    assert failures(scan(3.0), scan(2.9), CI_SLACK) == []
    assert failures(scan(3.7), scan(2.9), CI_SLACK) == ["reading/scan S: 3.7 x, worse than the recorded 2.9 x by 28%"]
    assert len(failures(scan(3.0), scan(1.2), CI_SLACK)) == 2


def test_demands_alone_know_no_record_but_of_what_it_misses():
    assert failures(scan(2.1), scan(1.0), CI_SLACK, demands_only=True) == []
    assert len(failures(scan(2.2), scan(1.0), CI_SLACK, demands_only=True)) == 1
    assert failures(scan(9.0), scan(2.9), CI_SLACK, demands_only=True) == []


def test_what_fails_names_the_figure_and_both_values():
    (demand, recorded) = failures(scan(2.6), scan(1.3), 1)
    assert demand == "reading/scan S: 2.6 x, demanded ≤ 1.3 x (with slack 1.3)"
    assert recorded == "reading/scan S: 2.6 x, worse than the recorded 1.3 x by 100%"


def test_a_figure_that_is_recorded_and_was_not_measured_is_missed():
    recorded = {"reading/scan S": scan(1.0), "reading/scan M": Figure("reading/scan", "M", 1.0)}
    wanted = ["reading/scan S", "reading/sqlalchemy S"]
    assert missing(wanted, [scan(1.0)], recorded) == []
    assert missing(wanted, [], recorded) == ["reading/scan S: not measured, though recorded"]


def test_a_figure_that_cannot_be_measured_is_no_failure_and_says_why():
    now = scan(None, why="nsys is not installed")
    assert failures(now, scan(1.0), 1) == []
    assert now.shown() == "not measured: nsys is not installed"
    assert missing(["reading/scan S"], [now], {"reading/scan S": scan(1.0)}) == []


def test_against_the_record_cpu_seconds_count_where_both_have_them():
    recorded = speedup(30.0, cpu=20.0)
    assert failures(speedup(16.0, cpu=20.0 / 1.24), recorded) == []  # a busy machine
    assert failures(speedup(30.0, cpu=20.0 / 1.26), recorded) == [
        "reading/sqlalchemy S: 30 x, worse than the recorded 30 x by 26%, in CPU seconds"
    ]
    assert failures(speedup(30.0 / 1.26), recorded) != []


def test_the_better_of_two_measurements():
    assert scan(1.0).is_better_than(scan(1.1))
    assert not speedup(1.0).is_better_than(speedup(1.1))
    assert scan(1.0).is_better_than(scan(None, why="x"))
    assert not scan(None, why="x").is_better_than(scan(1.0))


def test_a_lower_bound_is_shown_as_one():
    assert Figure("projection/nvtxgpuproj", "S", 612.4, is_lower_bound=True).shown() == "≥ 612 x"


def test_the_record_keeps_what_was_not_measured_again_and_no_seconds(tmp_path):
    path = tmp_path / "recorded.json"
    old = Record({"reading/scan S": scan(2.0), "start/help any": Figure("start/help", "any", 1.5, versions="old")})
    write(updated(old, [scan(1.23456, detail="0.1 s"), Figure("start/help", "any", None, why="broken")], {}), path)
    found = read(path).figures
    assert found["reading/scan S"].value == 1.235
    assert "polars" in found["reading/scan S"].versions
    assert found["start/help any"] == Figure("start/help", "any", 1.5, versions="old")
    assert "0.1 s" not in path.read_text(encoding="utf-8")


def test_what_is_recorded_is_demanded():
    for name, figure in read().figures.items():
        assert figure.name == name
        assert figure.size in DEMANDS[figure.demand].limits
        assert figure.value is not None or figure.why
