"""Assembles the packages of one build of the program. `cargo xtask package` calls it.

    assemble.py PROGRAM MODULE OUT VERSION TARGET EPOCH

PROGRAM is the program for TARGET, and MODULE is the module for Node. OUT contains `man/` and `completions/` of the program, its
bill of materials `forage.cdx.json`, and the wheel. EPOCH is the modification time of every file.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from archives import PLATFORMS, SOURCE, Entry, json_bytes, licences, relocate_wheel, tarball, with_absolute_links, without_source_path, zipped
from node import npm_packages

# A release takes the platform-independent npm package from the build for this target.
COMMON_OF = "x86_64-unknown-linux-gnu"


class Release:
    def __init__(self, program, module, out, version, target, epoch):
        self.program, self.module, self.out = Path(program), Path(module), Path(out)
        self.version, self.target = version, target
        self.epoch = int(epoch)
        self.executable = self.program.name
        self.bill = self.out / "forage.cdx.json"
        pages = [with_absolute_links((SOURCE / name).read_text(), version).encode() for name in ["README.md", "CHANGELOG.md"]]
        self.readme, self.changelog = pages

    def relocate(self):
        """Removes everything that is only valid in this directory from the wheel and the program's bill of materials, and adds the
        latter to the wheel."""
        self.bill.write_bytes(without_source_path(self.bill.read_bytes()))
        (wheel,) = self.out.glob("*.whl")
        relocate_wheel(wheel, self.version, self.epoch, self.bill.read_bytes())

    def archive(self):
        """Writes the archive for manual installation: the program, its documentation and completions."""
        top = f"forage-{self.version}-{self.target}"
        entries = [Entry(f"{top}/{self.executable}", self.program, True), *licences(f"{top}/")]
        entries += [Entry(f"{top}/README.md", self.readme), Entry(f"{top}/CHANGELOG.md", self.changelog)]
        entries.append(Entry(f"{top}/{self.bill.name}", self.bill))
        for kind in ["man", "completions"]:
            entries += [Entry(f"{top}/{kind}/{path.name}", path) for path in (self.out / kind).iterdir()]
        tarball(self.out / f"{top}.tar.gz", entries, self.epoch)

    def npm(self):
        """Writes the npm package for this platform, and the common package that depends on those of all platforms."""
        bill = [Entry(self.bill.name, self.bill)]
        npm_packages(self.program, self.module, self.out, self.version, self.target, self.epoch, bill)

    def bundle(self):
        """Writes the bundle that desktop clients install with a click."""
        if self.target not in PLATFORMS:
            return
        manifest = json.loads((SOURCE / "packaging/mcpb/manifest.json").read_text())
        manifest["version"] = self.version
        manifest["compatibility"]["platforms"] = [PLATFORMS[self.target][0]]
        entries = [
            Entry("manifest.json", json_bytes(manifest)),
            Entry(f"server/{self.executable}", self.program, True),
            Entry(self.bill.name, self.bill),
            *licences(),
        ]
        zipped(self.out / f"forage-{self.version}-{self.target}.mcpb", entries, self.epoch)

    def container(self):
        """Writes the context for `docker build`: the Dockerfile and the program."""
        if "linux" not in self.target:
            return
        entries = [Entry("Dockerfile", SOURCE / "packaging/docker/Dockerfile"), Entry("forage", self.program, True), *licences()]
        tarball(self.out / f"forage-{self.version}-{self.target}-docker.tar.gz", entries, self.epoch)

    def sums(self):
        """Writes the checksums of all files for `sha256sum -c`. Renames the bill of materials and removes intermediate files."""
        for directory in ["man", "completions"]:
            shutil.rmtree(self.out / directory)
        shutil.move(self.bill, self.out / f"forage-{self.version}-{self.target}.cdx.json")
        common = self.out / f"forage-search-{self.version}.tgz"
        files = sorted(path for path in self.out.iterdir() if path != common or self.target == COMMON_OF)
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
        (self.out / f"forage-{self.version}-{self.target}.sha256").write_text("".join(lines))


def main():
    release = Release(*sys.argv[1:])
    for step in [release.relocate, release.archive, release.npm, release.bundle, release.container, release.sums]:
        step()


main()
