"""`lapwing.anonymize`: a k-anonymous table, apart from everything that is differentially private."""

from lapwing.anonymous.settings import AnonymousSettings, Categories, Output, Partition, Variant
from lapwing.anonymous.table import AnonymousTable, anonymous_table
from lapwing.on_demand import extra
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.release.runs.settings import usable_schema
from lapwing.rows.entry import private_boundary
from lapwing.typing import IntoFrame, SchemaLike


@private_boundary
def anonymize(
    data: IntoFrame,
    schema: SchemaLike,
    min_group_size: int = 10,
    *,
    variant: Variant = "default",
    partition: Partition = "practical",
    improve: bool = True,
    output: Output = "systematic",
    categories: Categories = "random",
    rows: int | None = None,
    seed: int | None = None,
) -> AnonymousTable:
    """Make a k-anonymous table by microaggregation. Not differential privacy.

    Rows that are alike are put into groups, and synthetic rows show what a group has in common: the mean of a number or
    date, and categories, Booleans, missing cells and special values as often as the group has them.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        The private rows, read into memory. Columns that the schema does not name are ignored.
    schema : Schema, path or mapping
        Everything public about the table. With a privacy unit, groups count units, all kept rows of a unit are in one
        group, and every unit counts the same in its group's mean.
    min_group_size : int, default 10
        The k of k-anonymity, at least 2: every figure that rows are made from is a mean or a share over at least so
        many units.
    variant : {"default", "paper"}, default "default"
        ``paper`` is Algorithm 1 of the reference: coarse groups with a proved bound, and for each row a group that is
        drawn first. It takes none of the next four settings.
    partition : {"practical", "mdav"}, default "practical"
        How groups are found: ``practical`` is the most accurate one that is fast; ``mdav`` is the method of the
        literature, in quadratic time.
    improve : bool, default True
        Whether units are moved and swapped between groups while that brings groups closer together.
    output : {"systematic", "shuffle"}, default "systematic"
        How rows are made: ``systematic`` makes as many rows from each group as it had, as nearly as `rows` allows, and
        draws each cell from the group's shares; ``shuffle`` deals the group's own cells out again, each column by
        itself, so that the counts of categories stay exact. Numbers and dates are means under both.
    categories : {"random", "mode"}, default "random"
        Whether a category is drawn from the group's shares, or the group's most frequent one.
    rows : int, 1 to 10**8, optional
        Rows to make; by default as many as were kept of the table.
    seed : int, optional
        Of the generator that draws the rows; by default a fresh one. The result names it.

    Returns
    -------
    AnonymousTable
        ``data`` (pandas for a pandas table, PyArrow for PyArrow, Polars otherwise), ``information_loss``,
        ``covariance_loss``, and the ``notice`` that belongs to the rows.

    Raises
    ------
    SchemaError
        If the schema is a draft or breaks a rule of its format.
    ParameterError
        If a setting is out of range, or the table has fewer units than a group needs.
    CapacityError
        If the schema has more than 2000 coordinates.
    DataError
        If the table cannot be read or lacks a column.
    BudgetError
        If a policy asks for larger groups.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Covariance's Loss is Privacy's Gain", Algorithm 1 and Theorem 4.6. What we
    changed: any types of columns, any number of units in a group, units of several rows. With ``variant="paper"``
    Boolean tables without missing cells are treated as there.
    Domingo-Ferrer, Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure control" (2002),
    for ``mdav``.

    Notes
    -----
    Guarantee: given the groups, synthetic rows are a random function of means and shares over at least `min_group_size`
    units each, and of the seed. A number that fewer units of a group have is averaged together with that of other
    groups, and shown as missing (in a required column: as a random value of its domain) where the whole table has
    fewer. Cells that fit nothing are never shown. Which units are alike is not protected: a group all of whose units
    share a value reveals it, someone who knows all units of a group but one can compute that one's part, and two
    tables made from the same rows can be compared.

    Time: about 60 s for 10**6 rows of 10 numbers; ``mdav`` is quadratic. Memory: 16 bytes a unit and coordinate, of
    which numbers, dates, Booleans and ordered categories have one, and other columns one for each category, 64 at most.

    Examples
    --------
    >>> import polars as pl
    >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
    >>> made = anonymize(pl.DataFrame({"age": [20, 21, 22, 60, 61, 62]}), {"fields": [age]}, 3)
    >>> sorted(made.data["age"].to_list())
    [21, 21, 21, 61, 61, 61]
    >>> made
    AnonymousTable(k-anonymous with k = 3, not differentially private; homogeneous groups can reveal shared values)
    """
    settings = AnonymousSettings(
        min_group_size=min_group_size,
        variant=variant,
        partition=partition,
        improve=improve,
        output=output,
        categories=categories,
        rows=rows,
    )
    extra("policy").check_group(settings.min_group_size)
    chosen = chosen_seed(seed)
    return anonymous_table(data, usable_schema(schema), settings, generator(chosen, "anonymize"), seed=chosen)
