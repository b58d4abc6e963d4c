"""The wire protocols of the providers for model.py: reads requests and writes answers.

A wire is a class of functions that is never instantiated. These functions read a request: `offered` returns the names of
its tools as the model sees them, `found` the tools found by search during the conversation, `calls` the names of called
tools by turn, `results` the texts of tool results, `code` whether calls are made by a program, and `schema` the schema of
the answer. `search_query` returns the query to find a tool. An answer has `text`, `calls` (`name`, `arguments`), the `body`
of the request, and `number` and `salt` for ids. `whole` and `events` convert it to the format of the wire.
"""

import json

MODEL = "scripted"


def text_of(content):
    """Returns the text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return content["text"] if isinstance(content.get("text"), str) else json.dumps(content, ensure_ascii=False)
    return "\n".join(text_of(part) for part in content or [])


def halves(text):
    """Splits a text, because real servers stream texts in pieces."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def identifier(answer, index):
    return f"call_{answer['number']}_{index}_{answer['salt']}"


class Wire:
    """The defaults of most wires."""

    def found(_body):
        return []

    def search_query(full, tool):
        return f"select:{full or tool}"

    def code(_body):
        return False

    def streams(_path, body):
        return body.get("stream", False)


class Anthropic(Wire):
    """Messages."""

    name = "anthropic"

    def fits(path):
        return path.endswith("/messages")

    def offered(body):
        return [tool["name"] for tool in body.get("tools", []) if "name" in tool]

    def calls(body):
        turns = []
        for message in body["messages"]:
            parts = message["content"] if isinstance(message["content"], list) else []
            names = [part["name"] for part in parts if part["type"] == "tool_use"]
            if names:
                turns.append(names)
        return turns

    def results(body):
        contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
        results = [part for content in contents for part in content if part["type"] == "tool_result"]
        return [text_of(part.get("content", "")) for part in results]

    def schema(body):
        return (body.get("output_config") or {}).get("format", {}).get("schema")

    def blocks(answer):
        blocks = [{"type": "text", "text": answer["text"]}] if answer["text"] or not answer["calls"] else []
        for index, call in enumerate(answer["calls"]):
            block = {"type": "tool_use", "id": "toolu_" + identifier(answer, index), "name": call["name"]}
            blocks.append({**block, "input": call["arguments"]})
        return blocks

    def whole(answer):
        return {
            # Clients merge answers with the same id.
            "id": f"msg_{answer['number']}_{answer['salt']}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": Anthropic.blocks(answer),
            "stop_reason": "tool_use" if answer["calls"] else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }

    def events(answer):
        message = Anthropic.whole(answer)
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                start = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": half} for half in halves(block["text"])]
            else:
                start, text = {**block, "input": {}}, json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves(text)]
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}
        yield {"type": "message_stop"}


class Chat(Wire):
    """OpenAI's chat completions."""

    name = "openai-chat"

    def fits(path):
        return path.endswith("/chat/completions")

    def offered(body):
        return [tool["function"]["name"] for tool in body.get("tools") or [] if "function" in tool]

    def calls(body):
        turns = [message.get("tool_calls") or [] for message in body["messages"] if message["role"] == "assistant"]
        return [[call["function"]["name"] for call in turn] for turn in turns if turn]

    def results(body):
        return [text_of(message["content"]) for message in body["messages"] if message["role"] == "tool"]

    def schema(body):
        shape = body.get("response_format") or {}
        return shape.get("json_schema", {}).get("schema", {}) if "json" in shape.get("type", "") else None

    def message(answer):
        message = {"role": "assistant", "content": answer["text"] or None}
        if answer["calls"]:
            message["tool_calls"] = [
                {
                    "index": index,
                    "id": identifier(answer, index),
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                }
                for index, call in enumerate(answer["calls"])
            ]
        return message

    def shell(answer, kind, choice, **more):
        choices = [] if choice is None else [{"index": 0, **choice}]
        own = {"id": f"chatcmpl-{answer['salt']}", "object": kind, "created": 1, "model": MODEL}
        return {**own, "choices": choices, **more}

    USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def whole(answer):
        choice = {"message": Chat.message(answer), "finish_reason": "tool_calls" if answer["calls"] else "stop"}
        return Chat.shell(answer, "chat.completion", choice, usage=Chat.USAGE)

    def events(answer):
        message, kind = Chat.message(answer), "chat.completion.chunk"

        def chunk(delta, reason=None):
            return Chat.shell(answer, kind, {"delta": delta, "finish_reason": reason})

        yield chunk({"role": "assistant", "content": ""})
        for half in halves(answer["text"]):
            yield chunk({"content": half})
        for call in message.get("tool_calls", []):
            function = call["function"]
            yield chunk({"tool_calls": [{**call, "function": {**function, "arguments": ""}}]})
            for half in halves(function["arguments"]):
                yield chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": half}}]})
        yield chunk({}, "tool_calls" if answer["calls"] else "stop")
        yield Chat.shell(answer, kind, None, usage=Chat.USAGE)
        yield "[DONE]"


