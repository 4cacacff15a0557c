"""What is asked of a release, whoever opened it: its report, tables with error bars, rows under conditions."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.studio.asked import number_in
from lapwing.extras.studio.guard import REPORT_CONTENT
from lapwing.extras.studio.pages import page, texts
from lapwing.extras.studio.rooms.filters import TypedForm, filters, has_more, named_value, where_of
from lapwing.extras.studio.rooms.opened import Subject
from lapwing.present.document import cross_name
from lapwing.release.queries import as_frame, query_table
from lapwing.schema.scalars import check_row_count, check_whole_number

if TYPE_CHECKING:
    import polars as pl

Find = Callable[[Request], Subject]

_MOST_COLUMNS: Final = 3
_MOST_LINES: Final = 300
"""Of a table on a page; the file has all."""

_GROUPS: Final = 10
_MOST_GROUPS: Final = 1000
_PREVIEW: Final = 20
_MOST_DRAWN: Final = 1_000_000
"""Rows of one download; more are drawn by `lapwing sample`."""

_FEW_ATOMS: Final = 50
_LOWER: Final = 2
"""Place of the interval's lower end behind the columns that were asked for."""


def routes(at: str, find: Find) -> list[BaseRoute]:
    """Return the pages of a release; at: what their addresses begin with; find: returns the release of a request."""
    return [
        Route(f"{at}/report", partial(_report, find)),
        Route(f"{at}/ask", partial(_ask, find)),
        Route(f"{at}/ask", partial(_asked, find), methods=["POST"]),
        Route(f"{at}/ask/file", partial(_asked_file, find), methods=["POST"]),
        Route(f"{at}/rows", partial(_rows_asked, find)),
        Route(f"{at}/rows", partial(_previewed, find), methods=["POST"]),
        Route(f"{at}/rows/file", partial(_drawn, find), methods=["POST"]),
    ]


def typed_in(request: Request) -> TypedForm:
    """Return what a form holds, with fields that are there several times."""
    return TypedForm(tuple(request.state.form))


