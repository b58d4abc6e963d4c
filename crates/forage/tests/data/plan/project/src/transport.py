"""Sends requests over HTTP."""

import asyncio
import json
import os
import urllib.request

from .model import ModelResponse, ToolUse


class HttpTransport:
    def __init__(self, url: str):
        self.url = url

    @classmethod
    def from_environment(cls) -> "HttpTransport":
        return cls(os.environ.get("MODEL_URL", "http://127.0.0.1:8080"))

    async def send(self, messages: list[dict], tools: list[dict]) -> ModelResponse:
        body = json.dumps({"messages": messages, "tools": tools}).encode()
        reply = await asyncio.to_thread(self._post, body)
        uses = [ToolUse(**use) for use in reply.get("tool_uses", [])]
        return ModelResponse(reply["content"], reply.get("text", ""), uses)

    def _post(self, body: bytes) -> dict:
        # TODO: a time limit
        with urllib.request.urlopen(self.url, body) as response:
            return json.load(response)
