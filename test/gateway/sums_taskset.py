"""Three sums for verifiers 0.4. The third cannot be scored."""
import os

import verifiers.v1 as vf


class Data(vf.TaskData):
    answer: int


class Sum(vf.Task[Data]):
    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        # verifiers gives a model's commands all variables but those with this word.
        seen = {name for name in os.environ if "API_KEY" not in name}
        if "RL_GATEWAY_TOKEN" in seen or any(name.startswith("RL_ROLLOUT") for name in seen):
            raise RuntimeError("a model's commands could tell outcomes")
        if self.data.answer == 42:
            raise RuntimeError("nobody knows")
        return float(str(self.data.answer) in (trace.last_reply or ""))


class Sums(vf.Taskset[Sum]):
    def load(self):
        for i in range(3):
            yield Sum(Data(prompt=f"What is {i} + 40?", answer=i + 40), self.config.task)


__all__ = ["Sums"]
