"""The command line. Commands load when they run, so that `--help` stays as fast as click itself."""

import os
import sys
from importlib import import_module

import click

from nsysparse import __version__
from nsysparse.cli.settings import choice_options
from nsysparse.cli.talk import explain, set_verbosity
from nsysparse.errors import NsysparseError, OutputError

COMMANDS = ("report", "diff", "inspect", "capture", "export", "convention", "links", "models", "kv", "presets")
_INTERRUPTED = 130


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
