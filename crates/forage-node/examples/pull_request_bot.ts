// Writes a comment on a pull request: the definitions that its diff touches, and their uses in files that it does not touch.
//
//   git diff main...HEAD | node pull_request_bot.js PATH > comment.md
import { readFileSync } from "node:fs";
import { Workspace } from "forage-search";

const DEFINITION = /\b(?:class|def|enum|fn|func|function|interface|struct|trait|type)\s+([A-Za-z_]\w*)/;
/** Maximum number of names to search for, and of uses to list for each. */
const NAMES = 20;
const USES = 10;

/** Returns the files of a diff, and the names that it removes, adds or changes. */
function changed(diff: string): { files: Set<string>; names: Set<string> } {
  const files = new Set<string>();
  const names = new Set<string>();
  for (const line of diff.split("\n")) {
    const file = /^(?:---|\+\+\+) [ab]\/(.+)$/.exec(line)?.[1];
    if (file) files.add(file);
    // The enclosing function of a hunk follows its second `@@`.
    const name = /^(?:[-+](?![-+]{2} )|@@.*@@)/.test(line) && DEFINITION.exec(line)?.[1];
    if (name) names.add(name);
  }
  return { files, names };
}

async function uses(workspace: Workspace, name: string, without: Set<string>): Promise<string[]> {
  const answer = await workspace.grep({ pattern: name, output: "uses", contextLines: 0, maxResults: 200 });
  const lines = answer.files
    .filter((file) => !without.has(file.path))
    .flatMap((file) => (file.lines ?? []).filter((line) => line.type === "match").map((line) => ({ ...line, path: file.path })));
  const shown = lines.slice(0, USES).map((line) => `  - \`${line.path}:${line.lineNumber}\` \`${line.text.trim()}\``);
  const more = lines.length - shown.length;
  return more > 0 || answer.truncated ? [...shown, `  - and ${more}${answer.truncated ? " or more" : ""} others`] : shown;
}

const [path = "."] = process.argv.slice(2);
const { files, names } = changed(readFileSync(0, "utf8"));
const workspace = new Workspace(path);
const comment: string[] = [];
for (const name of [...names].slice(0, NAMES)) {
  const found = await uses(workspace, name, files);
  if (found.length > 0) comment.push(`- \`${name}\` is used elsewhere:`, ...found);
}
if (names.size > NAMES) comment.push(`- ${names.size - NAMES} further names were not searched`);
console.log(comment.length > 0 ? comment.join("\n") : "Nothing that this changes is used elsewhere.");
