"""Process and thread identifiers as the exporter packs them into one signed 64-bit column.

Bits 63-56 hardware id, 55-48 virtual machine id, 47-24 process id, 23-0 thread id.
"""

_HARDWARE_BITS = 8
_VM_BITS = 8
_PID_BITS = 24
_TID_BITS = 24
_SIGN = 1 << 63


def signed(value: int) -> int:
    """An unsigned 64-bit number as SQLite stores it: at 2^63 and above it turns negative."""
    if not 0 <= value < 2 * _SIGN:
        raise ValueError(f"{value} does not fit 64 unsigned bits")
    return value - 2 * _SIGN if value >= _SIGN else value


def global_id(hardware_id: int, vm_id: int, pid: int = 0, tid: int = 0) -> int:
    """A `globalTid`; with `tid` 0 a `globalPid`, with `pid` 0 as well a `globalVid`."""
    packed = 0
    parts = (("hardware id", hardware_id, _HARDWARE_BITS), ("VM id", vm_id, _VM_BITS))
    for what, value, bits in (*parts, ("pid", pid, _PID_BITS), ("tid", tid, _TID_BITS)):
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{what} {value} does not fit {bits} bits")
        packed = packed << bits | value
    return signed(packed)
