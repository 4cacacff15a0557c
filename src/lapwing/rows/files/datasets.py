"""Read PyArrow datasets: files of any number and format that PyArrow reads, streamed in the order of the dataset."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from lapwing.rows.codec.cells import RawColumn
from lapwing.rows.engines.frames import ArrowReader, is_nested_arrow
from lapwing.rows.files.files import FileStamps
from lapwing.rows.guard import guarded

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds


_WHAT: Final = "the PyArrow dataset cannot be read"
# PyArrow's own defaults, 16 batches of 4 files, are 64 times as much memory.
_BATCHES_AHEAD: Final = 2
_FILES_AHEAD: Final = 1


class DatasetReader:
    """Read a PyArrow dataset, batch by batch; every pass reads its files anew."""

    def __init__(self, dataset: "ds.Dataset") -> None:
        self._dataset = dataset
        self._stamps = FileStamps(_local_files(dataset))
        self.kind: Literal["pyarrow"] = "pyarrow"
        self.known_rows: int | None = None
        self.names: list[str] = list(dataset.schema.names)

    @property
    def nested(self) -> set[str]:
        """The names of columns that hold several values per cell."""
        return {field.name for field in self._dataset.schema if is_nested_arrow(field.type)}

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[dict[str, RawColumn]]:
        """Yield the columns' cells, at most `rows` rows at a time."""
        import pyarrow as pa  # noqa: PLC0415 - the user's own

        self._stamps.check()
        batches = guarded(_WHAT, lambda: self._batches(columns, rows))
        while (batch := guarded(_WHAT, lambda: next(batches, None))) is not None:
            yield from ArrowReader(pa.Table.from_batches([batch])).chunks(columns, rows)
        self._stamps.check()

    def _batches(self, columns: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
        import pyarrow.dataset as ds  # noqa: PLC0415 - the user's own

        wanted = {name: ds.field(name) for name in columns}
        batches: Iterator[pa.RecordBatch] = self._dataset.to_batches(
            wanted, batch_size=rows, batch_readahead=_BATCHES_AHEAD, fragment_readahead=_FILES_AHEAD
        )
        return batches


def _local_files(dataset: Any) -> list[str]:  # noqa: ANN401 - a dataset of any kind
    """Return the files of a dataset that lie on this machine."""
    if hasattr(dataset, "children"):
        return [path for child in dataset.children for path in _local_files(child)]
    system = getattr(dataset, "filesystem", None)
    return list(dataset.files) if getattr(system, "type_name", None) == "local" else []