def file_response(body: bytes | Iterator[bytes], name: str, kind: str) -> Response:
    """Return a file to be saved; name: of ours, of plain letters."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    if isinstance(body, bytes):
        return Response(body, media_type=kind, headers=headers)
    return StreamingResponse(body, media_type=kind, headers=headers)


def shown_report(text: str) -> Response:
    """Return a report, which runs nothing and fetches nothing."""
    return HTMLResponse(text, headers={"content-security-policy": REPORT_CONTENT})


def _report(find: Find, request: Request) -> Response:
    """Show the report that may be published."""
    subject = find(request)
    if subject.report is None:
        return shown_report(subject.opened.report)
    return shown_report(subject.report.read_text(encoding="utf-8", errors="replace"))


# -- Ask a table.


@dataclass(frozen=True, slots=True)
class Line:
    """One cell of a table as it is shown; bar: where count and interval lie, 0 to 100; None where nothing is known."""

    labels: tuple[str, ...]
    count: str
    share: str
    interval: str
    basis: str
    at: float
    bar: tuple[float, float] | None


def _ask(find: Find, request: Request) -> Response:
    """Show what can be asked."""
    return _ask_page(request, find(request))


def _asked(find: Find, request: Request) -> Response:
    """Answer with a table, or with one number where no column was chosen."""
    subject, typed = find(request), typed_in(request)
    try:
        columns, where = _columns(subject, typed), where_of(subject.release.schema, typed)
        weighted = bool(typed.all("weighted"))
        if columns:
            table = _table(subject, typed, columns, where)
            lower = table.columns[len(columns) + _LOWER]
            answer: dict[str, Any] = {
                "heads": list(columns),
                "lines": lines_of(table.head(_MOST_LINES), len(columns)),
                "left": max(0, table.height - _MOST_LINES),
                "about": "" if where or weighted else _about_table(subject, columns),
                "is_weighted": weighted,
                "is_known": table[lower].null_count() < table.height,
                "is_guessed": bool(table[lower].null_count()),
            }
        elif where:
            answer = {"heads": [], "lines": [], "left": 0, "is_guessed": False, "about": _about_count(subject, where)}
        else:
            raise _nothing()
    except LapwingError as error:
        return _ask_page(request, subject, typed, said=str(error))
    return _ask_page(request, subject, typed, answer=answer)


def _asked_file(find: Find, request: Request) -> Response:
    """Return the same table as a file."""
    subject, typed = find(request), typed_in(request)
    try:
        columns = _columns(subject, typed)
        if not columns:
            raise _nothing()
        table = _table(subject, typed, columns, where_of(subject.release.schema, typed))
    except LapwingError as error:
        return _ask_page(request, subject, typed, said=str(error))
    return file_response(table.write_csv().encode(), "table.csv", "text/csv; charset=utf-8")


def _ask_page(
    request: Request,
    subject: Subject,
    typed: TypedForm | None = None,
    *,
    said: str = "",
    answer: dict[str, Any] | None = None,
) -> Response:
    schema = subject.release.schema
    return page(
        request,
        "asked_table.html",
        status=400 if said else 200,
        room="look",
        job=subject.job,
        said=said,
        subject=subject,
        columns=[field.name for field in schema.columns],
        asked=range(_MOST_COLUMNS),
        weight=schema.weight,
        groups=_GROUPS,
        most_groups=_MOST_GROUPS,
        counted=sorted(
            {cross_name(each.columns) for each in subject.opened.accuracy.marginals if len(each.columns) > 1}
        ),
        answer=answer,
        **_fields(subject, typed),
    )


def _nothing() -> ParameterError:
    return ParameterError("nothing is asked; choose a column, or conditions, or both", code="LW330")


def _fields(subject: Subject, typed: TypedForm | None) -> dict[str, Any]:
    """Return what the fields of conditions are made of."""
    schema = subject.release.schema
    return {"filters": filters(schema), "more": has_more(schema), "typed": typed or TypedForm()}


def _columns(subject: Subject, typed: TypedForm) -> list[str]:
    """Return the columns that were chosen."""
    names = [field.name for field in subject.release.schema.columns]
    found = [named_value(names, each) for each in typed.all("column", filled=True)]
    return list(dict.fromkeys(found))[:_MOST_COLUMNS]


def _table(subject: Subject, typed: TypedForm, columns: Sequence[str], where: dict[str, Any]) -> "pl.DataFrame":
    """Return the table that was asked for."""
    groups, weighted = number_in(typed.one("groups", str(_GROUPS))), bool(typed.all("weighted"))
    check_whole_number("groups", groups, 1, _MOST_GROUPS, code="LW302")
    return as_frame(*query_table(subject.release, columns, groups=groups, weighted=weighted, where=where or None))


def lines_of(table: "pl.DataFrame", columns: int) -> list[Line]:
    """Return a table of `Release.query` as it is shown."""
    found = list(table.iter_rows())
    most = max((max(row[columns], row[columns + _LOWER + 1] or 0) for row in found), default=0) or 1
    return [_line(row, columns, 100 / most) for row in found]


def _line(row: Sequence[Any], columns: int, scale: float) -> Line:
    count, share, lower, upper, basis = row[columns:]
    is_known = lower is not None
    return Line(
        labels=tuple(row[:columns]),
        count=f"{count:,.0f}",
        share=f"{100 * share:.1f} %",
        interval=f"{lower:,} to {upper:,}" if is_known else "",
        basis=basis,
        at=round(count * scale, 2),
        bar=(round(lower * scale, 2), round(max((upper - lower) * scale, 0.5), 2)) if is_known else None,
    )


def _about_table(subject: Subject, columns: Sequence[str]) -> str:
    """Say how accurate the table of some columns is."""
    told, found = texts()["look"], subject.release.accuracy(list(columns))
    if found.is_measured:
        text: str = told["counted" if len(columns) > 1 else "counted_one"].format(
            error=_rows(found.expected_error), largest=_rows(found.largest_error)
        )
        return text
    bound = told["guess_bound"].format(largest=_rows(found.largest_error)) if found.largest_error is not None else ""
    return f"{told['guess']} {bound}".strip()


def _about_count(subject: Subject, where: dict[str, Any]) -> str:
    """Say how many rows meet a condition."""
    told, found = texts()["look"], subject.release.accuracy(where=where)
    text: str = told["number"].format(count=_rows(found.count))
    if found.lower is None or found.upper is None:
        return f"{text} {told['number_unknown']}"
    ends = told["number_between"].format(lower=_rows(found.lower), upper=_rows(found.upper))
    return f"{text} {ends}" + ("" if found.is_measured else f" {told['number_guess']}")


def _rows(number: float | None) -> str:
    """Return a number of rows."""
    return "" if number is None else f"{number:,.0f}"


# -- Rows under conditions.


def _rows_page(
    request: Request,
    subject: Subject,
    typed: TypedForm | None = None,
    *,
    said: str = "",
    found: dict[str, Any] | None = None,
) -> Response:
    return page(
        request,
        "asked_rows.html",
        status=400 if said else 200,
        room="look",
        job=subject.job,
        said=said,
        subject=subject,
        most=_MOST_DRAWN,
        usual=min(subject.release.model.rows, _MOST_DRAWN),
        found=found,
        **_fields(subject, typed),
    )


def _rows_asked(find: Find, request: Request) -> Response:
    return _rows_page(request, find(request))


def _previewed(find: Find, request: Request) -> Response:
    """Show a few rows, and how well the model knows them."""
    subject, typed = find(request), typed_in(request)
    try:
        where = where_of(subject.release.schema, typed)
        support = subject.release.support(where)
        rows = subject.release.sample(_PREVIEW, seed=_seed(typed), where=where or None)
    except LapwingError as error:
        return _rows_page(request, subject, typed, said=str(error))
    told = texts()["look"]
    found = {
        "names": rows.columns,
        "rows": [["" if cell is None else str(cell) for cell in row] for row in rows.iter_rows()],
        "share": told["support"].format(
            share=f"{100 * support.share:.3g}", rows=_rows(support.share * subject.release.model.rows)
        ),
        "drawn": told["drawn"][support.drawn] if where else "",
        "is_thin": bool(where) and support.effective_atoms < _FEW_ATOMS,
    }
    return _rows_page(request, subject, typed, found=found)


def _drawn(find: Find, request: Request) -> Response:
    """Return rows as a file; nothing is stored."""
    subject, typed = find(request), typed_in(request)
    try:
        where = where_of(subject.release.schema, typed)
        count = check_row_count("the number of rows", number_in(typed.one("rows")), 1, _MOST_DRAWN)
        frames = subject.release.frames(count, seed=_seed(typed), where=where or None)
        if typed.one("format") == "parquet":
            return file_response(_parquet(frames), "synthetic-rows.parquet", "application/vnd.apache.parquet")
    except LapwingError as error:
        return _rows_page(request, subject, typed, said=str(error))
    return file_response(_csv(frames), "synthetic-rows.csv", "text/csv; charset=utf-8")


def _seed(typed: TypedForm) -> int | None:
    return number_in(typed.one("seed"))  # type: ignore[no-any-return]


def _csv(frames: "Iterator[pl.DataFrame]") -> Iterator[bytes]:
    for number, frame in enumerate(frames):
        yield frame.write_csv(include_header=not number).encode()


def _parquet(frames: "Iterator[pl.DataFrame]") -> bytes:
    import polars as pl  # noqa: PLC0415 - it takes a quarter of a second to import

    place = io.BytesIO()
    pl.concat(frames).write_parquet(place)
    return place.getvalue()
