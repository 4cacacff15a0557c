"""`lapwing plan`."""

from typing import Annotated

import typer

from lapwing.cli.commands.synthesize import (
    Delta,
    Epsilon,
    MechanismName,
    Neighbours,
    PublicSource,
    PublicTableFiles,
    Rho,
    Settings,
    mechanism_with,
)
from lapwing.cli.options import MemoryLimit, SchemaFile, check_budget, whole

Rows = Annotated[
    int,
    typer.Option(
        "--expected-rows",
        metavar="N",
        parser=whole,
        help="Your public guess of the number of rows, made without the data.",
    ),
]


def plan(
    context: typer.Context,
    schema: SchemaFile,
    expected_rows: Rows,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    mechanism: MechanismName = None,
    neighbours: Neighbours = "add-remove",
    settings: Settings = [],  # noqa: B006 - typer reads the default and passes a new list
    public_table: PublicTableFiles = [],  # noqa: B006 - likewise
    public_source: PublicSource = None,
    memory: MemoryLimit = None,
) -> None:
    """Show cost, expected error, time and memory before any row is read."""
    check_budget(epsilon, rho, context)

    from lapwing.runs.public_tables import read_public_tables  # noqa: PLC0415
    from lapwing.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.verbs.plan import plan as plan_of  # noqa: PLC0415

    checked = usable_schema(schema)
    chosen = None if mechanism is None and not settings else mechanism_with(mechanism, settings, checked)
    planned = plan_of(
        checked,
        expected_rows=expected_rows,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mechanism=chosen,
        neighbours=neighbours,
        public_tables=[each for path in public_table for each in read_public_tables(path, public_source)],
        memory=memory,
    )
    print(planned.text(), end="")
