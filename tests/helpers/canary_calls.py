"""Every public call and command that is given private rows, and the settings in whose place they may land by mistake.

Each takes the private table and an empty folder, and returns all that the call gives back.
"""

import functools
import tempfile
from pathlib import Path

import polars as pl

import lapwing as lw
from helpers.bad_input import save_schema
from helpers.command import lapwing
from helpers.planted_values import SCHEMA, schema_with, table
from helpers.transcripts import cut_after
from lapwing.errors import LapwingError
from lapwing.extras.evaluate.internal.schemas import check_declared, check_linked, check_table, check_units
from lapwing.extras.evaluate.internal.suggestions import suggest

FIELDS = SCHEMA["fields"]
UNITS = {**SCHEMA, "privacyUnit": {"field": "person", "maxRows": 2}, "rules": [{"never": {"sex": "f", "smokes": True}}]}
BLANK = schema_with("age", constraints={}, provenance="dp") | {"draft": True}
TEXTS = {"fields": [{"name": "sex", "type": "string", "provenance": "dp"}], "draft": True}
LINKED = {
    "key": "person",
    "maxChildren": 2,
    "parent": {"fields": FIELDS},
    "child": {"fields": [FIELDS[0], {"name": "paid", "type": "boolean"}]},
}
TURNED = {**LINKED, "parent": LINKED["child"], "child": LINKED["parent"]}
EVENTS = {**UNITS, "order": "age"}
SIMPLE = {"epsilon": 1, "mechanism": "Independent"}


def ordinary():
    """Return a table without planted values."""
    return table()[1:]


def others():
    """Return the other one of two linked tables."""
    return pl.DataFrame({"person": [f"p{row}" for row in range(20)], "paid": [True, False] * 10})


