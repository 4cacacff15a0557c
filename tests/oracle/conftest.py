"""Some tools come without SciPy: in their environments the comparisons that need it are left out."""

from importlib.util import find_spec

_NEED_SCIPY = ["test_noise_against_opendp.py", "test_table_distances_against_pot.py", "test_wasserstein_against_pot.py"]
collect_ignore = [] if find_spec("scipy") else _NEED_SCIPY
