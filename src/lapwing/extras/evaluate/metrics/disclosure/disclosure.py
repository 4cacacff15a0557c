"""What an attacker may learn from a synthetic table about the rows it was made from: sanity checks, never proof.

What is computed from private rows is private: no noise is added.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import (
    EXACT,
    ClosestDistances,
    closer_to_real,
    closest_rows,
    copies_beyond_chance,
    exact_copies,
    measure_distances,
    row_keys,
)
from lapwing.extras.evaluate.metrics.disclosure.singling_out import (
    joint_conditions,
    share_singled,
    single_conditions,
    single_out,
)
from lapwing.extras.evaluate.metrics.metric import Interval, Outcome, cells_of, excess, height, wilson
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Cells, Codes, Ints
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

TOLERANCE: Final = 100
"""A guess of an ordered column is right within its regular codes divided by this; exactly, where there are fewer."""


def guess_secret(
    targets: Codes,
    controls: Codes | None,
    synthetic_codes: Codes,
    schema: Schema,
    secret: str,
    *,
    rng: np.random.Generator,
) -> Outcome:
    """Return how often an attacker who knows all other columns can read one off the closest synthetic row.

    controls: holdout rows. Of several closest rows any is taken: shuffle them. A guess is right where the codes are
    equal; for regular codes of an ordered column with 100 or more, where they are at most a hundredth of their number
    apart. The baseline is the best guess that is the same for all targets and known from the synthetic column alone.

    M. Giomi et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023 (2), the
    inference attack. Changed: public bounds scale the columns, numbers are right within a share of their range instead
    of their value, and the baseline is the best constant guess instead of a random one.
    """
    columns = [column for column in schema.columns if column.name != secret]
    domain = schema.field(secret).domain
    parts = [targets] if controls is None else [targets, controls]
    rows = {column.name: np.concatenate([codes[column.name] for codes in parts]) for column in columns}
    [found] = closest_rows(rows, [synthetic_codes], columns, rng=rng)
    guessed = synthetic_codes[secret][found.positions]
    truth = np.concatenate([codes[secret] for codes in parts])
    is_right = is_close(guessed, truth, domain)
    size = len(targets[secret])
    constant = np.full(size, best_constant(synthetic_codes[secret], domain))
    return Outcome(
        attack=wilson(int(is_right[:size].sum()), size),
        baseline=wilson(int(is_close(constant, targets[secret], domain).sum()), size),
        control=None if controls is None else wilson(int(is_right[size:].sum()), len(truth) - size),
    )


def is_close(guessed: Cells, truth: Cells, domain: Domain) -> npt.NDArray[np.bool_]:
    """Return which guesses of one column's codes are right."""
    return np.asarray(np.abs(_apart(guessed, domain) - _apart(truth, domain)) <= _tolerance(domain))


def best_constant(codes: Cells, domain: Domain) -> int:
    """Return the code that is right for most rows of a column."""
    ordered = np.sort(codes)
    apart, reach = _apart(ordered, domain), _tolerance(domain)
    right = np.searchsorted(apart, apart + reach, side="right") - np.searchsorted(apart, apart - reach, side="left")
    return int(ordered[right.argmax()])


def _tolerance(domain: Domain) -> int:
    return domain.values // TOLERANCE if domain.ordered else 0


def _apart(codes: Cells, domain: Domain) -> Ints:
    """Return codes with the reserved ones moved so far apart that each is close to itself only."""
    wide = codes.astype(np.int64)
    return np.asarray(wide + np.maximum(wide - (domain.values - 1), 0) * _tolerance(domain))


SECRETS: Final = 4  # columns that are guessed where there are more; the generator chooses
TARGETS: Final = 1000
"""Synthetic rows whose closest rows are looked for; and half as many real rows, and holdout rows, for each guess."""

