"""A shop assistant with the client of OpenAI for Python."""

import json
import pathlib
import sys

from openai import OpenAI

shop = json.loads((pathlib.Path(__file__).parent.parent / "shop.json").read_text())
client = OpenAI()


def tool(name, description):
    fruit = {"type": "object", "properties": {"fruit": {"type": "string", "enum": list(shop)}}}
    parameters = {**fruit, "required": ["fruit"], "additionalProperties": False}
    function = {"name": name, "description": description, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


TOOLS = [tool("price", "Price of a fruit"), tool("stock", "Crates of a fruit in stock")]
NUMBER = {"type": "object", "properties": {"number": {"type": "string", "enum": ["1", "2", "3", "4", "5"]}}}
ANSWER = {"name": "answer", "strict": True, "schema": {**NUMBER, "required": ["number"], "additionalProperties": False}}

question = sys.argv[1]
messages = [
    {"role": "system", "content": "Look up what is asked, then answer with the number."},
    {"role": "user", "content": question},
]
for turn in range(4):
    with client.chat.completions.stream(
        model="gpt-5-mini",
        messages=messages,
        tools=TOOLS,
        response_format={"type": "json_schema", "json_schema": ANSWER},
    ) as stream:
        message = stream.get_final_completion().choices[0].message
    if not message.tool_calls:
        print(message.content)
        break
    messages.append({"role": "assistant", "tool_calls": [call.model_dump() for call in message.tool_calls]})
    for call in message.tool_calls:
        found = shop[json.loads(call.function.arguments)["fruit"]][call.function.name]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": str(found)})
