"""The 135 columns of the 1940 census benchmark: names and sizes that are published, dependencies that are invented.

Published: names, types and bounds, in google/dpsynth, ``dpsynth/research/datasets/census``: of the 147 variables of the
IPUMS USA full count of 1940 (sample 1940b), ``column_types.py`` keeps 135, all but identifiers, weights and the sample;
``domain.yaml`` has a code list or bounds for each. What stands here of a code list is how many codes it has (of lists
above 100 codes counted by hand, so perhaps a few more or less). Six columns have no published list there (WARD, UOCC,
UIND, RACED, MIGCOUNTYICP5, MIGSEA5): they have 257 codes here, as many as that benchmark counts of them.

Invented: which columns a column depends on, how closely, and how often it has its first code, which mostly stands for
"not applicable". A code is its place in the published list, from 0. Numbers have the published bounds; the steps of
those with more than 1,001 values are invented.
"""

from dataclasses import dataclass

import numpy as np

BITS = 10
"""A law gives each context 2**BITS equally likely picks."""

CONTEXTS = 64
"""At most so many contexts of earlier columns."""

_SPREADS = {"=": 0.0, "~": 0.01, "<": 0.02, ":": 0.08, "?": 0.3}
"""How closely a column follows; of ``<`` most values are small."""

_COLUMNS = """
STATEICP 55 0 ?
YEAR 38 1 =
CNTRY 2 1 =
STATEFIP 62 0 = STATEICP
REGION 17 0 = STATEICP
COUNTYICP 293 0 : STATEICP
METRO 5 .4 : STATEICP COUNTYICP
METAREA 334 .45 ~ COUNTYICP METRO
METAREAD 376 0 ~ METAREA
SIZEPL 19 .02 : METRO COUNTYICP
URBAN 3 .01 ~ SIZEPL
CITY 1165 .5 ~ COUNTYICP URBAN
CITYPOP 0-10000-10 .5 : SIZEPL CITY
URBPOP 0-10000-10 .4 ~ SIZEPL
SEA 471 0 ~ STATEICP COUNTYICP
WARD 257 .6 ? CITY
ENUMDIST 0-100000-100 0 : COUNTYICP URBAN
SPLIT 2 .97 ~
EDMISS 2 .99 ~ SPLIT
GQ 7 .01 ~
GQTYPE 10 .9 ~ GQ
GQTYPED 93 0 ~ GQTYPE
GQFUNDS 13 .93 ~ GQTYPE GQ
NUMPREC 1-100-1 0 < GQ
NUMPERHH 1-100-1 0 = NUMPREC
HHTYPE 9 .02 : NUMPREC GQ
FARM 4 0 ~ URBAN REGION
OWNERSHP 3 .03 : FARM HHTYPE
OWNERSHPD 8 0 ~ OWNERSHP
RENT 0-1000-1 .5 < OWNERSHP SIZEPL
VALUEH 0-100000-100 .5 < OWNERSHP METRO
NFAMS 0-50-1 .01 < HHTYPE NUMPREC
NSUBFAM 0-50-1 .9 < NFAMS HHTYPE
NCOUPLES 0-50-1 .2 < HHTYPE
NMOTHERS 0-50-1 .3 < HHTYPE NUMPREC
NFATHERS 0-50-1 .35 < NMOTHERS HHTYPE
MULTGEN 4 .01 : NFAMS NUMPREC
MULTGEND 8 0 ~ MULTGEN
RESPOND 8 .02 : HHTYPE
VERSIONHIST 3 0 ~
SEX 3 .5 ~
AGE 0-120-1 .02 : HHTYPE
BIRTHYR 1820-1940-1 0 ~ AGE
AGEMONTH 0-99-1 .95 : AGE
RELATE 13 .27 : HHTYPE AGE
RELATED 93 0 ~ RELATE
FAMUNIT 1-50-1 0 < RELATE NFAMS
FAMSIZE 1-60-1 0 < NUMPREC FAMUNIT
SUBFAM 10 .94 ~ NSUBFAM RELATE
SFTYPE 9 .94 ~ SUBFAM
SFRELATE 4 .94 ~ SFTYPE
MOMLOC 0-99-1 .6 < RELATE AGE
STEPMOM 8 .97 ~ MOMLOC
MOMRULE_HIST 8 .6 ~ MOMLOC RELATE
POPLOC 0-99-1 .62 < MOMLOC AGE
STEPPOP 7 .97 ~ POPLOC
POPRULE_HIST 6 .62 ~ POPLOC RELATE
MARST 7 .4 : AGE RELATE
SPLOC 0-99-1 .58 < MARST RELATE
SPRULE_HIST 8 .58 ~ SPLOC
NCHILD 0-20-1 .6 < MARST AGE
NCHLT5 0-15-1 .85 < NCHILD AGE
NSIBS 0-20-1 .6 < RELATE AGE
ELDCH 0-99-1 .6 < NCHILD AGE
YNGCH 0-99-1 .6 < ELDCH NCHILD
MARRNO 0-10-1 .95 < MARST
AGEMARR 0-99-1 .97 : MARRNO AGE
CHBORN 0-40-1 .97 < MARRNO NCHILD
RACE 9 .88 ~ REGION
RACED 257 0 ~ RACE
HISPAN 6 .98 ~ REGION RACE
HISPAND 55 0 ~ HISPAN
HISPRULE 9 .97 ~ HISPAN
BPL 164 0 : STATEICP
BPLD 544 0 ~ BPL
NATIVITY 6 .05 : BPL
MBPL 164 .95 ~ BPL NATIVITY
MBPLD 545 0 ~ MBPL
FBPL 165 .95 ~ MBPL NATIVITY
FBPLD 545 0 ~ FBPL
CITIZEN 8 .9 ~ NATIVITY AGE
MTONGUE 92 .95 : MBPL
MTONGUED 489 0 ~ MTONGUE
SPANNAME 4 .95 ~ HISPAN
SLREC 2 .95 ~
RESPONDT 3 .7 : RELATE
SCHOOL 5 .1 : AGE
HIGRADE 0-30-1 .06 : AGE SCHOOL
HIGRADED 0-350-1 0 ~ HIGRADE
EDUC 13 0 ~ HIGRADE
EDUCD 44 0 ~ HIGRADE EDUC
EMPSTAT 5 .25 : AGE SEX
EMPSTATD 16 0 ~ EMPSTAT
LABFORCE 4 0 ~ EMPSTATD
OCC 1000 .55 ~ EMPSTAT EDUC
OCC1950 283 0 ~ OCC
IND 365 .55 ~ OCC FARM
IND1950 162 0 ~ IND
CLASSWKR 4 .55 ~ OCC
CLASSWKRD 18 0 ~ CLASSWKR IND1950
WKSWORK1 0-52-1 .6 : EMPSTAT AGE
WKSWORK2 7 0 ~ WKSWORK1
HRSWORK1 0-99-1 .65 : EMPSTAT OCC
HRSWORK2 9 0 ~ HRSWORK1
DURUNEMP 0-260-1 .95 : EMPSTATD
UOCC 257 .96 ~ SLREC OCC
UOCC95 279 0 ~ UOCC
UIND 257 .96 ~ UOCC
UCLASSWK 8 .96 ~ UOCC
INCWAGE 0-5100-10 .6 < OCC1950 EDUC
INCNONWG 0-9-1 .3 : INCWAGE CLASSWKR
OCCSCORE 0-100-1 0 = OCC1950
SEI 0-100-1 0 = OCC1950
PRESGL 0-100-1 0 = OCC1950
ERSCOR50 0-10000-10 0 ~ OCC1950
EDSCOR50 0-10000-10 0 ~ OCC1950
NPBOSS50 0-10000-10 0 ~ OCC1950
MIGRATE5 7 .85 ~ AGE
MIGRATE5D 15 0 ~ MIGRATE5
MIGPLAC5 199 .9 : MIGRATE5D STATEICP
MIGCOUNTYICP5 257 .88 : MIGPLAC5 MIGRATE5
MIGMETAREA5 370 .9 : MIGCOUNTYICP5
MIGMETRO5 6 .88 : MIGMETAREA5
MIGCITY5 197 .92 ~ MIGMETAREA5 MIGMETRO5
MIGSEA5 257 .88 ~ MIGCOUNTYICP5 MIGPLAC5
SAMEPLAC5 4 .1 : MIGRATE5 MIGPLAC5
SAMESEA5 6 .1 : SAMEPLAC5 MIGSEA5
VETSTAT 4 .96 ~ AGE SEX
VETSTATD 10 0 ~ VETSTAT
VET1940 4 .97 ~ VETSTAT
VETWWI 3 .97 ~ VET1940
VETPER 8 .97 ~ VETWWI VET1940
VETCHILD 5 .97 ~ AGE SLREC
SSENROLL 3 .96 ~ SLREC AGE
SURSIM 62 0 : RELATE NUMPREC
"""
"""Name; how many codes, or least-most-step; how often the first of them; how closely it follows; what it follows."""


