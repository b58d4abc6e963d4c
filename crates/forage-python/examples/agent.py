"""An agent: a model that searches with Forage's tools until it has an answer.

    BASE_URL=https://api.openai.com/v1 API_KEY=… MODEL=gpt-5-mini python agent.py PATH QUESTION
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

import forage

TURNS = 12


def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Requests the model's next message with the chat completions API, which most providers support."""
    body = json.dumps({"model": os.environ["MODEL"], "messages": messages, "tools": tools}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('API_KEY', 'none')}"}
    request = urllib.request.Request(os.environ["BASE_URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=120) as response:
        message: dict[str, Any] = json.load(response)["choices"][0]["message"]
        return message


def ask(path: str, question: str) -> str:
    with forage.Workspace(path) as workspace:
        tools = workspace.tools("openai")
        messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        for _ in range(TURNS):
            message = complete(messages, tools)
            messages.append(message)
            if not message.get("tool_calls"):
                return str(message["content"])
            for call in message["tool_calls"]:
                try:
                    text = workspace.call(call["function"]["name"], call["function"]["arguments"]).text
                except forage.ForageError as error:
                    text = error.text
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return "no answer"


if __name__ == "__main__":
    print(ask(sys.argv[1], sys.argv[2]))
