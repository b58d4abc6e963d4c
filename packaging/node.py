"""Makes the packages for npm of one build of the Node module: that with its JavaScript, and that with the module for this platform.

    node.py MODULE OUT VERSION TARGET EPOCH
"""

import json
import sys
from pathlib import Path

from archives import PLATFORMS, SOURCE, Entry, for_platform, json_bytes, licences, npm_package, with_whole_links

FOLDER = SOURCE / "crates/forage-node"


def main():
    module, out, version, target, epoch = sys.argv[1:]
    package = json.loads((FOLDER / "package.json").read_text())
    package["version"] = version
    names = {target: f"{package['name']}-{system}-{processor}" for target, (system, processor) in PLATFORMS.items()}
    package["optionalDependencies"] = {name: version for name in sorted(names.values())}
    library = [Entry(f"lib/{path.name}", path) for path in (FOLDER / "lib").iterdir() if path.suffix != ".node"]
    readme = with_whole_links((FOLDER / "README.md").read_text(), version)
    npm_package(out, package, [*library, Entry("README.md", readme.encode()), *licences()], int(epoch))
    system, processor = PLATFORMS[target]
    native = {
        "name": names[target],
        "version": version,
        "description": f"The native part of {package['name']} for {system} on {processor}",
        "license": package["license"],
        "repository": package["repository"],
        "main": "forage.node",
    }
    npm_package(out, for_platform(native, target), [Entry("forage.node", Path(module)), *licences()], int(epoch))


main()
