"""The command line. Commands load when they run, so that `--help` stays as fast as click itself."""

import gc
import os
import sys
from importlib import import_module

import click

from nsysparse import __version__
from nsysparse.cli.settings import choice_options
from nsysparse.cli.talk import explain, set_verbosity
from nsysparse.errors import NsysparseError, OutputError
from nsysparse.machine import share_freed_memory

COMMANDS = {
    "report": "Report on the KV-cache transfer in one or more traces.",
    "diff": "Compare the KV-cache transfer of two runs: did it get better or worse, where, and is that more than"
    " noise?",
    "inspect": "Say what a trace holds, what it lacks and why, and the command that would record the rest.",
    "capture": "Print the commands that record a serving system with nsys and export the report.",
    "export": "Export a frame of events or results, one row per record; or metrics of the whole run.",
    "redact": "Write a small copy of a trace with only what a report needs: a trace that can be handed on.",
    "convention": "Print the annotation convention: the NVTX ranges that make KV transfers attributable.",
    "links": "Show the catalogue of links that transfers are held against.",
    "models": "Show the catalogue of models whose KV-cache size is known.",
    "kv": "Predict size and transfer time of a model's KV cache, and from which length on a link is too slow.",
    "presets": "Show what range names are known, and check a preset of your own.",
}
"""The commands, and the first sentence of their help: so that listing them loads none."""
_OBJECTS_BEFORE_A_LOOK = 400_000
_INTERRUPTED = 130


class _Listed(click.Group):
    """A group that lists its commands in the order in which it has them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self.commands)


class _Lazy(click.Group):
    """A group whose commands are modules of this package, imported when named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"nsysparse.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their first sentences alone: whoever asks what there is waits for none of them."""
        listed = {name: click.Command(name, help=sentence) for name, sentence in COMMANDS.items()}
        _Listed(commands=listed).format_commands(ctx, formatter)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="nsysparse")
def cli() -> None:
    """Find the KV-cache transfer between prefill and decode in Nsight Systems traces.

    Start with what a trace holds, then report on it:

    \b
        nsysparse inspect trace.sqlite
        nsysparse report trace.sqlite --link ib-ndr --model llama-3-70b

    A trace is what `nsys export --type sqlite` writes.
    """
    set_verbosity(0)


cli.params += choice_options()


def main() -> None:
    """Run the command line; every failure becomes one message on stderr and an exit code."""
    # A command makes millions of objects and hardly a cycle: to look for some every 700 took a tenth of its time.
    gc.set_threshold(_OBJECTS_BEFORE_A_LOOK)
    share_freed_memory()
    try:
        cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except NsysparseError as error:
        sys.exit(explain(error))
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)
    except click.Abort:
        click.echo("nsysparse: interrupted", err=True)
        sys.exit(_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is wrong, and nothing more can be said on stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # Everything read is guarded where it is read: this is stdout or stderr, on a full disk for example.
        sys.exit(explain(OutputError(f"Output cannot be written ({error.strerror}).", "Check free space.")))
    except Exception as error:  # noqa: BLE001 (the last resort: a bug, said in one line)
        sys.exit(explain(error))
    finally:
        gc.freeze()  # Python would look through all objects once more before it ends, and memory with it
