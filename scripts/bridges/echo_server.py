"""An OpenEnv server that repeats what it is told, made with the package's own server. Usage: echo_server.py PORT SESSIONS"""

import sys

import uvicorn
from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Say(Action):
    action: str


class Heard(Observation):
    text: str = ""


class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()

    def reset(self, seed=None, episode_id=None, **others):
        self._state = State(episode_id=episode_id, step_count=0)
        return Heard(text="say something", done=False, reward=None)

    def step(self, action, timeout_s=None, **others):
        self._state.step_count += 1
        return Heard(text=action.action, done=False, reward=0.0)

    @property
    def state(self):
        return self._state


port, sessions = int(sys.argv[1]), int(sys.argv[2])
app = create_fastapi_app(Echo, Say, Heard, max_concurrent_envs=sessions)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
