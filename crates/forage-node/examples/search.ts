// Shows how a program uses a workspace: `node search.js PATH`.
import { PathError, Workspace } from "forage-search";

const [path = "."] = process.argv.slice(2);
const workspace = new Workspace(path, { index: false });

const answer = await workspace.grep({ pattern: "retry", maxResults: 5 });
console.log(answer.text);
for (const file of answer.files) {
  console.log(file.path, file.matchCount, (file.lines ?? []).map((line) => line.lineNumber));
}

for await (const file of workspace.grepEach({ pattern: "retry" })) {
  console.log(file.path, file.matchCount);
}

const [names, ranked] = await Promise.all([
  workspace.list({ path: "." }),
  workspace.rank({ query: "where is it tried again" }, { signal: AbortSignal.timeout(10_000) }),
]);
console.log(names.text, ranked.files.map((file) => file.path));

try {
  await workspace.read({ path: "no/such/file" });
} catch (error) {
  if (!(error instanceof PathError)) throw error;
  console.log(error.code, error.hint);
}
workspace.close();
