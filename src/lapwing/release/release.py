"""The release: what leaves, and everything one can do with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

from lapwing.errors import OfOneTableError, ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.questions.questions import Answer
from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.files import SavedRelease, save_release
from lapwing.model.model import ReleasedModel
from lapwing.model.statistics.expressions import Condition
from lapwing.on_demand import Displayable, extra
from lapwing.release import rows_out as out
from lapwing.release.accuracy import chosen_accuracy
from lapwing.release.linked.drawing import layouts_of, linked_frames, together
from lapwing.release.linked.targets import tables_out, write_into, write_one_into
from lapwing.release.queries import Groups, as_frame, query_table
from lapwing.release.rows_out import RowsOut, Support, Where
from lapwing.release.runs.watching import ProgressLike, show_progress
from lapwing.rows.kinds import FrameLayout, Kind
from lapwing.rows.out.outputs import write_output
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.scalars import check_row_count, path_text
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

    from lapwing.release.replicates import Replicates


_PLAIN: Final = FrameLayout()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release(Displayable):
    """A differentially private release, of one table or of several; every method is free post-processing.

    Of several tables, ``tables`` has the release of each: of its rows with their place, the row before and the rows
    above. Rows that it draws by itself belong to none of another table; `sample` of the whole gives those that do. What
    names columns is asked of the table that has them, and what is of one table alone refused with LW252.

    Parameters
    ----------
    parts : mapping of str to SavedRelease
        What was released of each table, by name; of one table without a name.
    certificate : Certificate
        What was spent on what, and what was assumed.
    layouts : mapping of str to FrameLayout
        The library of the input of each, in which rows come back, and the types of its columns; nothing of its cells.
    seed : int or None
        The caller's seed, used by `sample` when it is given none.

    Examples
    --------
    >>> import lapwing as lw
    >>> import polars as pl
    >>> schema = {"privacyUnit": {"field": "who", "maxRows": 3}, "order": "day", "fields": [
    ...     {"name": "who", "type": "integer", "role": "identifier"},
    ...     {"name": "day", "type": "integer", "constraints": {"minimum": 1, "maximum": 9, "required": True}}]}
    >>> days = pl.DataFrame({"who": [1, 1, 2] * 50, "day": [1, 4, 2] * 50})
    >>> release = lw.synthesize(days, schema, epsilon=100, seed=1)
    >>> release.sample(4).columns
    ['who', 'day']
    """

    parts: Mapping[str, SavedRelease]
    certificate: Certificate
    layouts: Mapping[str, FrameLayout]
    seed: int | None = None

    @classmethod
    def of_one(cls, saved: SavedRelease, layout: FrameLayout = _PLAIN, seed: int | None = None) -> "Release":
        """Return the release of one table."""
        return cls(parts={"": saved}, certificate=saved.certificate, layouts={"": layout}, seed=seed)

    def _one(self, what: str, why: str) -> SavedRelease:
        """Return what was released of the only table, or refuse what only a table by itself has."""
        if self.certificate.linked is None:
            return self.parts[""]
        last = self.certificate.linked.names[-1]
        raise OfOneTableError(f"{why}; take release.tables[{last!r}].{what}", code="LW252")

    def _with(self, verb: str, columns: object) -> "Release":
        """Return the release of the table that has the columns in question, or say how to ask it of one."""
        linked = self.certificate.linked
        if linked is None:
            return self
        names = [columns] if isinstance(columns, str) else columns
        if isinstance(names, Mapping | list | tuple) and names and all(isinstance(name, str) for name in names):
            return self.tables[linked.home_of(names, verb)]
        raise ParameterError(
            f"{verb} is about the rows of one table, and this release has {', '.join(linked.names)}; name columns, or "
            f"call release.tables[{linked.names[-1]!r}].{verb}(...)",
            code="LW252",
        )

    @property
    def linked(self) -> LinkedTables | None:
        """Several tables together; None of one."""
        return self.certificate.linked

    @property
    def schema(self) -> Schema:
        """The public schema."""
        return self.parts[""].schema if self.linked is None else Schema(linked=self.linked)

    @property
    def model(self) -> ReleasedModel:
        """The mixture of products that rows of one table are drawn from."""
        return self._one("model", "each table has a model of its own").model

    @property
    def noisy(self) -> tuple[Answer, ...]:
        """Every answer that the mechanism of one table saw."""
        return self._one("noisy", "each table has answers of its own, and release.answers has them all").answers

    @property
    def layout(self) -> FrameLayout:
        """The types of the columns of one table's input."""
        self._one("layout", "each table has frames of its own layout")
        return self.layouts[""]

    @property
    def kind(self) -> Kind:
        """The library of one table's input."""
        self._one("kind", "each table has frames of its own kind")
        return self.layouts[""].kind

    def __repr__(self) -> str:
        paid = self.certificate
        graded = "" if paid.verdict is None else f"; {paid.verdict.short}"
        return f"Release({paid.short}{graded})"

    @property
    def tables(self) -> "Mapping[str, Release]":
        """The release of each table by name; of one table this one, without a name."""
        if self.linked is None:
            return {"": self}
        return {name: Release.of_one(part, self.layouts[name], self.seed) for name, part in self.parts.items()}

    @property
    def answers(self) -> "pl.DataFrame":
        """All noisy answers, one line per cell, with the standard deviation of the noise on it.

        A table of more than 65536 cells, such as a deep level of a tree, is one line with its total;
        `answer_tables` lists it. A selection among tables has no counts; the certificate's cost lines list it. Of
        several tables the first column, ``linked_table``, says whose each is.
        """
        if self.linked is not None:
            import polars as pl  # noqa: PLC0415

            found = self.tables.items()
            return pl.concat(
                [part.answers.select(pl.lit(name).alias("linked_table"), pl.all()) for name, part in found]
            )
        from lapwing.release.shown import answers_in_one_frame  # noqa: PLC0415

        return answers_in_one_frame(self.noisy, self.schema)

    def answer_tables(self) -> list[tuple[str, "pl.DataFrame"]]:
        """Return each noisy table with a name, one column per field, the noisy count and its standard deviation.

        Of several tables the name begins with that of the table.
        """
        if self.linked is not None:
            every = self.tables.items()
            return [(f"{of}: {name}", each) for of, part in every for name, each in part.answer_tables()]
        from lapwing.release.shown import named_tables  # noqa: PLC0415

        return named_tables(self.noisy, self.schema)

    def sample(
        self,
        n: int | None = None,
        seed: int | None = None,
        where: Where = None,
        *,
        like: Any = None,  # noqa: ANN401
        balance: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Draw rows from the released model; of several tables rows of the first, and all that belong to them.

        Parameters
        ----------
        n : int, at least 0, optional
            Number of rows, of several tables of the first; by default the released number, or of those expected to
            match ``where``.
        seed : int, optional
            Of the public generator; by default the release's own seed, else a fresh one.
        where : mapping of column to value, list of values or lw.between; str; frame; or list of mappings; optional
            Only rows that match, drawn from the model given the condition, which must be public; a text is such as
            ``"age >= 65 and sex == 'Female'"`` or ``"age=30..40"``, of conditions on one column each. With a frame or a
            list, one row for each row of it, in its order and under its pandas index, whose values leave as given; null
            is missing, and a column with a resolution shows the step that a value is counted as. Of several tables a
            mapping or text: only rows of the first one that match, and those that belong to them. It may name columns
            of that, also as ``TABLE.COLUMN``, and the numbers of rows of its child tables; of events those that are one
            for each person, and ``rows``.
        like : frame, "pandas", "polars" or "pyarrow", optional
            Whose library, types and order of columns rows have; by default those of the input, in the schema's order.
            Of several tables one for each, by name or order, or the name of one for all.
        balance : mapping of one column to "equal" or to a share of each value, optional
            ``{"income": "equal"}``: as many rows of each of the column's listed values, however rare; for training a
            classifier. In place of ``where``; of one table only.

        Returns
        -------
        frame or NamedFrames
            pandas for a pandas table, PyArrow for PyArrow and DuckDB, Polars for Polars and paths; for Spark a
            lazy frame that the workers draw. Types are as the input declares them, or wider where the schema needs it;
            categories are the schema's. Schema alone chooses what one cell can change: NumPy's types of pandas (int64,
            or as short as in ``like``, or float64 with NaN if a row may be missing; bool or object), types of moments,
            dictionaries. Of several tables a frame for each, by order or name; of events one. Keys are fresh numbers,
            each row has that of its parent, and rows of a parent stand together, in their order.

        Raises
        ------
        ParameterError
            If ``n``, the seed, a condition or ``like`` is out of range, or matching rows have probability 0.

        Notes
        -----
        Of several tables each row of a parent has as many rows as its number of rows says. The first is drawn from the
        released model given the parent's columns and these numbers, each other one given the row before it too.
        """
        if balance is not None:
            self._one("sample(balance=...)", "it is for one table; draw with where")
        if self.linked is not None:
            return together(
                self.linked, self.frames(n, seed=seed, where=where), layouts_of(self.linked, self.layouts, like)
            )
        layout = self.layout if like is None else out.layout_of(like, self.schema)
        rows = self.rows(n, seed=seed, where=where, balance=balance)
        return out.with_index_of(where, out.rows_frame(rows, self.schema, layout))

    def impute(self, data: Any, seed: int | None = None) -> Any:  # noqa: ANN401
        """Fill the gaps of your own table from the model: no private row is looked at, and it costs nothing.

        Parameters
        ----------
        data : frame or path
            Rows that are public or your own, with some of the schema's columns. Null is a gap.
        seed : int, optional
            As for `sample`.

        Returns
        -------
        frame
            The same rows and columns, of the same library; each gap is drawn from the model given what its row says.
            A value that may be missing may be drawn as missing.

        Raises
        ------
        ParameterError
            If a value lies outside the schema, or a column is not in it.

        Examples
        --------
        >>> import lapwing as lw
        >>> import polars as pl
        >>> schema = {"fields": [
        ...     {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
        ...     {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}]}
        >>> rows = pl.DataFrame({"age": [0] * 900 + [1] * 900, "sex": ["f"] * 900 + ["m"] * 900})
        >>> release = lw.synthesize(rows, schema, epsilon=100, seed=1)
        >>> release.impute(pl.DataFrame({"age": [1, None], "sex": [None, "f"]})).rows()
        [(1, 'm'), (0, 'f')]
        """
        one = self._one("impute(...)", "gaps are filled table by table")
        return out.filled_frame(one.model, one.schema, data, (seed, self.seed))

    def frames(self, n: int | None = None, *, seed: int | None = None, where: Where = None) -> Iterator[Any]:
        """Draw the rows of `sample` in chunks of Polars frames; at least one frame, empty when ``n`` is 0.

        Of several tables in chunks of whole units: frames by table.
        """
        if self.linked is not None:
            return linked_frames(self.linked, self.parts, n, where, self.seed if seed is None else seed)
        return self.rows(n, seed=seed, where=where).frames()

    def rows(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        where: Where = None,
        balance: Mapping[str, Any] | None = None,
    ) -> RowsOut:
        """Prepare the rows of `sample`, of which none is drawn yet."""
        self._one("rows(...)", "rows of several tables are drawn together, by sample, frames and write")
        if balance is not None:
            if where is not None:
                raise ParameterError(
                    "balance and where each say which rows to draw; leave one of them out", code="LW325"
                )
            count = check_row_count("the number of rows", self.model.rows if n is None else n)
            n, where = None, out.balanced(self.schema, count, balance, (seed, self.seed))
        return out.rows_out(self.model, self.schema, n, where, (seed, self.seed))

    def write(
        self,
        path: str | Path,
        n: int | None = None,
        seed: int | None = None,
        where: Where = None,
        *,
        rows_per_file: int = out.ROWS_PER_FILE,
        progress: ProgressLike = None,
    ) -> None:
        """Draw rows as `sample` does and write them, however many, in the memory of a few chunks.

        Parameters
        ----------
        path : path or address
            A ``.parquet`` or ``.csv`` file; or, with a slash at its end or where there is one already, a folder of
            Parquet files. It appears whole or not at all, and replaces earlier rows. Or a database: a new file that
            ends in ``.duckdb``, ``.sqlite`` or ``.db``, or ``postgresql://user@host/name``; the table has the schema's
            name, or ``synthetic``. Of several tables a database, which gets the keys declared, or a folder, which gets
            a file for each, public ones too.
        n, seed, where
            As for `sample`.
        rows_per_file : int, at least 2**18, default 2**22
            Most rows of a file of a folder; not of several tables.
        progress : bool or callable, optional
            As for `lapwing.synthesize`; a callable may be called by another thread.

        Raises
        ------
        ParameterError
            As `sample`; or if the path is none for rows, or is a folder with other files in it, or a database is there
            already.
        DataError
            If it cannot be written.
        """
        if self.linked is not None:
            if rows_per_file != out.ROWS_PER_FILE:
                self._one("write(...)", "a table of several has one file, and takes no rows_per_file")
            with show_progress(progress, **out.WRITING):
                write_into(tables_out(self.linked), self.frames(n, seed=seed, where=where), path_text("path", path))
            return
        rows = self.rows(n, seed=seed, where=where)
        from lapwing.rows.out.databases import is_database  # noqa: PLC0415 - it imports Polars

        if is_database(path_text("path", path)):
            if rows_per_file != out.ROWS_PER_FILE:
                raise ParameterError("a database has no files of rows; leave rows_per_file out", code="LW316")
            with show_progress(progress, **out.WRITING):
                write_one_into(self.schema, rows.frames(), path_text("path", path))
            return
        out.write_release(rows, path, rows_per_file, progress)

    def support(self, where: Where) -> Any:  # noqa: ANN401
        """Return how well the model knows the rows that `sample` draws under a condition.

        Parameters
        ----------
        where
            As for `sample`.

        Returns
        -------
        Support or frame
            ``effective_atoms``, ``share`` of the model's rows that match, ``drawn``: how; of several, a frame of these.

        Raises
        ------
        ParameterError
            If a condition does not fit.
        """
        one = self._with("support", None if isinstance(where, str) else where)
        found = out.support_of(one.model, one.schema, where)
        return found if isinstance(found, Support) else out.with_index_of(where, out.of_kind(found, one.kind))

    def query(
        self, columns: str | Sequence[str], groups: Groups = 20, confidence: Number = 0.95, *, weighted: bool = False
    ) -> Any:  # noqa: ANN401
        """Return the expected contingency table of some columns, with intervals for the true counts.

        Parameters
        ----------
        columns : str or sequence of str
            One to a few modelled columns.
        groups : int of at least 2, or "measured", default 20
            About how many groups an ordered column with more values is shown in; their ends are moved to the nearest
            ones at which the columns were counted, if there are enough of these. ``"measured"``: the groups of the
            first noisy answer that counted these columns together, and maybe others.
        confidence : number above 0 and below 1, default 0.95
            Of each interval.
        weighted : bool, default False
            Totals of the schema's survey weight, ``total`` instead of ``count``; intervals need one answer with both.

        Returns
        -------
        frame
            One line per cell: the columns' labels, ``count`` and ``share`` under the model, ``lower`` and ``upper``,
            between which the true count of the rows used lies with probability ``confidence`` or more over the noise,
            and ``basis``, the noisy counts that say so; null ends where no noisy answer covers the cell. Where an exact
            public table of the schema determines the count, both ends are what it says, of the people that it
            counted, and ``basis`` says so. In the frame kind of the input.

        Raises
        ------
        ParameterError
            If a setting is outside its range, no answer measured the columns together, or the schema names no weight.
        CapacityError
            If the table has too many cells.

        Notes
        -----
        Each interval is exact for one cell chosen beforehand, and free of the model: ``count`` may lie outside. It is
        of the earliest answer that covers the cell: later ones may depend on it. Rows beyond ``maxRows`` do not count.
        """
        one = self._with("query", columns)
        found = query_table(one, columns, groups=groups, confidence=confidence, weighted=weighted)
        return out.of_kind(as_frame(*found), one.kind)

    def certified_errors(self, confidence: float = 0.95) -> Any:  # noqa: ANN401
        """Return how far each statistic of a `LinearStatistics` release can be from the table's, whatever was assumed.

        Parameters
        ----------
        confidence : float, default 0.95
            From 0.5 to 0.9999: of all bounds together.

        Returns
        -------
        frame
            One line per cell of the workload's tables and per statistic: ``statistic``, its ``noisy`` and its
            ``released`` mean over the rows, and ``largest_error`` of the latter; null where a row function is not at
            hand. In the frame kind of the input.

        Raises
        ------
        ParameterError
            If another mechanism made the release, or the confidence is out of range.
        """
        from lapwing.release.shown import certified_table  # noqa: PLC0415

        self._one("certified_errors(...)", "these are bounds of the workload of one table")
        return out.of_kind(certified_table(self, confidence), self.kind)

    @overload
    def accuracy(self, columns: None = None, confidence: Number = 0.95) -> Accuracy: ...

    @overload
    def accuracy(
        self, columns: str | Sequence[str], confidence: Number = 0.95, *, groups: Groups | None = None
    ) -> TableAccuracy: ...

    @overload
    def accuracy(self, columns: None = None, confidence: Number = 0.95, *, where: Condition) -> CountAccuracy: ...

    def accuracy(
        self,
        columns: str | Sequence[str] | None = None,
        confidence: Number = 0.95,
        *,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Accuracy | TableAccuracy | CountAccuracy:
        """Return what may be said in public about the accuracy of the release, of one table of it, or of one count.

        Parameters
        ----------
        columns : str or sequence of str, optional
            For the accuracy of the table of these columns, whether it was measured or not.
        confidence : number above 0 and below 1, default 0.95
            Of each bound. The certificate's bounds keep their own.
        where : mapping of column to value, list of values or lw.between; or str or lw.stat, optional
            For the accuracy of the number of rows that meet this condition.
        groups : int of at least 2, or "measured", optional
            As for `query`; by default the groups in which just these columns were first counted, or 20.

        Returns
        -------
        Accuracy, TableAccuracy or CountAccuracy
            Without columns and condition: proved statements, bounds for every measured table, and how many rows the
            model's weights are worth. Each has ``to_dict``, and a ``text`` or a ``summary``.

        Raises
        ------
        ParameterError
            If a setting is outside its range, or both columns and a condition are given.

        Notes
        -----
        Costs no budget and simulates nothing: the same release gives the same figures each time. A table or count
        stands on the earliest answer that covers all of it, as the intervals of `query` do.
        """
        # Which columns a condition in words names, is read with the schema of its table.
        asked = columns if where is None else where if isinstance(where, Mapping) else None
        one = self._with("accuracy", asked)
        return chosen_accuracy(one, columns=columns, confidence=confidence, where=where, groups=groups)

    def replicates(
        self, m: int, rows: int | None = None, seed: int | None = None, *, progress: ProgressLike = None
    ) -> "Replicates":
        """Simulate the release again and again, to learn what estimates from it are off by.

        Parameters
        ----------
        m : int, 4 to 10,000
            How many releases are simulated: intervals of 95 % are 9 % wider for 20 than for very many, 4 % for 50.
        rows : int of at least 1, optional
            Rows drawn from each; by default the released number.
        seed : int, optional
            Of the public generator; a fresh one by default. The noise has no seed.
        progress : bool or callable, optional
            As for `lapwing.synthesize`.

        Returns
        -------
        Replicates
            Estimates of means, proportions, regression coefficients or anything else for the *population* that the
            table's rows were drawn from, with intervals for noise, sampling and simulation together.

        Raises
        ------
        ParameterError
            If a setting is outside its range, or the release was made with settings that a certificate does not hold.

        Notes
        -----
        A parametric bootstrap: each time as many rows as the model stands for are drawn from it, and released by the
        same mechanism with the same settings, budget and terms. Costs no budget. Each simulated row is a unit of its
        own. What the model cannot express is no part of the error. Takes about as long as m releases of the table.
        """
        from lapwing.release.replicates import make_replicates  # noqa: PLC0415

        self._one("replicates(...)", "simulated rows are of one table, and belong to no rows of another")
        return make_replicates(self, m, rows, seed, self.layout, progress=progress)

    def save(self, path: str | Path) -> None:
        """Write all of it to one ``.lapwing`` file of released numbers. A pickle works too, and runs code when read."""
        save_release(self.certificate, self.parts, Path(path_text("path", path)))

    def plot(self, columns: str | Sequence[str] | None = None) -> Any:  # noqa: ANN401 - of altair
        """Draw the rows that the released model expects, from released numbers only.

        Parameters
        ----------
        columns : str or sequence of one or two str, optional
            One column as bars, with lines between which the true numbers of rows lie with 95 % probability each; two as
            a heat map. By default the first six columns, each by itself.

        Returns
        -------
        chart of altair
            To show, change and save, with the look of the report. Notebooks show it as a drawing that fetches no
            script, unless you chose another renderer of altair; once changed, as altair does
            (``alt.renderers.enable("svg")``).

        Raises
        ------
        ParameterError
            If more than two columns are given.
        SchemaError
            If there is no such column.
        LapwingError
            If ``lapwing[evaluate]`` is not installed.
        """
        one = self._with("plot", columns)
        return extra("plots").released_plot(one.model, one.schema, one.certificate, one.noisy, columns)

    def to_html(self, path: str | Path) -> None:
        """Write a report that may be published: one HTML file that fetches nothing, the same bytes each time.

        Of several tables it says what holds for all of them, then for each.

        Parameters
        ----------
        path : path
            The file, whose name usually ends in ``.html``.

        Raises
        ------
        LapwingError
            If ``lapwing[evaluate]`` is not installed.
        DataError
            If the file cannot be written.
        """
        if self.linked is not None:
            write_output(path, extra("report of tables").linked_html(self.tables, self.certificate))
            return
        write_output(path, extra("report").release_html(self, self.accuracy()))

    def to_croissant(
        self,
        path: str | Path,
        *,
        rows: str | Path,
        certificate: str | Path | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a description of rows of this release in Croissant 1.1, with the statement of differential privacy.

        Parameters
        ----------
        path : path
            The file, in the folder of the rows or above it.
        rows : path
            A ``.csv`` or ``.parquet`` file of rows that were drawn from this release. It is named with its hash.
        certificate : path, optional
            The certificate that was written beside these rows. It is named with its hash too.
        about : mapping of str to JSON value, optional
            Terms of schema.org about the data set, such as ``license``, ``url``, ``creator``, ``version`` and
            ``name``; those that Croissant asks for and Lapwing cannot know are left out otherwise.

        Raises
        ------
        ParameterError
            If the certificate is of another release, a file outside the folder of ``path``, or a setting none.
        DataError
            If a file cannot be read or written.

        Notes
        -----
        Costs no budget. The statement is the certificate's without its cost lines; epsilon and delta are plain numbers,
        never below the exact ones.
        """
        self._one("to_croissant(...)", "it is about rows of one table; --croissant of the command is of all")
        extra("croissant").write_croissant(
            self.schema, self.certificate, path, rows=rows, certificate_file=certificate, about=about
        )
