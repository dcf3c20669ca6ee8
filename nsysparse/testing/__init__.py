"""For tests, and for authors of presets and transports: traces made to order. Nothing at run time imports this."""

from nsysparse.testing.builder import TraceBuilder
from nsysparse.testing.derived import SYNTHETIC
from nsysparse.testing.hybrid import reencode
from nsysparse.testing.processes import Process
from nsysparse.testing.schemas import VERSIONS
from nsysparse.testing.threads import Call, Thread

__all__ = ["SYNTHETIC", "VERSIONS", "Call", "Process", "Thread", "TraceBuilder", "reencode"]
