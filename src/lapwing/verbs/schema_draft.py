"""`lapwing.Schema` with `Schema.draft`: the one public call on schemas that looks at a private table (internal)."""

from lapwing.internal.schemas import draft_schema
from lapwing.rows.guard import private_boundary
from lapwing.schema.schemas import Schema

__all__ = ["Schema", "draft"]


@private_boundary
def draft(data: object) -> Schema:
    """Draft a schema from the names and types of a table's columns. Internal: its result was made by looking.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        The private rows. Only names and types are looked at; a CSV file has no types, so each of its columns gets the
        narrowest one that all its cells can be read as.

    Returns
    -------
    Schema
        With ``is_draft`` set and every domain blank: no release accepts it before its owner has filled in bounds and
        categories from public knowledge.

    Raises
    ------
    DataError
        If the table cannot be read, or a column holds lists, records or bytes.

    Notes
    -----
    The command ``lapwing schema draft`` writes the same skeleton to a file, and also prints what each column looks
    like and may need in the schema: texts that are numbers or dates, markers for missing, codes, special values.

    Examples
    --------
    >>> import polars as pl
    >>> draft(pl.DataFrame({"age": [31], "sex": ["f"]})).to_dict()["fields"][0]["constraints"]
    {'minimum': None, 'maximum': None}
    """
    return draft_schema(data).value


Schema.draft = staticmethod(draft)
