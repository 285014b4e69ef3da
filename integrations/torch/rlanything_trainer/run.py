"""The run on the other side of NATS: its log is read, its blobs are fetched, events are appended (docs/events.md)."""

import asyncio
import hashlib
import json
import os
import re
import ssl
import time
import uuid
from pathlib import Path

import msgpack
import nats

PASSING = {"log.closing", "log.not-held", "log.disk-full", "bus.busy", "blob.busy"}
"""Refusals that pass by themselves."""


FIRST_SECONDS = float(os.environ.get("RL_TRAINER_CONNECT_SECONDS") or 60)
"""So long a broker is looked for in the beginning."""


def bare(url):
    """An address without what it may hold of a user and a password."""
    return re.sub(r"//[^/@]*@", "//", str(url))


class Away(Exception):
    """Nobody who can answer is there: to be asked again."""


class Refused(Exception):
    """The run does not take what was asked."""


def address(run, role, url, runs):
    """How a worker of the role connects: the environment, else what the head left in the run's folder."""
    user, password, token = (os.environ.get(f"NATS_{name}") or None for name in ("USER", "PASSWORD", "TOKEN"))
    url = url or os.environ.get("NATS_URL")
    if url is None or (user is None and token is None):
        for path in (Path(runs, run, "credentials", f"{role}-worker.json"), Path(runs, run, "connection.json")):
            if path.exists():
                left = json.loads(path.read_text())
                url = url or left["url"]
                if user is None and token is None:
                    user, password, token = (left.get(name) for name in ("user", "password", "token"))
                break
    if url is None:
        raise SystemExit(f"no head of run '{run}' was found in {runs}: give --nats URL, and NATS_USER and NATS_PASSWORD")
    return {"servers": url, "user": user, "password": password, "token": token}


class Run:
    """One connection, in one event loop. Nothing here computes: a loop that stands still loses its connection."""

    def __init__(self, run, role, connection):
        self.run, self.role, self.connection = run, role, connection
        self.author = connection["user"] or role
        self.wake = asyncio.Event()

    async def open(self):
        async def look(_=None):
            self.wake.set()

        ca = os.environ.get("NATS_CA")
        user = self.connection["user"]
        known = {name: value for name, value in self.connection.items() if value is not None}
        await self._reached(known, ca)
        self.nc = await nats.connect(
            **known,
            **({"tls": ssl.create_default_context(cafile=ca)} if ca else {}),
            inbox_prefix=(f"_INBOX_{user}" if user else "_INBOX").encode(),
            max_reconnect_attempts=-1,
            reconnected_cb=look,
            error_cb=_quiet,
        )
        # A live message may be lost with the broker: it says only that it is time to look, and the log says what there is.
        for kind in ("BatchReady", "RunCompleted", "RunFailed"):
            await self.nc.subscribe(f"rl.v1.{self.run}.evt.{kind}", cb=look)

    async def _reached(self, known, ca):
        """A head may still be starting: it is tried for a minute. Errors: SystemExit, which says why."""
        url, until = self.connection["servers"], time.monotonic() + FIRST_SECONDS
        while True:
            try:
                tried = await nats.connect(
                    **known,
                    **({"tls": ssl.create_default_context(cafile=ca)} if ca else {}),
                    **{"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.2, "connect_timeout": 5},
                    error_cb=_quiet,
                )
                return await tried.close()
            except (OSError, ValueError, asyncio.TimeoutError, nats.errors.Error) as error:
                refused = "authorization" in str(error).lower()
                if refused:
                    raise SystemExit(f"rlanything-trainer: {bare(url)} refused the user, token or password") from None
                if isinstance(error, ValueError) or time.monotonic() > until:
                    raise SystemExit(f"rlanything-trainer: nobody listens at {bare(url)} ({type(error).__name__})") from None
                await asyncio.sleep(1)

    async def close(self):
        await self.nc.close()

    async def events(self, kinds):
        """Events of these types from the log's first on, each once, across lost connections; None at its end, where it waits for more."""
        position = 1
        while True:
            self.wake.clear()
            try:
                page = await self._ask("log.read", {"from": position, "types": kinds})
            except (Away, nats.errors.Error, asyncio.TimeoutError) as away:
                print(f"asked again: {away!r}", flush=True)
                page = None
            if page is not None:
                for _, body in page["events"]:
                    yield await self._whole(msgpack.unpackb(body))
                position = page["next"]
                if position <= page["head"]:
                    continue
                yield None
            try:
                await asyncio.wait_for(self.wake.wait(), 5)
            except asyncio.TimeoutError:
                pass

    async def config(self):
        """That which holds now: in a fork it is not the log's first."""
        started = None
        async for event in self.events(["RunStarted"]):
            if event is not None:
                started = event
            elif started is None:
                raise SystemExit(f"the log of run '{self.run}' does not begin with RunStarted: start its head first")
            else:
                return started["data"]["config"]

    async def has(self, key):
        return (await self.again("log.has", {"keys": [key]}))[0] is not None

    async def blob(self, ref):
        content = bytearray()
        while len(content) < ref["bytes"]:
            chunk = (await self.again("blob.get", {**ref, "offset": len(content)}))["chunk"]
            if not chunk:
                raise Refused(f"blob {ref['sha256']} ends at {len(content)} of {ref['bytes']} bytes")
            content += chunk
        if hashlib.sha256(content).hexdigest() != ref["sha256"]:
            raise Refused(f"blob {ref['sha256']} arrived damaged")
        return bytes(content)

    async def append(self, events, cause):
        """Appends all of them or none. Gives whether the last one was in the log before. Errors: Refused."""
        made = [self._event(kind, data, cause) for kind, data in events]
        while True:
            [reply] = await self.again(f"log.append.{self.author}", [made])
            if not isinstance(reply, dict):
                return reply[-1][1] == 1
            if reply["code"] not in PASSING:
                raise Refused(f"{reply['code']}: {reply['message']}")
            await asyncio.sleep(1)

    async def again(self, name, request):
        """Asked until somebody answers: the natural keys of events make asking twice harmless."""
        while True:
            try:
                return await self._ask(name, request)
            except (Away, nats.errors.Error, asyncio.TimeoutError) as away:
                print(f"asked again: {away!r}", flush=True)
                await asyncio.sleep(1)

    async def _ask(self, name, request):
        reply = await self.nc.request(f"rl.v1.{self.run}.{name}", msgpack.packb(request), timeout=10)
        answer = msgpack.unpackb(reply.data)
        if reply.headers and "Rl-Error" in reply.headers:
            raise (Away if answer["code"] in PASSING else Refused)(f"{answer['code']}: {answer['message']}")
        return answer

    async def _whole(self, event):
        """An event whose data is large names a blob in its place."""
        ref = event["data"].get("$blob")
        return event if ref is None else {**event, "data": msgpack.unpackb(await self.blob(ref))}

    def _event(self, kind, data, cause):
        now = int(time.time() * 1000)
        return msgpack.packb(
            {
                **{"id": str(uuid.uuid4()), "type": kind, "v": 1, "run": self.run, "actor": f"{self.role}/trainer"},
                **{"time": now, "cause": cause, "data": data},
            }
        )


async def _quiet(_):
    """Lost connections are told where something waits for them."""
