"""What would help: what changes would do to the gap between prefill and decode, computed from the run's own numbers.

An idea acts on parts of the gap of requests of which all parts are known, and saves at most those. What does not apply,
or lacks a measurement, is left out.
"""

from collections.abc import Sequence

from nsysparse.analysis import WhatIf
from nsysparse.catalog.loader import link_of_gpu
from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.batch import smaller_batch
from nsysparse.metrics.whatif.idea import Idea, Scene, as_row
from nsysparse.metrics.whatif.messages import larger_messages, more_streams
from nsysparse.metrics.whatif.other_links import other_links
from nsysparse.metrics.whatif.pipelines import receiver_pipelining, sender_pipelining
from nsysparse.metrics.whatif.wire_types import narrow_wire
from nsysparse.theory.shipment import Shipment

_ALONE = (sender_pipelining, receiver_pipelining, more_streams, larger_messages, smaller_batch)


def whatif(cases: Sequence[Case], model: Shipment | None, gpus: Sequence[str | None]) -> tuple[WhatIf, ...] | None:
    """All ideas that would save something, by id; None where no request's gap and all its parts are known.

    Args:
        cases: The requests whose gap and parts are known, with what was measured of them; of those whose time on the
            wire is not told from waiting nothing follows.
        model: The model as it is served, if named.
        gpus: Product names of all GPUs of all traces; None where one is not recorded.
    """
    told = tuple(case for case in cases if not case.moving_ns)
    if not told:
        return None
    named = {link.id: link for name in gpus if name is not None and (link := link_of_gpu(name)) is not None}
    own = tuple(named.values()) if len(named) == 1 else ()
    scene = Scene(told, model, own, unsplit_count=len(cases) - len(told))
    alone: list[Idea | None] = [propose(scene) for propose in _ALONE]
    ideas = [*narrow_wire(scene), *other_links(scene), *(idea for idea in alone if idea is not None)]
    rows = [row for idea in ideas if (row := as_row(idea, scene)) is not None]
    return tuple(sorted(rows, key=lambda row: row.id))
