"""What the internal report shows: a synthetic table beside the real one, section by section."""

from lapwing.judge.findings import Findings
from lapwing.judge.metrics import SYNTHETIC
from lapwing.judge.report.compared.columns import columns_section
from lapwing.judge.report.compared.disclosure import disclosure_section
from lapwing.judge.report.compared.glance import glance_section
from lapwing.judge.report.compared.pairs import maps_section, pairs_section, worst_section
from lapwing.judge.report.compared.tables import gaps_section, rules_section
from lapwing.judge.report.compared.uses import prediction_section, subgroups_section
from lapwing.judge.report.compared.weighted import weighted_section
from lapwing.judge.report.page import Section
from lapwing.schema.schemas import Schema


def compared_sections(findings: Findings, schema: Schema) -> tuple[Section, ...]:
    """Return the sections of an internal report.

    findings: computed from private rows without noise: so is everything that these sections say; schema: says in words
    what columns hold, where it does. Returns at a glance; single columns; weighted totals, where the schema names a
    survey weight; pairs; worst tables; maps; missing cells; rules and public totals, where the schema has any;
    prediction; groups; disclosure. Another section that does not apply says why in one line, and which option to pass.

    Charts of at most 40 columns and 60 x 60 pairs: some megabytes at most, for any table.
    """
    return (
        glance_section(findings),
        columns_section(findings, schema),
        *_weighted(findings),
        pairs_section(findings),
        worst_section(findings),
        maps_section(findings),
        gaps_section(findings),
        *(() if findings.declared is None else (rules_section(findings.declared),)),
        prediction_section(findings),
        subgroups_section(findings),
        disclosure_section(findings),
    )


def _weighted(findings: Findings) -> tuple[Section, ...]:
    """Return the section on weighted totals, where there is a weight."""
    if findings.weighted is None:
        return ()
    single = findings.tables[SYNTHETIC][0]
    plain = {table[0]: distance for table, distance in zip(single.tables, single.distances.tolist(), strict=True)}
    return (weighted_section(findings.weighted, plain),)
