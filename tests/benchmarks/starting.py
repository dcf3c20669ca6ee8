"""What starting costs: the help against that of a bare click program, a report on a tiny trace against its imports."""

from pathlib import Path

from demands import Figure
from floors import HEAVY, bare_click, tool
from processes import cpu, in_turns, run, seconds

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces/synthetic/pd-transports.sqlite"
"""The smallest sample: about a hundred kilobytes, whose report has every section."""
HELP_ROUNDS = 15
"""A help takes a tenth of a second: fewer would measure the machine."""


def starting(folder: Path, rounds: int) -> list[Figure]:
    """Both figures, measured in a scratch folder."""
    commands = {"bare": bare_click(), "help": tool("--help")}
    for command in (*commands.values(), HEAVY):
        run(command, folder)  # compiled files and libraries are in the page cache from here on
    runs = in_turns(commands, folder, max(rounds, HELP_ROUNDS))
    bare, ours = (seconds(runs[name]) for name in commands)
    detail = f"{ours:.3f} s, bare {bare:.3f} s, {len(runs['help'])} rounds"
    helped = Figure("start/help", "any", ours / bare, detail, cpu=cpu(runs["help"]) / cpu(runs["bare"]))
    report = tool("report", str(SAMPLE), "--no-config", "--force", "-q", "-o", "tiny.html")
    runs = in_turns({"imports": HEAVY, "report": report}, folder, rounds)
    ours, imports = seconds(runs["report"]), seconds(runs["imports"])
    detail = f"{ours:.2f} s, imports {imports:.2f} s, {rounds} rounds"
    return [helped, Figure("start/tiny", "any", ours / imports, detail, cpu=cpu(runs["report"]) / cpu(runs["imports"]))]