MOST_SEARCHED: Final = 2**17  # rows among which the closest are looked for; of more, so many are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """Hold how often an attack succeeded, beside what it is to be read against.

    rate: ``(successes + ties / 2) / attacks``; lower, upper: its Wilson interval at 95 %; for ``closer_to_real``, where
    synthetic rows with the same closest row count as one trial, of fewer trials than ``attacks``; baseline: what
    chance, or a guess without the synthetic rows' relations, gives, with its interval unless it is exact; control: the
    same attack on holdout rows, which the synthetic table was not made from; excess: ``(rate - control) / (1 -
    control)``: the share of what was left to learn that the attack learns about the rows of the release only; below 0
    by chance.
    """

    key: str
    title: str
    attacks: int
    successes: int
    ties: int = 0
    rate: float
    lower: float
    upper: float
    baseline: float | None = None
    baseline_interval: Interval | None = None
    control: float | None = None
    control_interval: Interval | None = None
    excess: float | None = None
    excess_interval: Interval | None = None
    meaning: str
    column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Hold the outcome of all attacks.

    rows: real rows against which synthetic rows were held: as many as holdout rows, or all; notes: sentences that must
    stand beside the figures, in public words.
    """

    risks: tuple[Risk, ...]
    rows: int
    has_holdout: bool
    notes: tuple[str, ...]
    distances: ClosestDistances


