"""The room of the account: what was ever spent on a data set, what may be, and whether the plan fits."""

import os
from pathlib import Path
from typing import Any, Final, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.studio.asked import budget_words, ledger_of, left_after, policies_of, refusal_of, settings_of
from lapwing.extras.studio.jobs import Job, releases
from lapwing.extras.studio.pages import form_of, go, job_of, labelled_facts, page, studio_of, texts
from lapwing.extras.studio.rooms.described import to_buy
from lapwing.extras.studio.rooms.table import files_of
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.chain import Entry
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.certificate import certificate_in
from lapwing.present.promises import protection_text
from lapwing.release.runs.account_terms import change_limit, open_account
from lapwing.release.runs.settings import Settings
from lapwing.release.runs.shares import USUAL_DELTA, selection_delta

_ROOM: Final = "budget"
_ENDING: Final = ".db"
_USUAL: Final = "budget.db"
_TYPED: Final = {
    "dataset": "",
    "kind": "pure",
    "limit": "",
    "delta": USUAL_DELTA,
    "selection_delta": "",
    "file": _USUAL,
}
_MOST_LETTERS: Final = 100


def shown(request: Request, *, said: str = "", status: int = 200, typed: dict[str, str] | None = None) -> Response:
    """Show the account that was chosen, and whether the plan fits; or what can be chosen."""
    job = job_of(request)
    folder = studio_of(request).folder
    account: dict[str, Any] | None = None
    policies: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    try:
        account = _account(job)
        policies = policies_of(job)
    except LapwingError as error:
        said = said or str(error)
    schema = job.schema
    return page(
        request,
        "budget.html",
        room=_ROOM,
        job=job,
        said=said,
        status=status,
        account=account,
        policies=policies,
        has_bought=schema is not None and bool(schema.purchases),
        plan=_plan(job, account),
        books=_books(folder),
        unit=None if schema is None else schema.unit_label,
        protects=_terms(job),
        typed=_usual(job) if typed is None else typed,
    )


def _usual(job: Job) -> dict[str, str]:
    """Return what a new account of this job would be: of the kind that its plan, and what it buys, is paid from."""
    delta = job.choices.delta
    kind = {"kind": "zcdp", "delta": delta} if delta else {}
    if job.schema is not None and any(field.type == "string" for field in to_buy(job.schema)):
        delta = delta or USUAL_DELTA
        kind = {"kind": "zcdp", "delta": delta, "selection_delta": selection_delta(delta)}
    return {**_TYPED, "dataset": job.name, **kind}


def picked(request: Request) -> Response:
    """Choose an account of a ledger of the working folder, or none."""
    job, found = job_of(request), form_of(request).get("account", "")
    if not found:
        job.chosen(ledger="", dataset="")
        return go(f"/job/{job.name}/release")
    if found not in [f"{file}/{name}" for file, names in _books(studio_of(request).folder) for name in names]:
        return shown(request, said=texts()["budget"]["no_account"], status=400)
    file, _, dataset = found.partition("/")
    job.chosen(ledger=file, dataset=dataset)
    return go(f"/job/{job.name}/budget")


def opened(request: Request) -> Response:
    """Open an account for good, in a ledger that is made where there is none."""
    job, form = job_of(request), form_of(request)
    typed = {name: form.get(name, "").strip() for name in _TYPED}
    is_pure = typed["kind"] == "pure"
    try:
        place = _ledger_file(studio_of(request).folder, typed["file"])
        if job.schema is None:
            raise ParameterError(texts()["budget"]["no_schema"], code="LW412")
        terms = _terms(job)
        if form.get("terms", terms) != terms:  # they hold for good
            raise ParameterError(texts()["budget"]["other_terms"], code="LW412")
        balance = open_account(
            place,
            typed["dataset"],
            unit="pure" if is_pure else "zcdp",
            limit=typed["limit"],
            delta=None if is_pure else typed["delta"] or None,
            selection_delta=None if is_pure else typed["selection_delta"] or None,
            relation=job.choices.neighbours,
            privacy_unit=job.schema.unit_label,
        )
    except LapwingError as error:
        return shown(request, said=str(error), status=400, typed=typed)
    job.chosen(ledger=place.name, dataset=balance.dataset)
    return go(f"/job/{job.name}/budget")


