"""Puts what is handed out together around one build of the program: `cargo xtask package` calls it.

    assemble.py PROGRAM OUT VERSION TARGET EPOCH

PROGRAM has been built for TARGET. OUT has `man/` and `completions/` of it, and the bill of materials, `forage.cdx.json`.
Archives hold the same bytes wherever and whenever they are made: names in order, no owner, EPOCH as every time.
"""

import base64
import gzip
import hashlib
import io
import json
import re
import shutil
import sys
import tarfile
import time
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/forage-search/forage"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]

# What npm and bundles call the systems and processors that there are packages for.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("linux", "x64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64"),
    "aarch64-apple-darwin": ("darwin", "arm64"),
    "x86_64-pc-windows-msvc": ("win32", "x64"),
}

# The launcher is the same for all; of a release it comes from the build for this platform.
LAUNCHER_OF = "x86_64-unknown-linux-gnu"


class Entry:
    """A file of an archive."""

    def __init__(self, name, content, executable=False):
        self.name = name
        self.content = content if isinstance(content, bytes) else Path(content).read_bytes()
        self.mode = 0o755 if executable else 0o644


def tarball(path, entries, epoch):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.name):
            member = tarfile.TarInfo(entry.name)
            member.size, member.mode, member.mtime = len(entry.content), entry.mode, epoch
            archive.addfile(member, io.BytesIO(entry.content))
    with open(path, "wb") as file:
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=epoch) as packed:
            packed.write(plain.getvalue())


def zipped(path, entries, epoch):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in sorted(entries, key=lambda entry: entry.name):
            member = zipfile.ZipInfo(entry.name, time.gmtime(epoch)[:6])
            member.create_system = 3
            member.external_attr = (0o100000 | entry.mode) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, entry.content)


def licences(below=""):
    return [Entry(below + name, SOURCE / name) for name in LICENCES]


def with_whole_links(page, version):
    """A page of the repository as it is read elsewhere: links and pictures by their addresses, as of this version."""

    def whole(match):
        mark, label, target = match.groups()
        place = f"{REPOSITORY.replace('github.com', 'raw.githubusercontent.com')}/v{version}/{target}?sanitize=true" if mark else f"{REPOSITORY}/blob/v{version}/{target}"
        return f"{mark}[{label}]({place})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", whole, page)


def json_bytes(value):
    return (json.dumps(value, indent=2) + "\n").encode()


class Release:
    def __init__(self, program, out, version, target, epoch):
        self.program, self.out, self.version, self.target = Path(program), Path(out), version, target
        self.epoch = int(epoch)
        self.executable = self.program.name
        self.bill = self.out / "forage.cdx.json"
        pages = [with_whole_links((SOURCE / name).read_text(), version).encode() for name in ["README.md", "CHANGELOG.md"]]
        self.readme, self.changelog = pages

    def without_place(self):
        """Takes what holds in this directory alone out of what there is: its path of the bill of materials, here and in the
        wheel, and links to its files of the wheel's description."""
        bill = self.bill.read_bytes().replace(str(SOURCE).encode(), b"/forage")
        self.bill.write_bytes(bill)
        (wheel,) = self.out.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            entries = [Entry(member.filename, archive.read(member), member.external_attr >> 16 & 0o100) for member in archive.infolist()]
        (told,) = [entry for entry in entries if "/sboms/" in entry.name]
        (metadata,) = [entry for entry in entries if entry.name.endswith(".dist-info/METADATA")]
        (record,) = [entry for entry in entries if entry.name.endswith(".dist-info/RECORD")]
        told.content = bill
        metadata.content = with_whole_links(metadata.content.decode(), self.version).encode()
        lines = record.content.decode().splitlines()
        for changed in [told, metadata]:
            digest = base64.urlsafe_b64encode(hashlib.sha256(changed.content).digest()).rstrip(b"=").decode()
            line = f"{changed.name},sha256={digest},{len(changed.content)}"
            lines = [line if old.startswith(changed.name + ",") else old for old in lines]
        record.content = "".join(f"{line}\n" for line in lines).encode()
        zipped(wheel, entries, self.epoch)

    def archive(self):
        """The program with what belongs to it, for whoever puts it in place by hand."""
        top = f"forage-{self.version}-{self.target}"
        entries = [Entry(f"{top}/{self.executable}", self.program, True), *licences(f"{top}/")]
        entries += [Entry(f"{top}/README.md", self.readme), Entry(f"{top}/CHANGELOG.md", self.changelog)]
        entries.append(Entry(f"{top}/{self.bill.name}", self.bill))
        for kind in ["man", "completions"]:
            entries += [Entry(f"{top}/{kind}/{path.name}", path) for path in (self.out / kind).iterdir()]
        tarball(self.out / f"{top}.tar.gz", entries, self.epoch)

    def npm(self):
        """A package for this platform, and the launcher that depends on one for each."""
        names = {target: f"@forage-search/cli-{system}-{processor}" for target, (system, processor) in PLATFORMS.items()}
        launcher = json.loads((SOURCE / "packaging/npm/package.json").read_text())
        launcher["version"] = self.version
        launcher["optionalDependencies"] = {name: self.version for name in sorted(names.values())}
        self.npm_package(launcher, [Entry("forage.js", SOURCE / "packaging/npm/forage.js", True), Entry("README.md", self.readme)])
        if self.target not in PLATFORMS:
            return
        system, processor = PLATFORMS[self.target]
        package = {
            "name": names[self.target],
            "version": self.version,
            "description": f"The program of forage-search for {system} on {processor}",
            "license": launcher["license"],
            "repository": launcher["repository"],
            "os": [system],
            "cpu": [processor],
            "preferUnplugged": True,
        }
        if system == "linux":
            package["libc"] = ["glibc"]
        self.npm_package(package, [Entry(self.executable, self.program, True), Entry(self.bill.name, self.bill), *licences()])

    def npm_package(self, package, entries):
        name = package["name"].removeprefix("@").replace("/", "-")
        entries = [Entry("package.json", json_bytes(package)), *entries]
        for entry in entries:
            entry.name = f"package/{entry.name}"
        tarball(self.out / f"{name}-{self.version}.tgz", entries, self.epoch)

    def bundle(self):
        """The bundle that desktop clients install with a click."""
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
        """What `docker build` takes: the program and what it is put into."""
        if "linux" not in self.target:
            return
        entries = [Entry("Dockerfile", SOURCE / "packaging/docker/Dockerfile"), Entry("forage", self.program, True), *licences()]
        tarball(self.out / f"forage-{self.version}-{self.target}-docker.tar.gz", entries, self.epoch)

    def sums(self):
        """The checksums of all, in the form that `sha256sum -c` reads, and the bill beside them by its own name."""
        for directory in ["man", "completions"]:
            shutil.rmtree(self.out / directory)
        shutil.move(self.bill, self.out / f"forage-{self.version}-{self.target}.cdx.json")
        launcher = self.out / f"forage-search-{self.version}.tgz"
        files = sorted(path for path in self.out.iterdir() if path != launcher or self.target == LAUNCHER_OF)
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
        (self.out / f"forage-{self.version}-{self.target}.sha256").write_text("".join(lines))


def main():
    release = Release(*sys.argv[1:])
    for step in [release.without_place, release.archive, release.npm, release.bundle, release.container, release.sums]:
        step()


main()
