"""What each part of linked tables is made of, in plain words."""

from lapwing.schema.linked.database import LinkedSchema
from lapwing.schema.scalars import visible


def part_in_words(linked: LinkedSchema, name: str) -> str:
    """Return what a row of a part stands for, how many are used, and what is asked about beside its own columns."""
    table = linked.table(name)
    counts = [f"how many rows of {below.name} it has ({below.count})" for below in linked.below(name)]
    if table.parent is None:
        made = f", made of the rows of {linked.given[0]}" if linked.is_events else ""
        said = f"One row for each value of {linked.key}{made}"
        return visible(" and ".join([f"{said}: its own columns", *counts]) + ".")
    order = "in no order" if table.order is None else f"in the order of {table.order.by}"
    said = f"At most {table.max_rows} rows for each row of {table.parent} are used, {order}"
    lag = linked.lag(name)
    asked = [] if lag is None else [f"its place among them ({lag.number}, {lag.left})"]
    if lag is not None and lag.previous:
        asked.append(f"the rows before ({', '.join((*lag.previous.values(), *lag.second.values()))})")
    if lag is not None and lag.gap is not None:
        asked.append(f"the steps from there ({lag.gap})")
    above = linked.given_names(name).values()
    asked += counts + ([f"the rows above ({', '.join(above)})"] if above else [])
    return visible(f"{said}. Each is asked about with {', '.join(asked)}.")