@dataclass(frozen=True)
class Column:
    """A column: its values by place, and what its law is made of.

    first: how often the first value comes, beyond what the law gives it; spread: of the places around the middle of a
    context, as a part of all places; is_small: whether most middles are small.
    """

    name: str
    values: range
    is_code: bool
    first: float
    spread: float
    is_small: bool
    parents: tuple[str, ...]

    @property
    def dtype(self) -> type[np.signedinteger]:
        """The smallest signed integers that hold the values."""
        return next(kind for kind in (np.int8, np.int16, np.int32) if self.values[-1] <= np.iinfo(kind).max)

    def field(self) -> dict[str, object]:
        """Return the field of the schema: up to 64 codes as a list, else bounds, since lists stand in groups."""
        field: dict[str, object] = {"name": self.name, "type": "integer", "provenance": "public"}
        if self.is_code and len(self.values) <= CONTEXTS:
            return field | {"categories": list(self.values), "constraints": {"required": True}}
        bounds = {"minimum": self.values[0], "maximum": self.values[-1], "required": True}
        return field | {"constraints": bounds} | ({} if self.values.step == 1 else {"resolution": self.values.step})

    def classes(self, most: int) -> np.ndarray:
        """Return the class of each place, as a context of later columns: the first place stands alone."""
        places = np.arange(len(self.values))
        count = min(len(places), most)
        return np.where(places, 1 + (places - 1) * (count - 1) // max(1, len(places) - 1), 0).astype(np.uint16)


def read_columns() -> dict[str, Column]:
    """Return the columns by name, each after those that it follows."""
    found: dict[str, Column] = {}
    for line in _COLUMNS.split("\n")[1:-1]:
        name, size, first, spread, *parents = line.split()
        least, most, step = map(int, size.split("-")) if "-" in size else (0, int(size) - 1, 1)
        values = range(least, most + 1, step)
        found[name] = Column(
            name, values, "-" not in size, float(first), _SPREADS[spread], spread == "<", tuple(parents)
        )
    return found


def law(column: Column, contexts: int, alone: int, rng: np.random.Generator) -> np.ndarray:
    """Return the places of 2**BITS equally likely picks in each context: uint16 (contexts, 2**BITS).

    Around a middle of each context, which mostly grows with it, the law falls off on both sides like a geometric one;
    every place has a popularity besides, and a fiftieth of all picks follow that alone. In the first contexts, where
    the column that is followed has its first value, a column without a share of its own for that has it too.
    """
    size = len(column.values)
    places = np.arange(size)
    middles = ((np.arange(contexts) + rng.uniform(0, 1, contexts)) / contexts) ** (3 if column.is_small else 1) * size
    if column.spread == 0:
        picks = middles if column.first < 1 else np.zeros(contexts)
        return np.repeat(picks.astype(np.uint16)[:, None], 2**BITS, axis=1)
    popular = rng.lognormal(0, 1, size)
    near = popular * np.exp(-np.abs(places - middles[:, None]) / max(0.5, column.spread * size))
    if column.parents and not column.first:
        near[:alone] = places == 0
    shares = 0.98 * near / near.sum(axis=1, keepdims=True) + 0.02 * popular / popular.sum()
    if column.first:
        odds = column.first / (1.0 - column.first) * np.exp(rng.normal(0, 1, contexts))
        shares *= (1 / (1 + odds))[:, None]
        shares[:, 0] += odds / (1 + odds)
    edges = shares.cumsum(axis=1)
    wanted = (np.arange(2**BITS) + 0.5) / 2**BITS
    return np.array([np.searchsorted(row / row[-1], wanted) for row in edges], dtype=np.uint16)
