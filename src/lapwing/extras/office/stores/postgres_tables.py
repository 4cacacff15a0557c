"""The ledger's tables in Postgres, with the rules that hold whatever program writes to them.

All is written as Postgres lists it, so that it can be compared. Triggers are enabled ALWAYS: no setting of a session
turns them off.
"""

from typing import Final

SCHEMA: Final = "lapwing_ledger"

_UNITS: Final = "bigint NOT NULL"
_NAMED: Final = 'text COLLATE "C" NOT NULL'
_KINDS: Final = "ARRAY['init'::text, 'debit'::text, 'limit'::text]"
_NEIGHBOURS: Final = "ARRAY['add-remove'::text, 'replace-one'::text]"

COLUMNS: Final = {
    "accounts": (
        f"dataset {_NAMED}",
        "unit text NOT NULL",
        "delta text",
        "relation text NOT NULL",
        "privacy_unit text NOT NULL",
        f"limit_units {_UNITS}",
        f"spent_units {_UNITS} DEFAULT 0",
    ),
    "answers": (
        f"dataset {_NAMED}",
        "release_id text NOT NULL",
        f"number {_UNITS}",
        "digest text NOT NULL",
        f"rowid {_UNITS}",
    ),
    "entries": (
        f"number {_UNITS}",
        "at text NOT NULL",
        "kind text NOT NULL",
        f"dataset {_NAMED}",
        "release_id text",
        f"units {_UNITS}",
        "details text NOT NULL",
        "hash text NOT NULL",
    ),
    "selections": (
        f"dataset {_NAMED}",
        f"limit_units {_UNITS}",
        f"spent_units {_UNITS} DEFAULT 0",
    ),
}
CONSTRAINTS: Final = {
    "accounts": (
        "CONSTRAINT accounts_one PRIMARY KEY (dataset)",
        "CONSTRAINT accounts_unit CHECK ((unit = ANY (ARRAY['pure'::text, 'zcdp'::text])))",
        f"CONSTRAINT accounts_relation CHECK ((relation = ANY ({_NEIGHBOURS})))",
        "CONSTRAINT accounts_within CHECK (((spent_units >= 0) AND (spent_units <= limit_units)))",
    ),
    "answers": (
        "CONSTRAINT answers_one PRIMARY KEY (rowid)",
        "CONSTRAINT answers_once UNIQUE (dataset, release_id, number)",
    ),
    "entries": (
        "CONSTRAINT entries_one PRIMARY KEY (number)",
        "CONSTRAINT entries_once UNIQUE (dataset, release_id)",
        f"CONSTRAINT entries_kind CHECK ((kind = ANY ({_KINDS})))",
        "CONSTRAINT entries_release CHECK (((release_id IS NOT NULL) = (kind = 'debit'::text)))",
        "CONSTRAINT entries_units CHECK ((units >= 0))",
    ),
    "selections": (
        "CONSTRAINT selections_one PRIMARY KEY (dataset)",
        "CONSTRAINT selections_within CHECK (((limit_units > 0) AND (spent_units >= 0) "
        "AND (spent_units <= limit_units)))",
    ),
}
BODIES: Final = {
    "accounts_move": """
BEGIN
    IF pg_trigger_depth() < 2 OR NEW.spent_units < OLD.spent_units
        OR (NEW.dataset, NEW.unit, NEW.delta, NEW.relation, NEW.privacy_unit)
        IS DISTINCT FROM (OLD.dataset, OLD.unit, OLD.delta, OLD.relation, OLD.privacy_unit) THEN
        RAISE EXCEPTION 'an account moves with an entry, and its terms and what it spent stay';
    END IF;
    RETURN NEW;
END
""",
    "answers_append": """
BEGIN
    IF NOT EXISTS (SELECT 1 FROM entries WHERE dataset = NEW.dataset AND release_id = NEW.release_id) THEN
        RAISE EXCEPTION 'an answer is of a release that was paid';
    END IF;
    NEW.rowid := (SELECT coalesce(max(rowid), 0) + 1 FROM answers);
    RETURN NEW;
END
""",
    "entries_append": """
BEGIN
    IF NEW.number IS DISTINCT FROM (SELECT coalesce(max(number), 0) + 1 FROM entries)
        OR NOT EXISTS (SELECT 1 FROM accounts WHERE dataset = NEW.dataset) THEN
        RAISE EXCEPTION 'entries are appended, to accounts that were opened';
    END IF;
    RETURN NEW;
END
""",
    "entries_move": """
DECLARE
    selected bigint := NEW.details::json ->> 'selection_units';
BEGIN
    IF NEW.kind = 'limit' THEN
        UPDATE accounts SET limit_units = NEW.units WHERE dataset = NEW.dataset;
    ELSIF NEW.kind = 'debit' THEN
        UPDATE accounts SET spent_units = spent_units + NEW.units WHERE dataset = NEW.dataset;
        UPDATE selections SET spent_units = spent_units + selected
        WHERE dataset = NEW.dataset AND selected IS NOT NULL;
        IF selected IS NOT NULL AND NOT FOUND THEN
            RAISE EXCEPTION 'this account allows no selections';
        END IF;
    END IF;
    RETURN NULL;
END
""",
    "refused": """
BEGIN
    RAISE EXCEPTION 'what a ledger has noted is never changed, and never taken away';
END
""",
    "selections_begin": """
BEGIN
    IF NEW.spent_units <> 0 THEN
        RAISE EXCEPTION 'selections are allowed once, when an account is opened';
    END IF;
    RETURN NEW;
END
""",
    "selections_move": """
BEGIN
    IF pg_trigger_depth() < 2 OR NEW.spent_units < OLD.spent_units
        OR (NEW.dataset, NEW.limit_units) IS DISTINCT FROM (OLD.dataset, OLD.limit_units) THEN
        RAISE EXCEPTION 'what selections may spend is never changed, and never refunded';
    END IF;
    RETURN NEW;
END
""",
}
"""Of the triggers' functions, all in PL/pgSQL."""

