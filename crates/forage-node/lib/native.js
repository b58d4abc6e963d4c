// Loads the native module: a local build, or the one in the package for this platform.
"use strict";

const platform = `${process.platform}-${process.arch}`;

function load() {
  const candidates = ["./forage.node", `@forage-search/${platform}/forage.node`];
  for (const candidate of candidates) {
    let file;
    try {
      file = require.resolve(candidate);
    } catch {
      continue;
    }
    return require(file);
  }
  const advice = "install again without --omit=optional, or build it from source as docs/typescript.md says";
  throw new Error(`forage-search has no native module for ${platform} (Linux needs glibc): ${advice}`);
}

module.exports = load();
