// Makes a test's calls with the Node package. Arguments: TREE REQUESTS.
import { ForageError, Workspace } from "forage-search";

const METHODS = { grep_search: "grep", Search: "search", search_index: "rank", list_directory: "list", read_file: "read", count_words: "count" };

/** Renames the fields of records to snake case, as in the other front ends. */
function printed(records) {
  const renamed = (value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), field]))
      : value;
  return JSON.parse(JSON.stringify(records), (_, value) => renamed(value));
}

const [tree, requests] = process.argv.slice(2);
const workspace = new Workspace(tree, { index: false });
const answers = [];
for (const [tool, request] of JSON.parse(requests)) {
  try {
    if (typeof workspace[METHODS[tool]] !== "function") throw new Error(`there is no method for ${tool}`);
    const answer = await workspace.call(tool, request);
    answers.push({ text: answer.text, records: printed(answer) });
  } catch (error) {
    if (!(error instanceof ForageError)) throw error;
    answers.push({ code: error.code, text: error.text });
  }
}
console.log(JSON.stringify(answers));
