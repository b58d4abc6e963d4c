// Sends a test's calls to the server with the official client. Arguments: FORAGE TREE REQUESTS.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [forage, tree, requests] = process.argv.slice(2);
const client = new Client({ name: "test", version: "0" });
const served = { command: forage, args: ["mcp", "--output", "structured"], cwd: tree, env: process.env };
await client.connect(new StdioClientTransport(served));
// The first answer of a connection names the root. The answers of the libraries don't, so we skip it.
await client.callTool({ name: "list_directory", arguments: {} });
const answers = [];
for (const [name, request] of JSON.parse(requests)) {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: request });
  const { text } = content[0];
  answers.push(isError ? { code: structuredContent.code, text } : { text, records: structuredContent });
}
console.log(JSON.stringify(answers));
await client.close();
