"""A source that counts wrongly, for planted bugs."""

import numpy as np

from lapwing.rows.counting import count_keys


class Changed:
    """A source that counts wrongly; its chunks and its counts agree, as they would in a real bug."""

    def __init__(self, source, change):
        self.source, self.change = source, change
        self.columns, self.rows, self.units = source.columns, source.rows, source.units
        self.unmet = source.unmet

    def chunks(self, *, apart=False):
        return iter([self.change({name: np.concatenate(parts) for name, parts in self._whole(apart).items()})])

    def _whole(self, apart):
        chunks = list(self.source.chunks(apart=apart))
        return {name: [np.empty(0, dtype=np.int64), *(chunk[name] for chunk in chunks)] for name in self.columns}

    def count_keys(self, columns):
        return count_keys(self.chunks(apart=True), columns)

    def count(self, tables):
        codes = next(self.chunks(apart=True))
        rows = len(next(iter(codes.values())))
        counts = []
        for table in tables:
            cell = np.zeros(rows, dtype=np.int64)
            for name, grouping in table:
                cell = cell * grouping.groups + grouping.apply(codes[name])
            counts.append(np.bincount(cell, minlength=int(np.prod([g.groups for _, g in table], dtype=int))))
        return counts