class Responses(Wire):
    """OpenAI's responses. Tools can be in a namespace, whose name we prepend to theirs."""

    name = "openai-responses"

    def fits(path):
        return path.endswith("/responses")

    def flatten(tools):
        """Yields the visible name, the namespace, and the tool's own name."""
        for tool in tools or []:
            if tool.get("type") == "namespace":
                space = tool["name"]
                separator = "" if space.endswith("__") else "__"
                yield from ((space + separator + name, space, own) for name, _, own in Responses.flatten(tool["tools"]))
            elif tool.get("type") == "tool_search":
                yield "tool_search", None, "tool_search"
            elif "name" in tool:
                yield tool["name"], None, tool["name"]

    def tools(body):
        """Returns the tools. Some models of Codex get further tools in the conversation."""
        more = [item["tools"] for item in Responses.items(body) if item.get("type") == "additional_tools"]
        return [*(body.get("tools") or []), *(tool for tools in more for tool in tools)]

    def offered(body):
        return [shown for shown, _, _ in Responses.flatten(Responses.tools(body))]

    def search_query(_full, tool):
        """Returns the bare name, because Codex compares words. A name with its prefix is one word that no tool has."""
        return tool

    def code(body):
        """Returns whether a program calls the tools. The program is the input of a tool."""
        spaces = [tool for tool in Responses.tools(body) if tool.get("name") == "functions"]
        return any(tool.get("type") == "custom" and tool["name"] == "exec" for space in spaces for tool in space["tools"])

    def found(body):
        return [shown for item in Responses.search_outputs(body) for shown, _, _ in Responses.flatten(item.get("tools"))]

    def search_outputs(body):
        return [item for item in Responses.items(body) if item.get("type") == "tool_search_output"]

    def items(body):
        return body["input"] if isinstance(body.get("input"), list) else []

    def calls(body):
        """Groups calls by turn. Calls are consecutive items, and their ids contain the number of the turn."""
        turns = {}
        for item in Responses.items(body):
            kind = item.get("type")
            if kind in ("function_call", "custom_tool_call", "tool_search_call"):
                name = "tool_search" if kind == "tool_search_call" else item["name"]
                number = item["call_id"].split("_")[1:2]
                turns.setdefault((kind == "tool_search_call", *number), []).append(name)
        return list(turns.values())

    def results(body):
        outputs = ("function_call_output", "custom_tool_call_output")
        return [text_of(item["output"]) for item in Responses.items(body) if item.get("type") in outputs]

    def schema(body):
        shape = (body.get("text") or {}).get("format") or {}
        return shape.get("schema", {}) if "json" in shape.get("type", "") else None

    def output(answer):
        items = []
        if answer["text"] or not answer["calls"]:
            part = {"type": "output_text", "text": answer["text"], "annotations": []}
            own = {"type": "message", "id": f"msg_{answer['salt']}", "role": "assistant", "status": "completed"}
            items.append({**own, "content": [part]})
        lists = [Responses.tools(answer["body"]), *(found["tools"] for found in Responses.search_outputs(answer["body"]))]
        spaces = {shown: (space, own) for tools in lists for shown, space, own in Responses.flatten(tools)}
        for index, call in enumerate(answer["calls"]):
            common = {"id": f"item_{index}", "call_id": identifier(answer, index), "status": "completed"}
            if call["name"] == "tool_search":
                items.append({"type": "tool_search_call", "execution": "client", **common, "arguments": call["arguments"]})
                continue
            if call.get("code"):
                program = f"const result = await tools.{call['name']}({json.dumps(call['arguments'])});\n"
                program += 'text(result.content.map(part => part.text).join("\\n"));\n'
                items.append({"type": "custom_tool_call", **common, "name": "exec", "input": program})
                continue
            space, own = spaces.get(call["name"], (None, call["name"]))
            item = {"type": "function_call", **common, "name": own, "arguments": json.dumps(call["arguments"])}
            items.append({**item, "namespace": space} if space else item)
        return items

    def whole(answer, status="completed"):
        return {
            "id": f"resp_{answer['number']}_{answer['salt']}",
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": MODEL,
            "output": Responses.output(answer) if status == "completed" else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 110,
            },
        }

    def events(answer):
        events = [{"type": "response.created", "response": Responses.whole(answer, "in_progress")}]
        for index, item in enumerate(Responses.output(answer)):
            position = {"output_index": index, "item_id": item["id"]}
            start = {**item, "status": "in_progress"}
            if item["type"] == "message":
                start, [part] = {**start, "content": []}, item["content"]
                part_position, text = {**position, "content_index": 0}, part["text"]
                events.append({"type": "response.output_item.added", "output_index": index, "item": start})
                events.append({"type": "response.content_part.added", **part_position, "part": {**part, "text": ""}})
                events += [{"type": "response.output_text.delta", **part_position, "delta": half} for half in halves(text)]
                events.append({"type": "response.output_text.done", **part_position, "text": text})
                events.append({"type": "response.content_part.done", **part_position, "part": part})
            elif item["type"] == "function_call":
                text, kind = item["arguments"], "response.function_call_arguments"
                start["arguments"] = ""
                events.append({"type": "response.output_item.added", "output_index": index, "item": start})
                events += [{"type": f"{kind}.delta", **position, "delta": half} for half in halves(text)]
                events.append({"type": f"{kind}.done", **position, "arguments": text})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": Responses.whole(answer)})
        for number, event in enumerate(events):
            yield {**event, "sequence_number": number}


