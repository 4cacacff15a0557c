"""The rivals: which adapter runs them, in which environment, what they promise, and what they take."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """One entry of the arena.

    Parameters
    ----------
    script : str
        The adapter, a file of rivals/; empty where there is nothing to run.
    mechanism : str, default ""
        What the adapter calls it.
    environment : str, default ""
        A folder of locks/; empty for this interpreter, or for a checkout's own.
    promise : {"either", "approximate", "pure"}
        Epsilon alone, (epsilon, delta), or whichever is asked for.
    native : bool, default False
        Whether it takes the table's own values as well as codes.
    checkout : str, default ""
        The repository that must be given by path, where no registry has it.
    why_not : str, default ""
        Why there is nothing to run.
    """

    script: str
    mechanism: str = ""
    environment: str = ""
    promise: Literal["either", "approximate", "pure"] = "approximate"
    native: bool = False
    checkout: str = ""
    why_not: str = ""


OURS, FLOOR = "lapwing", "independent"
RIVALS = {
    OURS: Rival(script="ours", mechanism="adaptive", promise="either", native=True),
    FLOOR: Rival(script="ours", mechanism="independent", promise="either", native=True),
    "mbi-mst": Rival(script="private_pgm", mechanism="mst", environment="mbi"),
    "mbi-aim2": Rival(script="private_pgm", mechanism="aim2", environment="mbi"),
    "mbi-aim2-merged": Rival(script="private_pgm", mechanism="aim2-merged", environment="mbi"),
    "mbi-aim3": Rival(script="private_pgm", mechanism="aim3", environment="mbi"),
    "opendp-mst": Rival(script="opendp_extras", mechanism="mst", environment="opendp", promise="either"),
    "opendp-aim2": Rival(script="opendp_extras", mechanism="aim2", environment="opendp", promise="either"),
    "opendp-aim3": Rival(script="opendp_extras", mechanism="aim3", environment="opendp", promise="either"),
    "dpmm-mst": Rival(script="sas_dpmm", mechanism="mst", environment="dpmm", native=True),
    "dpmm-aim": Rival(script="sas_dpmm", mechanism="aim", environment="dpmm", native=True),
    "dpmm-privbayes": Rival(script="sas_dpmm", mechanism="privbayes", environment="dpmm", native=True),
    "smartnoise-mst": Rival(script="smartnoise", mechanism="mst", environment="smartnoise"),
    "smartnoise-aim": Rival(script="smartnoise", mechanism="aim", environment="smartnoise"),
    "smartnoise-mwem": Rival(script="smartnoise", mechanism="mwem", environment="smartnoise", promise="pure"),
    "datasynthesizer": Rival(
        script="data_synthesizer", mechanism="privbayes", environment="datasynthesizer", promise="pure", native=True
    ),
    "datasynthesizer-k2": Rival(
        script="data_synthesizer", mechanism="k2", environment="datasynthesizer", promise="pure", native=True
    ),
    "privsyn": Rival(script="privsyn_core", mechanism="privsyn", environment="privsyn"),
    "dpsynth-aim": Rival(script="google_dpsynth", mechanism="aim", checkout="dpsynth"),
    "dpsynth-aim-gdp": Rival(script="google_dpsynth", mechanism="aim-gdp", checkout="dpsynth"),
    "dpsynth-mst": Rival(script="google_dpsynth", mechanism="mst", checkout="dpsynth"),
    "dpsynth-swift": Rival(script="google_dpsynth", mechanism="swift", checkout="dpsynth"),
    "dpsynth-swift-own": Rival(script="google_dpsynth", mechanism="swift-own", checkout="dpsynth"),
    "dpsynth-mst-merged": Rival(script="google_dpsynth", mechanism="mst-merged", checkout="dpsynth"),
    "dpsynth-swift-merged": Rival(script="google_dpsynth", mechanism="swift-merged", checkout="dpsynth"),
    "margnet": Rival(script="marg_net", mechanism="margnet", checkout="margnet"),
    "tab-pe": Rival(script="tab_pe", mechanism="tab-pe", checkout="DPSDA"),
    "privpgd": Rival(
        script="", why_not="its authors' settings (100,000 particles, 1,000 steps) take some 10,000 CPU s on magic"
    ),
    "aim-grem": Rival(script="", why_not="it answers marginal queries and gives no rows"),
}
FORMS = ("codes", "quantiles", "native")
"""Codes of fixed public bins; the same with numbers in 32 quantile bins bought with budget; the table's own values."""


def not_offered(rival: Rival, form: str, delta: str) -> str:
    """Return why a rival has nothing to run in such a cell; empty where it has."""
    if rival.why_not:
        return rival.why_not
    if form == "native" and not rival.native:
        return "it takes codes only"
    if rival.promise == "pure" and float(delta):
        return "it promises epsilon alone: see delta 0"
    if rival.promise == "approximate" and not float(delta):
        return "it promises (epsilon, delta) only"
    return ""
