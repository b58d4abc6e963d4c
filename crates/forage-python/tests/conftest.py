import os
import subprocess
from pathlib import Path

import pytest

FILES = {
    "src/main.py": "import retry\n\n\ndef main():\n    retry.again(3)\n",
    "src/retry.py": '"""Tries again."""\n\n\ndef again(times):\n    return times\n',
    "README.md": "Retries what failed.\n",
    "notes/many.txt": "".join(f"needle {n}\n" for n in range(5000)),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


@pytest.fixture
def large_tree(tmp_path: Path) -> Path:
    """A tree that is large enough for a pattern to run for seconds."""
    lines = "".join(f"{'a' * 60}{n}\n" for n in range(20000))
    for n in range(40):
        path = tmp_path / "large" / f"{n}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(lines)
    return tmp_path / "large"


@pytest.fixture
def command():
    """Runs the command line program that `FORAGE` names."""

    def run(*arguments: str, cwd: Path) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(cwd.parent)}
        done = subprocess.run([os.environ["FORAGE"], *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
        return done.stdout

    return run
