"""All that anyone does with a release, done once: nothing of it may raise or warn, whatever the answers were."""

import lapwing as lw

MOST_DRAWN = 5000
"""Rows of a default draw beyond which fewer are drawn: noise alone may make millions of them."""


def use(release, folder, *, shown=True):
    """Draw rows, ask for tables, accuracy and words, save and load; with ``shown`` write the report, too."""
    names = [column.name for column in release.schema.columns]
    rows = min(release.model.rows, MOST_DRAWN)
    assert release.sample(rows, seed=1).height == rows
    assert release.sample(1).columns == [field.name for field in release.schema.fields]
    for asked in (*([name] for name in names), *([names[:2]] if len(names) > 1 else [])):
        table = release.query(asked)
        assert table["count"].is_finite().all()
        assert (table["count"] >= 0).all()
    release.accuracy()
    release.accuracy(names[0])
    assert release.certificate.text
    assert repr(release)
    assert release.answers.height >= 0

    release.save(folder / "release.lapwing")
    again = lw.load(folder / "release.lapwing")
    assert again.certificate.to_dict() == release.certificate.to_dict()
    assert again.sample(3, seed=1).equals(release.sample(3, seed=1))
    if shown:
        release.to_html(folder / "release.html")
