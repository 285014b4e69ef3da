"""Plays games of a served environment with openenv's own client. Usage: openenv_client.py URL GAMES SESSIONS

The token is in RL_OPENENV_TOKEN. Each game goes by the solution that the server tells. The last line is won=N steps=N.
"""

import asyncio
import os
import sys

from openenv.core import GenericEnvClient

url, games, sessions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
HEADERS = {"Authorization": f"Bearer {os.environ['RL_OPENENV_TOKEN']}"}


async def play(client, index):
    """Returns whether the game was won by its last action and not before, and the number of actions."""
    result = await client.reset(split="train", index=index, reference=True, episode_id=str(index))
    plan = result.observation["metadata"]["reference"]
    for action in plan:
        if result.done or action not in result.observation["admissible"]:
            return False, len(plan)
        result = await client.step({"action": action})
    state = await client.state()
    told = state["episode_id"] == str(index) and state["step_count"] == len(plan)
    return result.done and result.reward == 1 and told, len(plan)


async def work(waiting, won, steps):
    async with GenericEnvClient(base_url=url, headers=HEADERS) as client:
        while waiting:
            fine, count = await play(client, waiting.pop())
            won.append(fine)
            steps.append(count)


async def main():
    waiting, won, steps = list(range(games)), [], []
    await asyncio.gather(*(work(waiting, won, steps) for _ in range(sessions)))
    print(f"won={sum(won)} steps={sum(steps)}")


asyncio.run(main())