@functools.cache
def begun():
    """Return the first lines of a transcript, those of an interrupted release."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        lw.synthesize(ordinary(), SCHEMA, transcript=path, **SIMPLE)
        return cut_after(path, 1).encode()


def schemas(folder):
    """Write the schemas that commands read; return the one of the table."""
    save_schema(BLANK, folder / "blank.json")
    save_schema(LINKED, folder / "linked.json")
    save_schema(TURNED, folder / "turned.json")
    ordinary().write_csv(folder / "ordinary.csv")
    others().write_csv(folder / "others.csv")
    save_schema(UNITS, folder / "s.json")
    return folder / "s.json"


def account(folder):
    """Open an account of a new ledger."""
    path = folder / "budget.db"
    terms = ("--unit", "pure", "--limit", 100, "--neighbours", "add-remove", "--privacy-unit", "person:2")
    assert lapwing("ledger", "init", "people", *terms, "--ledger", path).status == 0
    return path


# ------------------------------------------------------------------------------------------------------ in Python


def a_whole_release(data, folder):
    ledger = {"ledger": account(folder), "dataset": "people", "transcript": folder / "t.jsonl"}
    release = lw.synthesize(data, UNITS, misfits=1, **SIMPLE, **ledger)
    release.save(folder / "m.lapwing")
    release.to_html(folder / "r.html")
    return release, str(release.sample(30)), release.answers, release.certificate.to_dict()


def fitted(data, folder):
    return str(lw.Synthesizer(SCHEMA, misfits=1, **SIMPLE).fit_sample(data))


def fitted_in_parts(data, folder):
    target = getattr(data, "get", lambda _: data)("sex")
    return str(lw.Synthesizer(SCHEMA, misfits=1, **SIMPLE).fit(data, target))


def told_of_progress(data, folder):
    steps = []
    lw.synthesize(data, SCHEMA, misfits=1, **SIMPLE, progress=steps.append)
    return steps, lw.synthesize(data, SCHEMA, misfits=1, **SIMPLE, progress=True)


def ended_by_progress(data, folder):
    def end(step):
        raise ValueError(str(data))

    return lw.synthesize(data, SCHEMA, misfits=1, **SIMPLE, progress=end)


def resumed(data, folder):
    (folder / "t.jsonl").write_bytes(begun())
    return lw.resume(folder / "t.jsonl", data)


def evaluated(real, synthetic, folder, **settings):
    found = lw.evaluate(real, synthetic, SCHEMA, **settings)
    return found, found.summary(details=True), found.to_dict()


def as_linked(real, synthetic):
    tables = [{"parent": others(), "child": child} for child in (real, synthetic)]
    found = lw.evaluate(*tables, TURNED)
    return found, found.summary(details=True), found.to_dict()


def by_a_function(data, folder):
    def told(record):
        return int(record["age"]) / (len(record["sex"]) - 1)

    settings = lw.LinearStatistics(statistics=[lw.row_function(told, bounds=(0, 1))], points=64)
    return lw.synthesize(data, SCHEMA, epsilon=1, mechanism=settings, misfits=1)


def linked(parent, child, schema, folder):
    release = lw.synthesize({"parent": parent, "child": child}, schema, epsilon=1, transcript=folder / "t.jsonl")
    release.save(folder / "m.lapwing")
    return release, str(release.sample(5))


PYTHON = {
    "synthesize with all that it writes": a_whole_release,
    "synthesize": lambda data, _: lw.synthesize(data, SCHEMA, rho=0.1, mechanism=lw.Adaptive.small(), misfits=1),
    "synthesize by a function of rows": by_a_function,
    "Synthesizer.fit": lambda data, _: vars(lw.Synthesizer(SCHEMA, misfits=1, **SIMPLE).fit(data))["release_"],
    "Synthesizer.fit_sample": fitted,
    "synthesize with progress": told_of_progress,
    "resume": resumed,
    "evaluate the real": lambda data, folder: evaluated(data, ordinary(), folder),
    "evaluate the synthetic": lambda data, folder: evaluated(ordinary(), data, folder),
    "evaluate linked tables": lambda data, _: as_linked(data, ordinary()),
    "evaluate linked synthetic tables": lambda data, _: as_linked(ordinary(), data),
    "evaluate events": lambda data, _: lw.evaluate(data, ordinary(), EVENTS).to_dict(),
    "evaluate with a test": lambda data, folder: evaluated(ordinary(), ordinary(), folder, test=data),
    "evaluate with a budget": lambda data, folder: evaluated(data, ordinary(), folder, epsilon=1),
    "anonymize": lambda data, _: lw.anonymize(data, SCHEMA, 3),
    "Schema.draft": lambda data, _: lw.Schema.draft(data),
    "Schema.from_frame_types": lambda data, _: lw.Schema.from_frame_types(data),
    "Schema.learn": lambda data, _: lw.Schema.learn(data, BLANK, epsilon=1, fields=["age"]),
    "synthesize of parents": lambda data, folder: linked(data, others(), LINKED, folder),
    "synthesize of children": lambda data, folder: linked(others(), data, TURNED, folder),
    "check_table": lambda data, _: check_table(data, lw.Schema.from_dict(SCHEMA)),
    "check_declared": lambda data, _: check_declared(data, lw.Schema.from_dict(SCHEMA)),
    "check_units": lambda data, _: check_units(data, lw.Schema.from_dict(UNITS)),
    "synthesize of linked tables": lambda data, _: lw.synthesize({"parent": others(), "child": data}, TURNED, **SIMPLE),
    "synthesize of events": lambda data, _: lw.synthesize(data, EVENTS, **SIMPLE),
    "check_linked": lambda data, _: check_linked({"parent": data, "child": others()}, lw.Schema.load(LINKED).linked),
    "suggest": lambda data, _: suggest(data, lw.Schema.draft(ordinary())),
}

# ------------------------------------------------------------------------------- in the place of something else

SETTINGS = ("epsilon", "delta", "mechanism", "neighbours", "expected_rows", "ledger", "dataset", "transcript", "seed")


def misplaced(name):
    """Return a call that is given the rows as a setting too."""
    return lambda data, _: lw.synthesize(data, SCHEMA, **{**SIMPLE, name: data})


MISPLACED = {
    **{f"synthesize, also as {name}": misplaced(name) for name in (*SETTINGS, "public_tables")},
    "synthesize, turned around": lambda data, _: lw.synthesize(SCHEMA, data, **SIMPLE),
    "synthesize, with too much": lambda data, _: lw.synthesize(ordinary(), SCHEMA, data),
    "synthesize, by another name": lambda data, _: lw.synthesize(ordinary(), SCHEMA, rows=data),
    "plan, as the schema": lambda data, _: lw.plan(data, expected_rows=100, epsilon=1),
    "plan, as the rows": lambda data, _: lw.plan(SCHEMA, expected_rows=data, epsilon=1),
    "evaluate, as the columns": lambda data, folder: evaluated(ordinary(), ordinary(), folder, by=data),
    "evaluate, as the target": lambda data, folder: evaluated(ordinary(), ordinary(), folder, target=data),
    "evaluate, as the model": lambda data, folder: evaluated(ordinary(), ordinary(), folder, model=data),
    "anonymize, as the group size": lambda data, _: lw.anonymize(ordinary(), SCHEMA, data),
    "Schema.learn, as the fields": lambda data, _: lw.Schema.learn(ordinary(), BLANK, epsilon=1, fields=data),
    "Schema.learn, as texts": lambda data, _: lw.Schema.learn(ordinary(), TEXTS, epsilon=1, dictionaries={"sex": data}),
    "Synthesizer, with y twice": fitted_in_parts,
    "synthesize, ended by progress": ended_by_progress,
    "Synthesizer, as its repr": lambda data, _: repr(lw.Synthesizer(data, seed=data, public_tables=data)),
    "Synthesizer, as a setting": lambda data, _: lw.Synthesizer(SCHEMA, epsilon=1, seed=data).fit(ordinary()),
    "LinearStatistics, as its mu": lambda data, _: lw.synthesize(
        data, SCHEMA, epsilon=1, mechanism=lw.LinearStatistics(mu=data, points=64)
    ),
}

# ----------------------------------------------------------------------------------------------- on the command line


def command(*words):
    """Return a call of a command; ``{}`` is the data, and other names in braces are files of the folder."""

    def call(data, folder):
        schema = schemas(folder)
        (folder / "t.jsonl").write_bytes(begun())
        said = lapwing(*(_filled(word, data, folder, schema) for word in words))
        if said.status:
            refusal = LapwingError(said.err.splitlines()[-1])
            refusal.add_note(said.out + said.err)  # notes are looked through as well
            raise refusal
        return said, said.out, said.err

    return call


def _filled(word, data, folder, schema):
    text = str(word).replace("{}", str(data)).replace("{s}", str(schema))
    return text.replace("{.}", f"{folder}/")


RELEASED = ("--schema", "{s}", "-o", "{.}out.csv", "--epsilon", 1)
BOTH = ("-o", "{.}a.csv", "-o", "{.}b.csv", "--epsilon", 1, "--transcript", "{.}l.jsonl", "--model", "{.}m.lapwing")
COMPARED = ("--schema", "{s}", "--json", "{.}f.json")
ORDINARY, OTHERS = "{.}ordinary.csv", "{.}others.csv"

COMMANDS = {
    "lapwing synthesize": command(
        *("synthesize", "{}", *RELEASED, "--model", "{.}m.lapwing", "--transcript", "{.}n.jsonl"),
        *("--croissant", "{.}c.json", "--mechanism", "Independent"),
    ),
    "lapwing resume": command("resume", "{.}t.jsonl", "{}", "-o", "{.}out.parquet"),
    "lapwing evaluate REAL": command("evaluate", "{}", ORDINARY, *COMPARED),
    "lapwing evaluate SYNTHETIC": command("evaluate", ORDINARY, "{}", *COMPARED),
    "lapwing evaluate --test": command("evaluate", ORDINARY, ORDINARY, *COMPARED, "--test", "{}"),
    "lapwing evaluate --epsilon": command("evaluate", "{}", ORDINARY, *COMPARED, "--epsilon", 1),
    "lapwing anonymize": command("anonymize", "{}", *RELEASED[:4], "--min-group-size", 3),
    "lapwing schema draft": command("schema", "draft", "{}", "-o", "{.}d.json"),
    "lapwing schema check": command("schema", "check", "{s}", "{}"),
    "lapwing schema check PARENT": command("schema", "check", "{.}linked.json", "{}", OTHERS),
    "lapwing schema check CHILD": command("schema", "check", "{.}turned.json", OTHERS, "{}"),
    "lapwing schema learn": command(
        *("schema", "learn", "{}", "--schema", "{.}blank.json", "-o", "{.}d.json", "--epsilon", 1)
    ),
    "lapwing synthesize PARENT": command("synthesize", "{}", OTHERS, "--schema", "{.}linked.json", *BOTH),
    "lapwing synthesize CHILD": command("synthesize", OTHERS, "{}", "--schema", "{.}turned.json", *BOTH),
}
MISTAKEN = {
    "lapwing synthesize --schema": command("synthesize", ORDINARY, "--schema", "{}", *RELEASED[2:]),
    "lapwing resume TRANSCRIPT": command("resume", "{}", ORDINARY, "-o", "{.}out.csv"),
    "lapwing sample MODEL": command("sample", "{}", "-o", "{.}out.csv", "--rows", 3),
    "lapwing report MODEL": command("report", "{}", "-o", "{.}r.html"),
    "lapwing schema convert": command("schema", "convert", "{}", "-o", "{.}d.json"),
    "lapwing ledger show": command("ledger", "show", "--ledger", "{}"),
}
MEANT = PYTHON | COMMANDS
"""What succeeds with a well-formed table."""
CALLS = MEANT | MISPLACED | MISTAKEN
TAKES_FILES = COMMANDS | MISTAKEN
SHOWS_NAMES = {"Schema.draft", "Schema.from_frame_types", "lapwing schema draft"}
