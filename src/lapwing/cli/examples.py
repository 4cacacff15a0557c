"""Examples for the end of each command's `--help`. A test runs them, in this order, in a folder with such files."""

_EXAMPLES = {
    "start": ("start patients.csv", "start --sql 'select * from patients' --db sqlite:///clinic.db"),
    "studio": ("studio", "studio patients.csv"),
    "demo": ("demo",),
    "mechanisms": ("mechanisms",),
    "explain": ("explain LW310", "explain --list"),
    "schema draft": ("schema draft patients.csv -o draft.json",),
    "schema check": ("schema check patients.schema.json", "schema check patients.schema.json patients.csv"),
    "schema convert": ("schema convert study.sav -o study.schema.json",),
    "schema learn": (
        "schema learn patients.csv --schema draft.json --epsilon 1 --delta 1e-9 -o patients.learned.json",
        "schema learn patients.csv --schema draft.json --fields age,weight --epsilon 1 -o numbers.json",
    ),
    "ledger init": (
        "ledger init patients --unit pure --limit 10 --neighbours add-remove --privacy-unit row",
        "ledger init visits --unit zcdp --limit 3 --delta 1e-6 --neighbours add-remove --privacy-unit id:5",
    ),
    "ledger show": ("ledger show", "ledger show patients --ledger budget.db"),
    "ledger history": ("ledger history patients",),
    "ledger limit": ("ledger limit patients 20",),
    "ledger verify": ("ledger verify",),
    "plan": (
        "plan --schema patients.schema.json --expected-rows 1000 --epsilon 1",
        "plan --schema patients.schema.json --expected-rows 1000 --epsilon 1 --mechanism pmm",
        "plan --schema homes.json --expected-rows parent=60 --expected-rows child=150 --epsilon 1",
    ),
    "synthesize": (
        "synthesize patients.csv --schema patients.schema.json --epsilon 1 --check",
        "synthesize patients.csv --schema patients.schema.json --epsilon 1 --ledger budget.db --dataset patients "
        "--transcript patients.jsonl --model patients.lapwing -o release.csv",
        "synthesize homes.csv people.csv --schema homes.json --epsilon 1 --model homes.lapwing --into homes.duckdb",
    ),
    "tables": ("tables patients.csv --schema patients.schema.json --tables named.json --epsilon 1 -o named",),
    "resume": ("resume patients.jsonl patients.csv -o release.csv",),
    "certificate show": ("certificate show release.csv.certificate.json",),
    "certificate compose": ("certificate compose release.csv.certificate.json",),
    "certificate sign": ("certificate sign release.csv.certificate.json --key id_ed25519",),
    "certificate verify": (
        "certificate verify release.csv.certificate.json release.csv",
        "certificate verify release.csv.certificate.json release.csv --key id_ed25519.pub",
    ),
    "sample": (
        "sample patients.lapwing --rows 1000 -o more.csv",
        "sample patients.lapwing --rows 1000 --where age=30..40 --where sex=f -o some.csv",
        "sample homes.lapwing --rows 100 --where parent.kind=flat --into flats",
    ),
    "query": ("query patients.lapwing --column sex", "query patients.lapwing --column sex,smokes --groups 5"),
    "answers": ("answers patients.lapwing -o tables",),
    "report": ("report patients.lapwing",),
    "evaluate": (
        "evaluate patients.csv release.csv --schema patients.schema.json",
        "evaluate patients.csv release.csv --schema patients.schema.json --model patients.lapwing -o evaluation.html",
    ),
    "anonymize": ("anonymize patients.csv --schema patients.schema.json --min-group-size 10 -o anonymous.csv",),
    "audit": ("audit independent --runs 300",),
}


def examples(command: str) -> str:
    """Return the last paragraph of a command's help; the first sign keeps its lines as they are."""
    lines = [f"  lapwing {each}" for each in _EXAMPLES[command]]
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *lines])
