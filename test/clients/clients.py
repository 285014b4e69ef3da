"""openai, litellm and anthropic for Python against `rl serve` and the gateway. Prints a JSON map of what each call came to."""

import json
import os
import sys

import anthropic
import litellm
import openai

litellm.suppress_debug_info = True
SERVE, SERVE_KEY, GATEWAY, GATEWAY_KEY = (os.environ[name] for name in ("SERVE", "SERVE_KEY", "GATEWAY", "GATEWAY_KEY"))
ASK = [{"role": "user", "content": "hi"}]
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
GUIDED = {"guided_choice": [CALL]}
results = {}


def tried(name, work):
    try:
        results[name] = work()
    except Exception as error:
        results[name] = f"refused: {getattr(error, 'status_code', type(error).__name__)}"


def called(message):
    return f"{message.tool_calls[0].function.name} {message.tool_calls[0].function.arguments}"


def openai_calls(where, url, key):
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
    chat = client.chat.completions
    ask = {"model": "tiny", "messages": ASK, "max_tokens": 8, "seed": 1}
    said = lambda: chat.create(**ask).choices[0].message.content  # noqa: E731
    tried(f"openai {where} chat", lambda: isinstance(said(), str))
    streamed = lambda: "".join(c.choices[0].delta.content or "" for c in chat.create(**ask, stream=True))  # noqa: E731
    tried(f"openai {where} stream", lambda: streamed() == said())
    tried(f"openai {where} logprobs", lambda: len(chat.create(**ask, logprobs=True).choices[0].logprobs.content) > 0)
    long = {**ask, "max_tokens": 200, "tools": [TOOL], "extra_body": GUIDED}
    tried(f"openai {where} tools", lambda: called(chat.create(**long).choices[0].message))
    fixed = {**ask, "max_tokens": 200, "response_format": FORMAT}
    tried(f"openai {where} json_schema", lambda: "ok" in json.loads(chat.create(**fixed).choices[0].message.content))
    tried(f"openai {where} n", lambda: len(chat.create(**ask, n=2).choices))
    tried(f"openai {where} penalties", lambda: chat.create(**ask, frequency_penalty=1))
    tried(f"openai {where} other model", lambda: chat.create(**{**ask, "model": "gpt"}))
    text = lambda: client.completions.create(model="tiny", prompt="hi", max_tokens=4).choices[0].text  # noqa: E731
    tried(f"openai {where} completions", lambda: isinstance(text(), str))
    tried(f"openai {where} models", lambda: client.models.list().data[0].id)
    answer = lambda **more: client.responses.create(model="tiny", input="hi", max_output_tokens=8, **more)  # noqa: E731
    tried(f"openai {where} responses", lambda: isinstance(answer().output_text, str))
    tried(f"openai {where} responses stream", lambda: [event.type for event in answer(stream=True)][-1].split(".")[0])


def litellm_calls(where, url, key):
    ask = {"model": "openai/tiny", "messages": ASK, "api_base": url, "api_key": key, "num_retries": 0}
    ask["max_tokens"] = 8
    said = lambda **more: litellm.completion(**ask, **more)  # noqa: E731
    tried(f"litellm {where} chat", lambda: isinstance(said().choices[0].message.content, str))
    pieces = lambda: sum(1 for _ in said(stream=True)) > 0  # noqa: E731
    tried(f"litellm {where} stream", pieces)
    more = {"tools": [TOOL], "extra_body": GUIDED}
    long = lambda: litellm.completion(**{**ask, "max_tokens": 200}, **more)  # noqa: E731
    tried(f"litellm {where} tools", lambda: called(long().choices[0].message))


def anthropic_calls(where, url, key):
    client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=key, max_retries=0)
    ask = {"model": "tiny", "messages": ASK, "max_tokens": 8}
    tried(f"anthropic {where} messages", lambda: client.messages.create(**ask).type)

    def streamed():
        with client.messages.stream(**ask) as stream:
            return stream.get_final_message().role

    tried(f"anthropic {where} stream", streamed)
    tried(f"anthropic {where} thinking", lambda: client.messages.create(**ask, thinking={"type": "enabled", "budget_tokens": 1024}))
    tried(f"anthropic {where} other model", lambda: client.messages.create(**{**ask, "model": "x"}))


for where, url, key in (("serve", SERVE, SERVE_KEY), ("gateway", GATEWAY, GATEWAY_KEY)):
    openai_calls(where, url, key)
    litellm_calls(where, url, key)
    anthropic_calls(where, url, key)
json.dump(results, sys.stdout)
