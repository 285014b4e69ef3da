"""Three sums for verifiers 0.4. The third cannot be scored."""
import verifiers.v1 as vf


class Data(vf.TaskData):
    answer: int


class Sum(vf.Task[Data]):
    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        if self.data.answer == 42:
            raise RuntimeError("nobody knows")
        return float(str(self.data.answer) in (trace.last_reply or ""))


class Sums(vf.Taskset[Sum]):
    def load(self):
        for i in range(3):
            yield Sum(Data(prompt=f"What is {i} + 40?", answer=i + 40), self.config.task)


__all__ = ["Sums"]
