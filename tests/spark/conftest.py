"""One session for all tests: a cluster of two executors, each a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from tests.ports import free_port
from tests.spark.java import java_home

# Java spends most of a short job on making its code fast, which pays only in long ones.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "4",
    "spark.executor.pyspark.memory": "1280m",  # the system refuses more to the Python of a task
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "100ms",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A session on local-cluster[2,1,1024], with speculation: slow tasks are run twice."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        if home := java_home(folder / "java"):
            patch.setenv("JAVA_HOME", home)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        patch.setenv("SPARK_LOCAL_DIRS", str(folder / "local"))
        patch.setenv("SPARK_WORKER_DIR", str(folder / "work"))
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tests")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        if find_spec("grpc"):  # without it, the test of Spark Connect is skipped
            builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
            builder = builder.config("spark.connect.grpc.binding.port", str(free_port()))
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
