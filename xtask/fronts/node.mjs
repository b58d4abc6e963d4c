// Makes the calls of a test through the Node package: TREE REQUESTS.
import { ForageError, Workspace } from "@forage-search/node";

const METHODS = { grep_search: "grep", Search: "search", search_index: "rank", list_directory: "list", read_file: "read", count_words: "count" };

const [tree, requests] = process.argv.slice(2);
const workspace = new Workspace(tree, { index: false });
const answers = [];
for (const [tool, request] of JSON.parse(requests)) {
  try {
    const answer = await workspace[METHODS[tool]](request);
    answers.push({ text: answer.text, records: answer });
  } catch (error) {
    if (!(error instanceof ForageError)) throw error;
    answers.push({ code: error.code, text: error.text });
  }
}
console.log(JSON.stringify(answers));
