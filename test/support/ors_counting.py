"""An ORS server of the package ors-sdk 0.1: count to a number. Usage: ors_counting.py PORT [failing]

With `failing` it has a tool that fails.
"""

import sys

from ors import Environment, Server, TextBlock, ToolOutput, tool
from pydantic import BaseModel, Field


class Add(BaseModel):
    by: int = Field(ge=1, le=3)


class Counting(Environment):
    def setup(self):
        self.count = 0

    @classmethod
    def list_splits(cls):
        return ["train", "test"]

    @classmethod
    def list_tasks(cls, split):
        goals = [3, 4, 5] if split == "train" else [6]
        return [{"id": f"count-{goal}", "goal": f"count to {goal}", "to": goal} for goal in goals]

    def get_prompt(self):
        return [TextBlock(text=f"Count to {self.task_spec['to']}.")]

    @tool
    def add(self, given: Add) -> ToolOutput:
        """Adds to the count. Reaching the goal pays 1, going beyond it ends without."""
        self.count += given.by
        goal = self.task_spec["to"]
        return ToolOutput(
            blocks=[TextBlock(text=f"the count is {self.count}\n\n" + "é" * 5000)],
            reward=1.0 if self.count == goal else 0.0,
            finished=self.count >= goal,
        )

    @tool
    def look(self) -> ToolOutput:
        """Tells the count. It pays nothing."""
        return ToolOutput(blocks=[TextBlock(text=f"the count is {self.count}")])


def fail(self) -> ToolOutput:
    """Fails."""
    raise ValueError("it fell over")


if "failing" in sys.argv:
    Counting.fail = tool(fail)
Server([Counting]).run(host="127.0.0.1", port=int(sys.argv[1]))
