"""Write docs/arena.md and its picture from bench/results/arena.csv: ``python bench/arena/page.py [--print]``."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean

sys.path.append(str(Path(__file__).resolve().parents[1]))

from arena.causes import AREAS, cause_of
from arena.cells import RESULTS, Line, read_lines
from arena.field import FORMS, OURS, RIVALS
from arena.picture import picture
from arena.privacy import CHECKED, verdict_of
from arena.recipes import NAMES as DRAWN
from arena.standings import ANY, MEASURES, Loss, Ratio, losses, place_of, ratio_of, ratio_to_best

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "arena.md"
PICTURE = HERE.parents[1] / "docs" / "img" / "arena.svg"
WORDS = HERE / "page_words.md"
SHOWN = ("tv2_narrow", "tv3_narrow", "auc_trees", "cpu_s")
"""Of each rival, as ratios to Lapwing."""
CELL = {"tv1_narrow": "1-way", "tv2_narrow": "2-way", "tv3_narrow": "3-way", "auc_trees": "AUC", "cpu_s": "CPU s"}
"""Of each cell."""
WIDEST = 2
"""Rivals that are better in a measure of which the gap is shown."""
NAMED = 6
"""Tables of a cause that are named."""
FIRST = 11
"""Systems in the first table."""
SENTENCES = 5
"""Of where Lapwing loses, before the details."""
FEWEST_DOTS = 2
"""Places that a dot of the picture needs."""
NAMES = {
    "lapwing": "Lapwing",
    "independent": "independent columns",
    "mbi-mst": "MST (private-pgm)",
    "mbi-aim2": "AIM (private-pgm)",
    "mbi-aim2-merged": "AIM, values merged",
    "dpsynth-aim": "AIM (dpsynth)",
    "dpsynth-aim-gdp": "AIM-GDP (dpsynth)",
    "dpsynth-swift": "SWIFT (dpsynth)",
    "dpsynth-swift-own": "SWIFT, its own limits",
    "dpsynth-swift-merged": "SWIFT, values merged",
    "dpsynth-mst": "MST (dpsynth)",
    "dpsynth-mst-merged": "MST (dpsynth), merged",
    "opendp-mst": "MST (OpenDP)",
    "dpmm-mst": "MST (dpmm)",
    "smartnoise-mst": "MST (SmartNoise)",
    "margnet": "MargNet",
    "tab-pe": "Tab-PE",
    "privsyn": "PrivSyn",
    "datasynthesizer": "PrivBayes (DataSynthesizer)",
    "datasynthesizer-k2": "PrivBayes, two parents",
    "dpmm-privbayes": "PrivBayes (dpmm)",
}
"""What systems are called in the first table and in the picture."""
LISTED = (("1", "1e-9"), ("1", "0"))
"""Budgets whose cells are listed; the file of results has all."""


def page(lines: list[Line]) -> str:
    """Return the page."""
    words, lost = WORDS.read_text(encoding="utf-8"), list(losses(lines))
    parts = {
        "FIRST": first_table(lines),
        "SENTENCES": in_sentences(lost),
        "LOSES": where_lapwing_loses(lost),
        "WHY": why_it_loses(lost),
        "BEST": to_the_best(lines),
        "RIVALS": rival_by_rival(lines),
        "PRIVACY": privacy(),
        "REASONS": reasons(lines),
        "CELLS": cells(lines),
        "MADE": made(lines),
    }
    for name, text in parts.items():
        words = words.replace(f"<!-- {name} -->", text)
    return words


def pictured(lines: list[Line]) -> str:
    """Return the picture."""
    panels = {}
    for epsilon in ("0.1", "1", "10"):
        those = [line for line in lines if line["epsilon"] == epsilon]
        found = {rival: [ratio_of(those, rival, key, ANY) for key in ("cpu_s", "tv2_narrow")] for rival in RIVALS}
        dots = {
            rival: (time.mean, error.mean)
            for rival, (time, error) in found.items()
            if rival != OURS and time and error and error.places >= FEWEST_DOTS
        }
        panels[f"ε = {epsilon}"] = {OURS: (1.0, 1.0), **dots}
    return picture(panels, NAMES)


def first_table(lines: list[Line]) -> str:
    """Return the systems that ran in most places, the best first: how many times Lapwing's their figures are."""
    found = {rival: [ratio_of(lines, rival, measure, ANY) for measure in SHOWN] for rival in RIVALS if rival != OURS}
    run = {rival: ratios for rival, ratios in found.items() if all(ratios)}
    most = sorted(run, key=lambda rival: -run[rival][0].places)[:FIRST]
    rows = [
        [NAMES.get(rival, rival), *(f"{each.mean:.2f}" for each in run[rival]), ahead(run[rival][0]), verdict_of(rival)]
        for rival in sorted(most, key=lambda rival: run[rival][0].mean)
    ]
    ours = ["**Lapwing**", *["**1**"] * len(SHOWN), "", verdict_of(OURS)]
    head = ["system", "pairs", "triples", "1 - AUC", "CPU time", "pairs: Lapwing ahead", "promise"]
    return as_table(head, [ours, *rows])


