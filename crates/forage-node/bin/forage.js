#!/usr/bin/env node
// Starts the program: a local build, or the one in the package for this platform. `forage setup` writes the path of the program
// itself into the configuration of clients, so that no Node process runs in between.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const { constants } = require("node:os");
const path = require("node:path");

const platform = `${process.platform}-${process.arch}`;
const name = `@forage-search/${platform}`;

function program() {
  const file = process.platform === "win32" ? "forage.exe" : "forage";
  // `require.resolve` would resolve `./forage` to this file.
  const local = path.join(__dirname, file);
  if (fs.existsSync(local)) {
    return local;
  }
  try {
    return path.join(path.dirname(require.resolve(`${name}/package.json`)), file);
  } catch {
    const { optionalDependencies } = require("../package.json");
    const reason =
      name in optionalDependencies
        ? `its package ${name} is not installed: install again without --omit=optional (Linux needs glibc)`
        : `there is no package for ${platform}: build it from source, see the README`;
    process.stderr.write(`forage: error: ${reason}\n`);
    process.exit(2);
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
// The terminal sends Ctrl-C to both processes. We pass on the other termination signals, and wait until the program ends.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  process.stderr.write(`forage: error: ${error.message}\n`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
