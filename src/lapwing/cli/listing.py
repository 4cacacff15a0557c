"""`lapwing mechanisms`."""

from lapwing.report.text import aligned


def mechanisms() -> None:
    """List the mechanisms and what each one does."""
    from lapwing.mechanisms.registry import MECHANISMS  # noqa: PLC0415

    lines = [(kind.name, ", ".join(kind.relations), kind.summary) for kind in MECHANISMS.values()]
    print(aligned([("name", "neighbours", "what it does"), *lines]))
