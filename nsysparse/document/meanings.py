"""What a mark stands for: one meaning has one colour in every figure."""

from typing import Literal

Meaning = Literal[
    "wire",  # bytes move, both sides are there
    "wait",  # one side runs, its peer is not there
    "whole",  # wire and waiting, not told apart
    "handoff",  # from the end of prefill to the first send
    "pause",  # between transfers of a request
    "ready",  # KV has arrived, decode has not begun
    "compute",  # prefill and decode steps
    "queue",  # before prefill
    "hidden",  # transfer behind compute
    "gap",  # the KV gap as a total
    "idle",  # nothing to do
    "count",  # how many
    "unknown",
]
