"""The command `plan`: which step is asked for."""

import typer
from typer.core import TyperGroup

from app.errors import InputError

STATUSES = """Exit status: 0 all of it works, 1 not all of it (a pod gets no node, a \
volume ends degraded, or something is lost or refused), 2 the input cannot be used."""


class _PlanGroup(TyperGroup):
    """Has its steps once it is called, and takes their options in front of a step, too."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        from cli.planning.steps import steps  # noqa: PLC0415 (other commands are not to wait for it)

        found = typer.main.get_command(steps)
        assert isinstance(found, TyperGroup)
        self.commands.update(found.commands)
        parser = self.make_parser(ctx)  # it stops at the first word, the step
        for command in self.commands.values():
            for option in command.params:
                if option.param_type_name == "option":
                    option.add_to_parser(parser, ctx)
        _, rest, _ = parser.parse_args([*args])
        front = args[: len(args) - len(rest)]
        if rest:
            return super().parse_args(ctx, [rest[0], *front, *rest[1:]])
        asks = [each for each in front if each in ctx.help_option_names]
        if not (asks or ctx.resilient_parsing):  # which is completion
            raise InputError("plan: no step is given; see: plan --help")
        return super().parse_args(ctx, asks)


plan = typer.Typer(
    cls=_PlanGroup,
    subcommand_metavar="STEP [ARGUMENT]...",
    rich_markup_mode=None,
    help=f"""Say what would happen if: workloads were placed, nodes drained or lost, disks added.

Nothing in the cluster changes. `plan STEP --help` says what a step takes.

{STATUSES} Of capacity it is 0 or 2.
""",
)


@plan.callback()
def _plan() -> None:
    """Have a group without commands of its own."""