class Gemini(Wire):
    """Gemini's generateContent and streamGenerateContent."""

    name = "gemini"

    def fits(path):
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def offered(body):
        keys = ("functionDeclarations", "function_declarations")
        lists = [tool.get(key) or [] for tool in body.get("tools") or [] for key in keys]
        return [function["name"] for functions in lists for function in functions]

    def parts(body, key):
        for content in body["contents"] if isinstance(body["contents"], list) else [body["contents"]]:
            yield [part[key] for part in content.get("parts", []) if key in part]

    def calls(body):
        return [[call["name"] for call in turn] for turn in Gemini.parts(body, "functionCall") if turn]

    def results(body):
        answers = [answer["response"] for turn in Gemini.parts(body, "functionResponse") for answer in turn]
        return [text_of(answer.get("output", answer.get("error", answer))) for answer in answers]

    def schema(body):
        config = body.get("generationConfig") or {}
        if "json" not in config.get("responseMimeType", ""):
            return None
        return config.get("responseJsonSchema") or config.get("responseSchema") or {}

    def streams(path, _body):
        return "streamGenerateContent" in path

    def piece(parts, reason=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        last = {"finishReason": reason} if reason else {}
        return {"candidates": [{**candidate, **last}], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "1"}

    def calling(answer):
        calls = [{"name": call["name"], "args": call["arguments"]} for call in answer["calls"]]
        return [{"functionCall": {"id": identifier(answer, index), **call}} for index, call in enumerate(calls)]

    def whole(answer):
        text = [{"text": answer["text"]}] if answer["text"] else []
        return Gemini.piece(text + Gemini.calling(answer), "STOP")

    def events(answer):
        for half in halves(answer["text"]):
            yield Gemini.piece([{"text": half}])
        yield Gemini.piece(Gemini.calling(answer) or [{"text": ""}], "STOP")


WIRES = [Anthropic, Chat, Responses, Gemini]
