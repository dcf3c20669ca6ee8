"""Fewer requests at once: what a request would save that had its link for itself."""

from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, saving, shown


def smaller_batch(scene: Scene) -> Idea | None:
    """The link alone: no time shared with others on the wire, none behind their transfers."""
    found: list[Saving] = []
    for case in scene.cases:
        if case.crowding is None:
            continue
        shared = min(case.crowding.shared_ns, case.wire_ns)
        queued = min(case.crowding.queued_ns, case.wait_ns + case.pause_ns)
        each = saving(case, shared + queued, case.wire_ns + case.wait_ns + case.pause_ns)
        if each is not None:
            found.append(each)
    if not found:
        return None
    taken = [each.case.crowding for each in found if each.case.crowding is not None]
    return Idea(
        "smaller-batch",
        tuple(found),
        f"transfers of other requests on the same link: {shown([each.shared_ns for each in taken])} of wire time lost"
        f" to them, where k at once get a k-th of it each, and {shown([each.queued_ns for each in taken])} behind them",
        "Requests are handed over one at a time and nothing else changes. Throughput falls, as fewer requests are"
        " computed together, and requests wait longer before their prefill.",
    )
