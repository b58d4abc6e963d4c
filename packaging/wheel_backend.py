"""Builds the wheel from a clone: `pip install .` calls it (PEP 517). maturin builds either a module or a program, so we build the
program first and copy it to the directory from which maturin adds data files to a wheel.
"""

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

SOURCE = Path(__file__).resolve().parent.parent
# maturin expects the name of the module.
DATA = SOURCE / "forage._forage.data"


@contextlib.contextmanager
def program():
    """Builds the program, and keeps it in `DATA` while the wheel is built."""
    subprocess.run(["cargo", "build", "--locked", "--profile", "dist", "--package", "forage-cli"], cwd=SOURCE, check=True)
    metadata = subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version", "1"], cwd=SOURCE)
    name = "forage.exe" if sys.platform == "win32" else "forage"
    scripts = DATA / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    shutil.copy2(Path(json.loads(metadata)["target_directory"]) / "dist" / name, scripts / name)
    try:
        yield
    finally:
        shutil.rmtree(DATA)


def build_wheel(*arguments, **keywords):
    with program():
        return maturin.build_wheel(*arguments, **keywords)
