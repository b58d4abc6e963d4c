#!/usr/bin/env node
// Starts the program of this machine's package. `forage setup` writes that program itself into clients, so that Node starts
// nothing in between.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const name = `@forage-search/cli-${platform}`;

function program() {
  const file = process.platform === "win32" ? "forage.exe" : "forage";
  try {
    return require.resolve(`${name}/${file}`);
  } catch {
    const { optionalDependencies } = require("./package.json");
    const why =
      name in optionalDependencies
        ? `its package ${name} is not installed: install again without --omit=optional (Linux needs glibc)`
        : `there is no package for ${platform}: build it from source, see the README`;
    process.stderr.write(`forage: error: ${why}\n`);
    process.exit(2);
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
// The terminal tells both of Ctrl-C; what else ends this process ends that one. Its own end is waited for.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  process.stderr.write(`forage: error: ${error.message}\n`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