def ahead(found: Ratio) -> str:
    """Return in how many places Lapwing is not behind."""
    return f"{found.ahead} of {found.places}"


def in_sentences(found: list[Loss]) -> str:
    """Return the areas in which most is lost, each with its reason and in how many places."""
    places: dict[str, set[tuple[str, ...]]] = {}
    for loss in found:
        cause = cause_of(loss.measure, loss.place[0])
        area = next((area for area, causes in AREAS.items() if cause in causes), "")
        places.setdefault(area, set()).add((loss.measure, *loss.place))
    most = sorted((area for area in places if area), key=lambda area: -len(places[area]))[:SENTENCES]
    return "\n".join(f"- {area} ({len(places[area])} of {sum(map(len, places.values()))} losses)." for area in most)


def where_lapwing_loses(found: list[Loss]) -> str:
    """Return a line for each measure: who is better, in how many places, where most, and why."""
    told = []
    for measure in dict.fromkeys(loss.measure for loss in found):
        by_rival: dict[str, list[Loss]] = {}
        for loss in found:
            if loss.measure == measure:
                by_rival.setdefault(loss.rival, []).append(loss)
        widest = sorted(by_rival.items(), key=lambda each: -max(map(gap, each[1])))
        who = [lost_to(rival, those) for rival, those in widest[:WIDEST]]
        who += [f"`{rival}` in {len(those)}" for rival, those in widest[WIDEST:]]
        told.append(f"- **{MEASURES[measure]}**: {', '.join(who)}.")
    return "\n".join(told) or "Nowhere in these cells."


def why_it_loses(found: list[Loss]) -> str:
    """Return a line for each cause: what it is of, in how many places, and the cause."""
    places: dict[str, set[tuple[str, str]]] = {}
    for loss in found:
        table = ", ".join(loss.place)
        places.setdefault(cause_of(loss.measure, loss.place[0]), set()).add((loss.measure, table))
    told = []
    for cause, those in sorted(places.items(), key=lambda each: -len(each[1])):
        measures = ", ".join(dict.fromkeys(MEASURES[name] for name in MEASURES for other, _ in those if other == name))
        tables = sorted({table.split(",")[0] for _, table in those})
        where = f" of {', '.join(tables)}" if len(tables) <= NAMED else f" of {len(tables)} tables"
        told.append(f"- {measures}{where} ({len(those)}): {cause}.")
    return "\n".join(told)


def lost_to(rival: str, those: list[Loss]) -> str:
    """Return in words where one rival is better in one measure."""
    worst = max(those, key=gap)
    table, form, epsilon, delta = worst.place
    more = f", the widest of {len(those)}" if len(those) > 1 else ""
    return f"`{rival}` {figure(worst.theirs)} for {figure(worst.ours)} ({table}, {form}, {epsilon}, {delta}{more})"


def gap(loss: Loss) -> float:
    """Return how many times the rival's figure ours is."""
    return loss.ours / max(loss.theirs, 1e-9)


def to_the_best(lines: list[Line]) -> str:
    """Return the ratios of Lapwing to the best rival of each place, a column for each form, drawn tables apart."""
    real, drawn = ([line for line in lines if (line["table"] in DRAWN) == is_drawn] for is_drawn in (False, True))
    columns = [(f"real, {form}", real, form) for form in (*FORMS, ANY)] + [("drawn, codes", drawn, "codes")]
    rows = [
        [name, *(ratio_in_words(ratio_to_best(those, measure, form)) for _, those, form in columns)]
        for measure, name in MEASURES.items()
    ]
    return as_table(["measure", *(head for head, _, _ in columns)], rows)


def rival_by_rival(lines: list[Line]) -> str:
    """Return the ratios of each rival to Lapwing, each in its best form."""
    rows = []
    for rival in RIVALS:
        ratios = [ratio_of(lines, rival, measure, ANY) for measure in SHOWN]
        if rival == OURS or any(ratios):
            told = ["1"] * len(SHOWN) if rival == OURS else list(map(ratio_in_words, ratios))
            rows.append([f"`{rival}`", *told, guessed(lines, rival), unfinished(lines, rival), verdict_of(rival)])
    return as_table(["rival", *(MEASURES[measure] for measure in SHOWN), "guessed", "without rows", "privacy"], rows)


