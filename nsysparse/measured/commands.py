"""What to run to measure a ceiling, where nothing was measured yet."""

from typing import Literal

from nsysparse.errors import UsageError
from nsysparse.measured.text import GIB, MIB

Op = Literal["read", "write", "copy"]
_LEAST = 65_536
"""Smaller messages show the message rate of an adapter."""

# perftest takes sizes up to 2^31 - 1; -D measures for seconds (its peak is 0 then, and nobody needs it), -q opens
# several queue pairs, --use_cuda puts the buffer on that device:
# https://github.com/linux-rdma/perftest/blob/master/src/perftest_parameters.c , man/perftest.1 beside it.
_PERFTEST = {"read": "ib_read_bw", "write": "ib_write_bw", "copy": "ib_write_bw"}
# -b is the buffer in MiB, -t the test: https://github.com/NVIDIA/nvbandwidth/blob/main/README.md .
_BETWEEN = {
    "read": "device_to_device_memcpy_read_ce",
    "write": "device_to_device_memcpy_write_ce",
    "copy": "device_to_device_memcpy_write_ce",
}
_HOST = {"read": "host_to_device_memcpy_ce", "write": "device_to_host_memcpy_ce", "copy": "device_to_host_memcpy_ce"}
_NIXL_OPS = {"read": "READ", "write": "WRITE", "copy": "WRITE"}

_RDMA = ("infiniband", "ethernet", "roce")
_COPIES = ("nvlink", "pcie", "c2c")
# Fabrics with a plugin of their own for NCCL, and links of other vendors, whose RCCL comes with the same test.
_NCCL = ("nccl", "efa", "tcpx", "tcpxo", "slingshot", "omnipath", "xgmi")
_NIXL = ("nixl",)


def command_for(link_kind: str, size_bytes: int, op: Op, memory: Literal["gpu", "host"]) -> str:
    """The shell command that measures a ceiling for transfers as described, one line.

    Args:
        link_kind: A `kind` of the catalogue of links, or `roce`, `nccl` or `nixl`.
        size_bytes: Bytes of one message.
        op: Whether the transfer pulls, pushes, or copies.
        memory: Where its bytes lie.

    Raises:
        UsageError: No known benchmark measures that kind of link.
    """
    size = max(1, size_bytes)
    if link_kind in _RDMA:
        cuda = " --use_cuda=0" if memory == "gpu" else ""
        # Started on both hosts, on the second one with the name of the first.
        return f"{_PERFTEST[op]} -s {min(max(size, _LEAST), GIB)} -q 4{cuda} --report_gbits -D 10 -F SERVER"
    if link_kind in _COPIES:
        return f"nvbandwidth -t {(_BETWEEN if memory == 'gpu' else _HOST)[op]} -b {-(-min(size, GIB) // MIB)}"
    if link_kind in _NCCL:
        # https://github.com/NVIDIA/nccl-tests/blob/master/README.md ; one rank on each of two hosts.
        largest = max(size, GIB)
        return f"mpirun -np 2 -H HOST1,HOST2 sendrecv_perf -b {min(size, MIB)} -e {largest} -f 2 -g 1"
    if link_kind in _NIXL:
        segment = "VRAM" if memory == "gpu" else "DRAM"
        # https://github.com/ai-dynamo/nixl/blob/main/benchmark/nixlbench/README.md ; started on both hosts.
        return (
            f"nixlbench --etcd_endpoints http://SERVER:2379 --backend UCX --op_type {_NIXL_OPS[op]}"
            f" --initiator_seg_type {segment} --target_seg_type {segment}"
            f" --start_block_size {size} --max_block_size {size}"
        )
    known = ", ".join((*_RDMA, *_COPIES, *_NCCL, *_NIXL))
    raise UsageError(f"No known benchmark measures links of kind {link_kind!r}.", f"Known kinds: {known}.")
