"""A release that ends twice because cells fit nothing, and is mended twice."""

import contextlib
import json

import polars as pl

import lapwing as lw
from lapwing.errors import DataError, LapwingError
from lapwing.kernel.noise_law import calibrate_noise, row_sensitivity
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.mechanisms.adaptive.mechanism import Adaptive

ROWS = 3000
WHO = {"name": "who", "type": "integer", "role": "identifier"}
FIELDS = [
    {"name": "charges", "type": "integer", "constraints": {"minimum": 0, "maximum": 20000}},
    {"name": "pay", "type": "integer", "constraints": {"minimum": 0, "maximum": 20000}},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
]


def schema_of(max_rows, *mended):
    """Return a schema in which the numbers of some columns may have commas; without a unit for no rows of one."""
    fields = [each | {"groupChar": ","} if each["name"] in mended else each for each in FIELDS]
    unit = {"privacyUnit": {"field": "who", "maxRows": max_rows}} if max_rows else {}
    return {"fields": [*fields, *([WHO] if max_rows else [])], **unit}


def table_of(max_rows):
    numbers = [f"{value:,}" for value in range(1000, 1000 + ROWS)]
    people = {"who": [row // (2 * max_rows) for row in range(ROWS)]} if max_rows else {}
    return pl.DataFrame({"charges": numbers, "pay": numbers[::-1], "sex": ["f", "m"] * (ROWS // 2), **people})


def mended_flags(relation, max_rows, notion, transcript):
    """Return what is wrong with a release that ends, is mended and ends, is mended again, and is resumed."""
    table, budget = table_of(max_rows), {notion: 20}
    settings = {"neighbours": relation, "mechanism": Adaptive.small(), "transcript": transcript, "seed": 4}
    ended = []
    for work in (
        lambda: lw.synthesize(table, schema_of(max_rows), **budget, **settings),
        lambda: lw.resume(transcript, table, schema=schema_of(max_rows, "charges")),
    ):
        with contextlib.suppress(DataError):
            work()
            ended.append("the release did not end")
    try:
        release = lw.resume(transcript, table, schema=schema_of(max_rows, "charges", "pay"))
        resumed = lw.resume(transcript, table)
    except LapwingError as failure:
        return [*ended, str(failure)]
    held, header, answers = continue_transcript(transcript)
    held.close()
    every = (*header["earlier"], *answers)
    terms = relation, max(max_rows, 1)
    spent = sum(answer.question.cost.amount for answer in every)
    flags = [*ended, *(flag for answer in every for flag in terms_flags(answer, terms))]
    flags += ["too few answers"] * (not len(every) > len(header["earlier"]) > 1) + ["the budget"] * (spent > 20)
    for each in (release.certificate, resumed.certificate):
        if (each.relation, each.max_rows, each.total.amount) != (*terms, spent):
            flags.append(f"the certificate tells {each.relation}, {each.max_rows} rows and {each.total}")
    told = json.loads(transcript.read_text(encoding="utf-8").splitlines()[0])
    return flags + ["the header"] * (told["settings"]["relation"] != relation)


def terms_flags(answer, terms):
    """Return what is wrong with the noise of an answer for a relation and rows per unit."""
    if isinstance(answer, Selection):
        return ["a selection"] * (answer.sensitivity != row_sensitivity(*terms).l1)
    needed = [calibrate_noise(answer.question.sensitivity(*terms), part.cost) for part in answer.tables]
    return ["noise"] * (needed != [part.noise for part in answer.tables])
