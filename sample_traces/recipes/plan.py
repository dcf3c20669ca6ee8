"""What a recipe plans, and the known answers that follow from it.

The answers are worked out here from the plan alone, never by asking nsysparse, so that they can convict it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Answers = dict[str, "int | float | str | list[int] | Answers"]


class Kernel(NamedTuple):
    """One SendRecv kernel: whose it is and its interval, ns."""

    pid: int
    start: int
    end: int


@dataclass(frozen=True)
class Operation:
    """One recorded Send or Recv call.

    Args:
        side: `send` or `recv`.
        peer: The other rank.
        nbytes: Payload bytes.
        issue: Position in the order in which its process called NCCL.
        movement: Name of the physical movement; a send and a receive that share it are two views of one.
        kernel: The kernel that served it; None when that kernel is not in the file.
        layer: Layer that the trace tells, if it does.
        request: Request that the trace tells, if it does.
        is_kv: False for traffic that is certainly no KV cache.
    """

    side: str
    peer: int
    nbytes: int
    issue: int
    movement: str
    kernel: Kernel | None
    layer: int | None = None
    request: str | None = None
    is_kv: bool = True


@dataclass
class Plan:
    """Everything that happened between ranks in one trace."""

    operations: list[Operation] = field(default_factory=list)
    kernels_without_call: list[Kernel] = field(default_factory=list)
    collective_kernels: int = 0
    wire_ns: int | None = None  # sum over pairs of the time in which both sides were present, where the plan fixes it

    def add(self, operation: Operation) -> None:
        """Record one call."""
        self.operations.append(operation)


def split_time(length: int, operations: Sequence[Operation]) -> list[int]:
    """Shares of one kernel's length among its operations, by bytes; they sum to the length exactly.

    Whole nanoseconds first, then the ones left over to the largest remainders; ties go by peer, sends before receives,
    issue order (all operations of a kernel start together).
    """
    total = sum(operation.nbytes for operation in operations)
    parts = [divmod(length * operation.nbytes, total) for operation in operations]
    shares = [whole for whole, _ in parts]

    def claim(index: int) -> tuple[int, int, bool, int]:
        operation = operations[index]
        return (-parts[index][1], operation.peer, operation.side == "recv", operation.issue)

    for index in sorted(range(len(operations)), key=claim)[: length - sum(shares)]:
        shares[index] += 1
    return shares


def known_answers(plan: Plan, layer_count: int, requests: Iterable[str]) -> Answers:
    """What a correct analysis finds, by the definitions in the manifest's head.

    Args:
        plan: The run.
        layer_count: Number of layers of the model.
        requests: All request ids.
    """
    fused: dict[Kernel, list[Operation]] = defaultdict(list)
    for operation in plan.operations:
        if operation.kernel:
            fused[operation.kernel].append(operation)
    time: dict[int, int] = {}
    for kernel, members in fused.items():
        for member, share in zip(members, split_time(kernel.end - kernel.start, members), strict=True):
            time[id(member)] = share

    kv = [operation for operation in plan.operations if operation.is_kv]
    movements = {operation.movement: operation for operation in kv if operation.side == "send"}
    movements |= {operation.movement: operation for operation in kv if operation.side == "recv"}
    moved = list(movements.values())

    def total(chosen: Iterable[Operation]) -> Answers:
        found = list(chosen)
        received = [operation for operation in found if operation.side == "recv"]
        return {
            "movements": len(found),
            "bytes": sum(operation.nbytes for operation in found),
            "time_ns": sum(time.get(id(operation), 0) for operation in found),
            "recv_time_ns": sum(time[id(operation)] for operation in received),
        }

    layers = [total(m for m in moved if m.layer == layer) for layer in range(layer_count)]
    other = [operation for operation in plan.operations if not operation.is_kv]
    sides = [operation.side for operation in kv]
    answers: Answers = {
        "sendrecv_kernels": len(fused) + len(plan.kernels_without_call),
        "send_transfers": sides.count("send"),
        "recv_transfers": sides.count("recv"),
        "paired": len(kv) - len(moved),
        "calls_without_kernel": sum(operation.kernel is None for operation in kv),
        "kernels_without_call": len(plan.kernels_without_call),
        "total": total(moved),
        "layer_unattributed": total(m for m in moved if m.layer is None),
        "request_unattributed": total(m for m in moved if m.request is None),
        "excluded": {
            "kernels": len({operation.kernel for operation in other}),
            "send_transfers": sum(operation.side == "send" for operation in other),
            "recv_transfers": sum(operation.side == "recv" for operation in other),
            "collective_kernels": plan.collective_kernels,
        },
        "layers": {key: [layer[key] for layer in layers] for key in layers[0]},  # type: ignore[misc]
        "requests": {request: total(m for m in moved if m.request == request) for request in requests},
    }
    if plan.wire_ns is not None:
        answers["wire_ns"] = plan.wire_ns
    return answers
