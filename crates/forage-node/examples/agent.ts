// An agent: a model that searches with Forage's tools until it has an answer.
//
//   BASE_URL=https://api.openai.com/v1 API_KEY=… MODEL=gpt-5-mini node agent.js PATH QUESTION
import { ForageError, Workspace } from "forage-search";

interface Message {
  role: string;
  content: string | null;
  tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>;
  tool_call_id?: string;
}

const TURNS = 12;
const { BASE_URL, API_KEY = "none", MODEL } = process.env;

/** Requests the model's next message with the chat completions API, which most providers support. */
async function complete(messages: Message[], tools: object[]): Promise<Message> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${API_KEY}` };
  const body = JSON.stringify({ model: MODEL, messages, tools });
  const response = await fetch(`${BASE_URL}/chat/completions`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return ((await response.json()) as { choices: [{ message: Message }] }).choices[0].message;
}

async function ask(workspace: Workspace, question: string): Promise<string> {
  const messages: Message[] = [{ role: "user", content: question }];
  for (let turn = 0; turn < TURNS; turn++) {
    const message = await complete(messages, workspace.tools("openai"));
    messages.push(message);
    if (!message.tool_calls?.length) return message.content ?? "";
    for (const { id, function: call } of message.tool_calls) {
      const asResult = (error: unknown) => (error instanceof ForageError ? error : Promise.reject(error));
      const { text } = await workspace.call(call.name, call.arguments).catch(asResult);
      messages.push({ role: "tool", tool_call_id: id, content: text });
    }
  }
  return "no answer";
}

const [path = ".", question = ""] = process.argv.slice(2);
console.log(await ask(new Workspace(path), question));
