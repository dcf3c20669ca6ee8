"""How the clocks of a run's traces stand against each other, with an uncertainty that holds all along the run.

Recordings of one host share its clock. Those of two are bracketed by what transfers between them prove, or else tied by
UTC, which nothing verifies. docs/explanation/clocks.md says how and why.

`pairs` takes proven pairs of transfers, `bounds` what they say, `feasible` which lines fit that, `estimate` the one
through the middle; `hosts` knows which recordings are of one host; `solve` chooses, `aligned` finds the best way
between any two, and `notes` says it in words.
"""

from nsysparse.clocks.aligned import Clocks
from nsysparse.clocks.offset import Offset
from nsysparse.clocks.solve import solve

__all__ = ["Clocks", "Offset", "solve"]
