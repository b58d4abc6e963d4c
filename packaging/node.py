"""Writes the npm packages of one build: the common one with the launcher and the JavaScript, and the one with the program and the
module for this platform. `cargo xtask node` calls it with a build for tests.

    node.py PROGRAM MODULE OUT VERSION TARGET EPOCH
"""

import json
import sys
from pathlib import Path

from archives import PLATFORMS, SOURCE, Entry, for_platform, licences, npm_package, with_absolute_links

FOLDER = SOURCE / "crates/forage-node"


def npm_packages(program, module, out, version, target, epoch, bill=()):
    """Writes the packages. `bill` is the entry for the program's bill of materials, if there is one."""
    package = json.loads((FOLDER / "package.json").read_text())
    package["version"] = version
    names = {target: f"@forage-search/{system}-{processor}" for target, (system, processor) in PLATFORMS.items()}
    package["optionalDependencies"] = {name: version for name in sorted(names.values())}
    readme = Entry("README.md", with_absolute_links((SOURCE / "README.md").read_text(), version).encode())
    common = [Entry(f"lib/{path.name}", path) for path in (FOLDER / "lib").iterdir() if path.suffix != ".node"]
    common += [Entry("bin/forage.js", FOLDER / "bin/forage.js", True), readme, *licences()]
    if target not in PLATFORMS:
        # There is no release for this target, so the build goes to the place of a local build.
        common += [Entry(f"bin/{program.name}", program, True), Entry("lib/forage.node", module)]
    npm_package(out, package, common, epoch)
    if target in PLATFORMS:
        system, processor = PLATFORMS[target]
        platform_package = {
            "name": names[target],
            "version": version,
            "description": f"The program and the native module of {package['name']} for {system} on {processor}",
            "license": package["license"],
            "repository": package["repository"],
        }
        entries = [Entry(program.name, program, True), Entry("forage.node", module), *bill, *licences()]
        npm_package(out, for_platform(platform_package, target), entries, epoch)


if __name__ == "__main__":
    program, module, out, version, target, epoch = sys.argv[1:]
    npm_packages(Path(program), Path(module), out, version, target, int(epoch))
