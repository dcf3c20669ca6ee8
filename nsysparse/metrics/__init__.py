"""From attributed transfers to the numbers of a report. Definitions: docs/metrics.md."""
