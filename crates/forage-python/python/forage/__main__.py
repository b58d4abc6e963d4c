"""Runs the program `forage`: `python -m forage`, or `uvx forage-search`."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys


def main() -> None:
    """Runs the program of this package with the arguments of this process. Replaces this process except on Windows."""
    name = "forage.exe" if os.name == "nt" else "forage"
    try:
        files = importlib.metadata.files("forage-search") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    program = next((str(file.locate()) for file in files if file.name == name), None)
    if program is None:
        sys.exit("forage: error: this package was installed without its program; install forage-search again")
    command = [program, *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(program, command)


if __name__ == "__main__":
    main()
