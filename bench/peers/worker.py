"""Run one fit of one peer inside the peer's environment: ``python worker.py FOLDER``, started by run.py.

FOLDER holds job.json and rows.npy (codes, int32, shape (n, d)); synthetic.npy and done.json are written there.
"""

import importlib
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np


def main() -> None:
    """Fit, draw the rows, and say how long both took."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    codes = np.load(folder / "rows.npy")
    # Importing is not part of the fit.
    fit = importlib.import_module(f"fit_{job['package']}").FITS[job["mechanism"]]

    start = time.process_time()
    # The system ends the process, threads included, when it has used its time; run.py sees the signal.
    limit = int(start + job["cpu_limit_s"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 60))
    sampler = fit(codes, job["sizes"], job)
    fitted = time.process_time()
    # The limit is that of the fit.
    resource.setrlimit(resource.RLIMIT_CPU, (limit + 60, limit + 60))
    rows = sampler()
    done = {"fit_cpu_s": fitted - start, "rows_cpu_s": time.process_time() - fitted}

    if rows.shape[1] != len(job["sizes"]) or (rows < 0).any() or (rows >= job["sizes"]).any():
        raise ValueError("the peer's rows are not codes of the columns")
    np.save(folder / "synthetic.npy", rows)
    (folder / "done.json").write_text(json.dumps(done))


if __name__ == "__main__":
    main()