_STAYS: Final = "BEFORE DELETE OR TRUNCATE ON {} FOR EACH STATEMENT EXECUTE FUNCTION refused()"
_FIXED: Final = "BEFORE DELETE OR UPDATE OR TRUNCATE ON {} FOR EACH STATEMENT EXECUTE FUNCTION refused()"
TRIGGERS: Final = {
    "accounts_move": "BEFORE UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION accounts_move()",
    "accounts_stay": _STAYS,
    "answers_append": "BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION answers_append()",
    "answers_stay": _FIXED,
    "entries_append": "BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION entries_append()",
    "entries_move": "AFTER INSERT ON {} FOR EACH ROW EXECUTE FUNCTION entries_move()",
    "entries_stay": _FIXED,
    "selections_begin": "BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION selections_begin()",
    "selections_move": "BEFORE UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION selections_move()",
    "selections_stay": _STAYS,
}

_SETTING: Final = f"{SCHEMA}, pg_temp"

LISTED: Final = f"""\
WITH tables AS (
    SELECT oid, relname, relkind, relpersistence, relrowsecurity, relhasrules, relhassubclass
    FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind NOT IN ('i', 't')
)
SELECT relname, concat_ws(' ', relkind, relpersistence, relrowsecurity, relhasrules, relhassubclass) FROM tables
UNION ALL
SELECT relname, concat_ws(' ', attnum, attname, format_type(atttypid, atttypmod),
    CASE attcollation WHEN 'pg_catalog."C"'::regcollation THEN 'COLLATE "C"' END,
    CASE WHEN attnotnull THEN 'NOT NULL' END,
    'DEFAULT ' || pg_get_expr(adbin, adrelid))
FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef ON adrelid = tables.oid AND adnum = attnum
UNION ALL
SELECT relname, concat_ws(' ', 'CONSTRAINT', conname, pg_get_constraintdef(pg_constraint.oid),
    CASE WHEN NOT convalidated THEN 'NOT VALID' END)
FROM tables JOIN pg_constraint ON conrelid = tables.oid AND contype <> 'n'
UNION ALL
SELECT relname, concat_ws(' ', tgenabled, pg_get_triggerdef(pg_trigger.oid, true))
FROM tables JOIN pg_trigger ON tgrelid = tables.oid AND NOT tgisinternal
UNION ALL
SELECT relname, pg_get_indexdef(indexrelid)
FROM tables JOIN pg_index ON indrelid = tables.oid
WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
UNION ALL
SELECT proname, concat_ws(' ', lanname, prosecdef, array_to_string(proconfig, ';'), prosrc)
FROM pg_proc JOIN pg_language ON pg_language.oid = prolang WHERE pronamespace = '{SCHEMA}'::regnamespace
"""  # noqa: S608 - constants
"""What Postgres lists of all tables, columns, rules and functions; tables of an owner's own beside ours show too."""

_OURS: Final = ", ".join(f"'{SCHEMA}.{table}'::regclass" for table in COLUMNS)
_FUNCTIONS: Final = ", ".join(f"'{name}'" for name in BODIES)
_WHERE: Final = {
    "pg_class": f"oid IN ({_OURS})",
    "pg_attribute": f"attrelid IN ({_OURS})",
    "pg_constraint": f"conrelid IN ({_OURS})",
    "pg_index": f"indrelid IN ({_OURS})",
    "pg_trigger": f"tgrelid IN ({_OURS})",
    "pg_proc": f"proname IN ({_FUNCTIONS})",
}
_ROWS: Final = " UNION ALL ".join(
    f"SELECT xmin::text || ctid::text || tableoid::text AS written FROM {catalog} WHERE {condition}"  # noqa: S608
    for catalog, condition in _WHERE.items()
)
STAMP: Final = f"SELECT string_agg(written, ' ' ORDER BY written) FROM ({_ROWS}) AS rows"  # noqa: S608 - constants
"""Which transactions wrote what Postgres keeps of our tables and rules: the same while nothing of them is changed."""


def _on(name: str) -> tuple[str, str]:
    """Return the table of a trigger, and what it does."""
    table = name.partition("_")[0]
    return table, TRIGGERS[name].format(table)


def statements() -> list[str]:
    """Return what makes the tables and their rules, in order."""
    made = [f"CREATE SCHEMA {SCHEMA}"]
    for table, columns in COLUMNS.items():
        made.append(f"CREATE TABLE {table} ({', '.join((*columns, *CONSTRAINTS[table]))})")
    for name, body in BODIES.items():
        how = f"LANGUAGE plpgsql SET search_path = {_SETTING}"
        made.append(f"CREATE FUNCTION {name}() RETURNS trigger {how} AS $body${body}$body$")
    for name in TRIGGERS:
        table, does = _on(name)
        made += [f"CREATE TRIGGER {name} {does}", f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}"]
    return made


def list_objects() -> list[tuple[str, str]]:
    """Return what `LISTED` gives where all is as we made it, sorted."""
    found = [(table, "r p f f f") for table in COLUMNS]
    for table, columns in COLUMNS.items():
        found += [(table, f"{number} {column}") for number, column in enumerate(columns, 1)]
        found += [(table, constraint) for constraint in CONSTRAINTS[table]]
    for name in TRIGGERS:
        table, does = _on(name)
        found.append((table, f"A CREATE TRIGGER {name} {does}"))
    found += [(name, f"plpgsql f search_path={_SETTING} {body}") for name, body in BODIES.items()]
    return sorted(found)
