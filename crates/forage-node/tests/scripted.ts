// The model for the examples of the documentation page: it makes one call and then responds with text.
import { MockLanguageModelV3 } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
let turn = 0;

export const prompt = "Where is it?";
export const model = new MockLanguageModelV3({
  doGenerate: async () =>
    turn++ === 0
      ? {
          content: [{ type: "tool-call", toolCallId: "1", toolName: "grep_search", input: '{"pattern":"retry"}' }],
          finishReason: { unified: "tool-calls", raw: "tool-calls" },
          usage,
          warnings: [],
        }
      : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] },
});
