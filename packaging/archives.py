"""Functions that write the archives of a release. The archives are reproducible: sorted names, no owner, and the same time for
every file.
"""

import base64
import gzip
import hashlib
import io
import json
import re
import tarfile
import time
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/forage-search/forage"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]

# The names that npm and bundles use for the systems and processors of our packages.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("linux", "x64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64"),
    "aarch64-apple-darwin": ("darwin", "arm64"),
    "x86_64-pc-windows-msvc": ("win32", "x64"),
}


class Entry:
    """A file in an archive."""

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


def with_absolute_links(page, version):
    """Replaces relative links and images of a page of the repository with absolute ones for this version."""

    def absolute(match):
        image_mark, label, target = match.groups()
        url = f"{REPOSITORY.replace('github.com', 'raw.githubusercontent.com')}/v{version}/{target}?sanitize=true" if image_mark else f"{REPOSITORY}/blob/v{version}/{target}"
        return f"{image_mark}[{label}]({url})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", absolute, page)


def json_bytes(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def npm_package(out, package, entries, epoch):
    """Writes an npm package from its `package.json` and its other files."""
    name = package["name"].removeprefix("@").replace("/", "-")
    entries = [Entry("package.json", json_bytes(package)), *entries]
    for entry in entries:
        entry.name = f"package/{entry.name}"
    tarball(Path(out) / f"{name}-{package['version']}.tgz", entries, epoch)


def for_platform(package, target):
    """Restricts a package to the platform of a target."""
    system, processor = PLATFORMS[target]
    package |= {"os": [system], "cpu": [processor], "preferUnplugged": True}
    return package | {"libc": ["glibc"]} if system == "linux" else package


def without_source_path(bill):
    """Removes the path of this directory from a bill of materials."""
    return bill.replace(str(SOURCE).encode(), b"/forage")


def relocate_wheel(wheel, version, epoch, bill):
    """Removes everything from a wheel that is only valid in this directory: the path in the bill of materials, and relative links
    in the description. Adds `bill`, the program's bill of materials, because maturin only adds the module's.
    """
    with zipfile.ZipFile(wheel) as archive:
        entries = [Entry(member.filename, archive.read(member), member.external_attr >> 16 & 0o100) for member in archive.infolist()]
    (module_bill,) = [entry for entry in entries if "/sboms/" in entry.name]
    (metadata,) = [entry for entry in entries if entry.name.endswith(".dist-info/METADATA")]
    (record,) = [entry for entry in entries if entry.name.endswith(".dist-info/RECORD")]
    module_bill.content = without_source_path(module_bill.content)
    metadata.content = with_absolute_links(metadata.content.decode(), version).encode()
    added = Entry(module_bill.name.rpartition("/")[0] + "/forage.cdx.json", bill)
    changed = {entry.name: entry for entry in [module_bill, metadata, added]}
    lines = [line for line in record.content.decode().splitlines() if line.split(",")[0] not in changed]
    for name, entry in changed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(entry.content)}")
    record.content = "".join(f"{line}\n" for line in sorted(lines)).encode()
    zipped(wheel, [*entries, added], epoch)