def guessed(lines: list[Line], rival: str) -> str:
    """Return in how many cells the audit guesses who was in with more luck than chance allows once in twenty."""
    found = [line for line in lines if line["rival"] == rival and line.get("audit_advantage")]
    above = sum(float(line["audit_advantage"]) > float(line["audit_chance"]) for line in found)
    return f"{above}/{len(found)}"


def unfinished(lines: list[Line], rival: str) -> str:
    """Return how many cells that were started have no rows."""
    started = [line for line in lines if line["rival"] == rival and line["status"] != "not ready"]
    return f"{sum(not done(line) for line in started)}/{len(started)}"


def privacy() -> str:
    """Return what was checked."""
    rows = [[", ".join(f"`{rival}`" for rival in rivals), *told] for rivals, told in CHECKED.items()]
    return as_table(["rivals", "promise", "why"], rows)


def reasons(lines: list[Line]) -> str:
    """Return the reasons of cells without figures, with how many there are."""
    counted = Counter((line["reason"], line["rival"]) for line in lines if line["status"] != "done")
    told: dict[str, list[str]] = {}
    for (reason, rival), times in counted.items():
        told.setdefault(reason, []).append(f"`{rival}` {times}")
    fixed = {name: rival.why_not for name, rival in RIVALS.items() if rival.why_not}
    found = [f"- {reason}: {', '.join(who)}." for reason, who in told.items()]
    return "\n".join(found + [f"- `{name}`: {reason}." for name, reason in fixed.items()])


def cells(lines: list[Line]) -> str:
    """Return a listing of places: of each rival its means and how many runs, or the reason why there are none."""
    told = []
    for place in sorted({place_of(line) for line in lines if (line["epsilon"], line["delta"]) in LISTED}):
        table, form, epsilon, delta = place
        told.append(f"{table}, {form}, epsilon {epsilon}, delta {delta}")
        by_rival: dict[str, list[Line]] = {}
        for line in (line for line in lines if place_of(line) == place):
            by_rival.setdefault(line["rival"], []).append(line)
        told += [f"  {rival:18} {means(runs)}" for rival, runs in sorted(by_rival.items(), key=by_error)]
    return "\n".join(["```text", *told, "```"])


def means(runs: list[Line]) -> str:
    """Return a rival's means in one place, or the first reason."""
    found = [line for line in runs if done(line)]
    if not found:
        return runs[0]["reason"]
    shown = {name: [float(line[key]) for line in found if line.get(key)] for key, name in CELL.items()}
    return f"{len(found)}  " + "  ".join(f"{name} {fmean(each):.4g}" for name, each in shown.items() if each)


def by_error(runs: tuple[str, list[Line]]) -> tuple[float, str]:
    """Return what rivals are sorted by: best pairs first, then those without figures."""
    return min(float(line.get("tv2_narrow") or 9) for line in runs[1]), runs[0]


def done(line: Line) -> bool:
    """Say whether a cell has figures."""
    return line["status"] == "done"


def made(lines: list[Line]) -> str:
    """Return how much was run, where, and from what."""
    found = [line for line in lines if done(line)]
    versions = dict.fromkeys(word for line in found for word in pairs_of(line["versions"]))
    checkouts = dict.fromkeys(f"{line['rival']} at {line['checkout']}" for line in found if line["checkout"])
    runs = max((int(line["run"]) for line in lines), default=-1) + 1
    limits = sorted({f"{float(line['limit_s']):g}" for line in lines}, key=float)
    return (
        f"{len(lines)} cells, {len(found)} with figures, of {len({line['table'] for line in lines})} tables, at most "
        f"{runs} run{'s' * (runs != 1)}; limit {' or '.join(limits)} CPU seconds. Machine: "
        f"{', '.join(of(lines, 'machine'))}. Commits: {', '.join(of(lines, 'commit'))}. "
        f"Versions: {', '.join([*versions, *checkouts])}."
    )


def pairs_of(versions: str) -> list[str]:
    """Return "name version" for each package of a line."""
    words = versions.split()
    return [f"{name} {version}" for name, version in zip(words[::2], words[1::2], strict=True)]


def of(lines: list[Line], key: str) -> list[str]:
    """Return the different values of a column of results."""
    return list(dict.fromkeys(line[key] for line in lines))


def ratio_in_words(found: Ratio | None) -> str:
    """Return a ratio with its interval, and in how many places Lapwing is not behind."""
    if found is None:
        return ""
    interval = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.mean:.2f}{interval}; {found.ahead}/{found.places}"


def figure(value: float) -> str:
    """Return a figure to three digits."""
    return f"{value:.3g}"


def as_table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def main() -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="both to the screen instead")
    text = page(read_lines(RESULTS))
    if parser.parse_args().print:
        sys.stdout.buffer.write((text + pictured(read_lines(RESULTS))).encode())
    else:
        PAGE.write_text(text, encoding="utf-8")
        PICTURE.write_text(pictured(read_lines(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
