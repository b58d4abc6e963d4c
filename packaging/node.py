"""Makes the packages for npm of one build of the Node module: that with its JavaScript, and that with the module for its platform.

    node.py MODULE OUT VERSION TARGET EPOCH
"""

import json
import sys
from pathlib import Path

from archives import PLATFORMS, SOURCE, Entry, for_platform, json_bytes, licences, npm_package

FOLDER = SOURCE / "crates/forage-node"


def main():
    module, out, version, target, epoch = sys.argv[1:]
    package = json.loads((FOLDER / "package.json").read_text())
    package["version"] = version
    names = {target: f"{package['name']}-{system}-{processor}" for target, (system, processor) in PLATFORMS.items()}
    package["optionalDependencies"] = {name: version for name in sorted(names.values())}
    native = Path(module)
    library = [Entry(f"lib/{path.name}", path) for path in (FOLDER / "lib").iterdir() if path.suffix != ".node"]
    if target not in PLATFORMS:
        # No release is made for it: what was built goes where who builds from source puts it.
        library.append(Entry("lib/forage.node", native))
    npm_package(out, package, [*library, Entry("README.md", FOLDER / "README.md"), *licences()], int(epoch))
    if target in PLATFORMS:
        system, processor = PLATFORMS[target]
        own = {
            "name": names[target],
            "version": version,
            "description": f"The native part of {package['name']} for {system} on {processor}",
            "license": package["license"],
            "repository": package["repository"],
            "main": "forage.node",
        }
        npm_package(out, for_platform(own, target), [Entry("forage.node", native), *licences()], int(epoch))


main()