def compare_disclosure(
    real_codes: Codes,
    synthetic_codes: Codes,
    schema: Schema,
    *,
    copies: Outcome | None = None,
    holdout_codes: Codes | None = None,
    rng: np.random.Generator,
) -> Disclosure:
    """Return how well attacks on a synthetic table succeed: exact copies, closeness, guessing a column, singling out.

    copies: what `exact_copies` found of all rows, where the codes are samples; holdout_codes: people of the same
    population that the synthetic table was not made from; without them there is no control, and nothing is said of
    closeness. For 262,144 rows and 50 columns about 10 seconds, most of it singling out and closest rows.
    """
    for what, codes in (("real", real_codes), ("synthetic", synthetic_codes), ("holdout", holdout_codes)):
        for column in schema.columns if codes is not None else ():
            cells_of(codes or {}, column.name, f"the {what} table needs")
    names = [column.name for column in schema.columns]
    count = min(SECRETS, len(names)) if len(names) > 1 else 0  # a single column has no other to guess it from
    secrets = [names[place] for place in np.sort(rng.choice(len(names), count, replace=False)).tolist()]
    real, synthetic = (_some_rows(codes, height(codes), rng) for codes in (real_codes, synthetic_codes))
    holdout = None if holdout_codes is None else _some_rows(holdout_codes, height(real), rng)
    # Whether a row is found depends on among how many it is looked for: as many real rows as holdout rows.
    like = real if holdout is None else _some_rows(real, height(holdout), rng)
    tables = _Tables(schema, real, synthetic, like, holdout)
    found_copies = copies or exact_copies(*(row_keys(each, schema.columns) for each in (synthetic, real)))
    distances, closer = _distances(tables, rng)
    guesses = [_inference(name, tables, rng) for name in secrets]
    singled, missed = _singling_out(tables, rng)
    return Disclosure(
        risks=(*_copies(tables, found_copies), *closer, *guesses, *singled),
        rows=height(like),
        has_holdout=holdout is not None,
        notes=(*_notes(tables), *missed),
        distances=distances,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Tables:
    """The rows that take part, and the real ones that are as many as the holdout's."""

    schema: Schema
    real: Codes
    synthetic: Codes
    like: Codes
    holdout: Codes | None


def _copies(tables: _Tables, found: Outcome) -> list[Risk]:
    """Tell what was found of all rows; hold as many as the holdout has against each other as wholes."""
    columns = tables.schema.columns
    risks = [_risk("exact_copies", found)]
    if tables.holdout is None:
        return risks
    outcome = copies_beyond_chance(tables.synthetic, tables.like, tables.holdout, columns)
    return [*risks, _risk("copies", outcome)]


def _distances(tables: _Tables, rng: np.random.Generator) -> tuple[ClosestDistances, list[Risk]]:
    """Look for the closest real row and the closest holdout row of some synthetic rows."""
    reference = _some_rows(tables.like, MOST_SEARCHED, rng)
    control = None if tables.holdout is None else _some_rows(tables.holdout, MOST_SEARCHED, rng)
    rows = _some_rows(tables.synthetic, TARGETS, rng)
    found, real, holdout = measure_distances(rows, reference, tables.schema.columns, holdout_codes=control, rng=rng)
    if holdout is None:
        return found, []
    outcome, successes, ties = closer_to_real(real, holdout)
    risk = _risk("closer_to_real", outcome)
    return found, [replace(risk, attacks=height(rows), successes=successes, ties=ties, baseline=0.5)]


def _inference(secret: str, tables: _Tables, rng: np.random.Generator) -> Risk:
    """Guess one column of some real rows, and of as many holdout rows."""
    targets = _some_rows(tables.real, TARGETS // 2, rng)
    controls = None if tables.holdout is None else _some_rows(tables.holdout, TARGETS // 2, rng)
    reference = _some_rows(tables.synthetic, MOST_SEARCHED, rng)
    outcome = guess_secret(targets, controls, reference, tables.schema, secret, rng=rng)
    risk = _risk("inference", outcome, column=quote(secret))
    return replace(risk, column=secret)


def _singling_out(tables: _Tables, rng: np.random.Generator) -> tuple[list[Risk], list[str]]:
    """Try descriptions by one column and by several; say which kind there was none of."""
    kinds = [("one", single_conditions)]
    if len(tables.schema.columns) > 1:
        kinds.append(("several", joint_conditions))
    # As many synthetic rows as real ones, and strangers in the same proportion to those whom they are held against.
    rows = _some_rows(tables.synthetic, height(tables.like), rng)
    others, targets = _strangers(tables, rng)
    others = _some_rows(others, height(others) * height(rows) // height(tables.like), rng)
    risks, missed = [], []
    for kind, conditions in kinds:
        descriptions = conditions(rows, tables.schema, rng=rng)
        if not descriptions:
            missed.append(say(f"attack_note.nothing.{kind}"))
            continue
        theirs = conditions(others, tables.schema, rng=rng) if height(others) else ()
        strangers = share_singled(theirs, targets, tables.schema) if theirs else None
        outcome = single_out(descriptions, tables.like, tables.holdout, strangers, tables.schema)
        risks.append(_risk(f"singling_out_{kind}", outcome))
    return risks, missed


def _strangers(tables: _Tables, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return rows of other people, and the real rows that they are held against: halves where nobody was held out."""
    if tables.holdout is not None:
        return tables.holdout, tables.like
    order = rng.permutation(height(tables.real))
    first, second = ({name: cells[part] for name, cells in tables.real.items()} for part in np.array_split(order, 2))
    return second, first


def _risk(key: str, outcome: Outcome, **fields: str) -> Risk:
    attack, baseline, control = outcome.attack, outcome.baseline, outcome.control
    beyond = None if control is None else excess(attack, control)
    return Risk(
        key=key,
        title=say(f"attack.{key}.title", **fields),
        attacks=int(attack.trials),
        successes=int(attack.successes),
        rate=attack.rate,
        lower=attack.lower,
        upper=attack.upper,
        baseline=None if baseline is None else baseline.rate,
        baseline_interval=None if baseline is None else baseline.interval,
        control=None if control is None else control.rate,
        control_interval=None if control is None else control.interval,
        excess=None if beyond is None else beyond[0],
        excess_interval=None if beyond is None else beyond[1],
        meaning=say(f"attack.{key}.meaning", **fields),
    )


def _notes(tables: _Tables) -> list[str]:
    """Return what must stand beside the figures."""
    notes = [say("attack_note.no_proof"), say("attack_note.intervals")]
    notes.append(say("attack_note.no_holdout" if tables.holdout is None else "attack_note.what_to_read"))
    if len(tables.schema.columns) == 1:
        notes.append(say("attack_note.one_column"))
    rows = max(height(tables.real), height(tables.synthetic))
    if rows > MOST_SEARCHED or TARGETS * rows * len(tables.schema.columns) > EXACT:
        notes.append(say("attack_note.searched", rows=MOST_SEARCHED))
    return notes


def _some_rows(codes: Codes, most: int, rng: np.random.Generator) -> dict[str, Cells]:
    """Return so many random rows, or all, shuffled: which of equally close rows is found must not follow the order."""
    chosen = rng.permutation(height(codes))[:most]
    return {name: cells[chosen] for name, cells in codes.items()}
