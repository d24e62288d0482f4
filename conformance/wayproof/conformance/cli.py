"""The ``wayproof`` command: which commands there are, and nothing of what they do."""

import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from wayproof.conformance.report.words import did_you_mean, plainly

COMMANDS: Final = {
    "check": "Judge a backend by the suite.",
    "report": "Make report files from results, and compare two runs.",
    "vectors": "Write the vectors, and verify them.",
    "explain": "Say what a clause, a ruling or a refusal means.",
    "matrix": "Show the chain from clause to verdict.",
    "explore": "Walk through every state of the model.",
    "mutants": "See that every planted fault is caught.",
    "variants": "See that every allowed deviation passes.",
    "generate": "Write what is generated, or check that it is written.",
}
"""Every command with its line of help, in the order of ``wayproof --help``. One whose module is
not there is not shown."""

COULD_NOT_RUN: Final = 3


class LazyCommands(TyperGroup):
    """A group that imports a command's module when the command is called, and not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands that are there."""
        return [name for name in COMMANDS if find_spec(_module(name)) is not None]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in with the line of help."""
        if cmd_name not in self.list_commands(ctx):
            return None
        return TyperCommand(name=cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself."""
        known = self.list_commands(ctx)
        if not ctx.resilient_parsing and args[0] not in known and not args[0].startswith("-"):
            alike = did_you_mean(get_close_matches(args[0], known))
            ctx.fail(f"No such command {args[0]!r}.{alike}")
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in and load_command(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what is wrong with a value is told in our own words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = plainly(error.message)
            raise


def load_command(name: str) -> Any:
    """Import a command's module and make the command."""
    module = import_module(_module(name))
    offered: typer.Typer | None = getattr(module, "app", None)
    if offered is None:
        offered = typer.Typer(add_completion=False)
        offered.command(name, no_args_is_help=False)(getattr(module, name))
    command = typer.main.get_command(offered)
    command.name = name
    return command


def _module(name: str) -> str:
    return f"wayproof.conformance.commands.{name}"


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - rarely wanted, and slow

        typer.echo(f"wayproof {version('wayproof')}")
        raise typer.Exit()


app = typer.Typer(
    cls=LazyCommands,
    help="Find out whether a backend for bounded long AI work obeys its contract.",
    epilog="Example: wayproof check --backend sqlite",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. A fault of our own is never mistaken for a verdict: it exits with 3."""
    try:
        app()
    except Exception:
        traceback.print_exc()
        sys.exit(COULD_NOT_RUN)