def _terms(job: Job) -> str:
    """Return what an account that is opened now would protect; empty where there is no schema yet."""
    schema = job.schema
    return "" if schema is None else protection_text(cast("Any", job.choices.neighbours), schema.unit_label)


def limited(request: Request) -> Response:
    """Change the limit of the account that was chosen."""
    job, form = job_of(request), form_of(request)
    place, name = ledger_of(job), f"{job.choices.ledger}/{job.choices.dataset}"
    if form.get("account", name) != name:
        return shown(request, said=texts()["budget"]["other_account"], status=409)
    try:
        if place is not None:
            change_limit(place, job.choices.dataset or None, form.get("limit", "").strip())
    except LapwingError as error:
        return shown(request, said=str(error), status=400)
    return go(f"/job/{job.name}/budget")


def _ledger_file(folder: Path, name: str) -> Path:
    """Return where a ledger is or is to be, in the working folder itself."""
    is_plain = name == os.path.basename(name) and name.isprintable() and not name.startswith(".")
    if not (is_plain and name.endswith(_ENDING) and name != _ENDING and len(name) <= _MOST_LETTERS):
        raise ParameterError(texts()["budget"]["bad_file"], code="LW412")
    if (folder / name).is_symlink():
        raise ParameterError(texts()["budget"]["bad_file"], code="LW412")
    return folder / name


def _books(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return the ledgers of the working folder, each with its data sets; other files of that ending are left out."""
    found = []
    for name in files_of(folder, _ENDING):
        try:
            found.append((name, Ledger.open(folder / name).datasets()))
        except LapwingError:
            continue
    return [each for each in found if each[1]]


def _account(job: Job) -> dict[str, Any] | None:
    """Return the state of the account that was chosen, and its history."""
    place = ledger_of(job)
    if place is None:
        return None
    book = Ledger.open(place)
    balance = book.balance(job.choices.dataset or None)
    own = _own_releases(job)
    said = {
        "limit": balance.describe(balance.limit),
        "spent": balance.describe(balance.spent),
        "left": balance.describe(balance.left),
        "selections": f"δ {float(balance.selection_left):.3g}" if balance.selection_delta > 0 else "",
        "protects": protection_text(cast("Any", balance.relation), balance.privacy_unit),
        "file": place.name,
    }
    return {
        "balance": balance,
        "facts": labelled_facts("budget", said),
        "percent": 100 if not balance.limit else round(float(100 * balance.spent / balance.limit)),
        "entries": [_line(each, balance, own) for each in book.history(balance.dataset)],
    }


def _line(entry: Entry, balance: Balance, own: dict[str, str]) -> dict[str, str]:
    """Return one entry of the history."""
    description = entry.details.get("description")
    mechanism = str(description.get("mechanism", "")) if isinstance(description, dict) else ""
    release = own.get(entry.release_id or "", (entry.release_id or "")[:8])
    return {
        "at": entry.at[:16].replace("T", " "),
        "what": texts()["budget"]["kinds"][entry.kind],
        "amount": balance.describe(entry.amount),
        "about": " ".join(filter(None, (release, mechanism))),
    }


def _own_releases(job: Job) -> dict[str, str]:
    """Return this job's releases, and who prepared them, by their ids in ledgers."""
    found = {}
    for place in releases(job):
        try:
            paid, _ = certificate_in(next(place.glob("*.certificate.json")))
        except LapwingError:
            continue
        if paid.ledger is not None:
            who = paid.issued.prepared_by if paid.issued is not None else ""
            found[paid.ledger.release_id] = f"{place.name}, {who}," if who else place.name
    return found


def _plan(job: Job, account: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the plan costs, what it would leave, and why it would be refused."""
    try:
        settings = settings_of(job, job.choices)
    except LapwingError as error:
        return {"asked": "", "refusal": str(error), "leaves": ""}
    refusal = refusal_of(settings, job)
    leaves = "" if account is None or refusal else _leaves(account["balance"], settings)
    return {"asked": budget_words(settings), "refusal": refusal, "leaves": leaves}


def _leaves(balance: Balance, settings: Settings) -> str:
    return balance.describe(left_after(balance, settings))


ROUTES: Final = (
    Route("/job/{job}/budget", shown),
    Route("/job/{job}/budget", picked, methods=["POST"]),
    Route("/job/{job}/budget/open", opened, methods=["POST"]),
    Route("/job/{job}/budget/limit", limited, methods=["POST"]),
)
