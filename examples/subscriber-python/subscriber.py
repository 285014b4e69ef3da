"""Follows a run from its first event to its last and counts events by type. Needs nats-py and msgpack alone."""
import asyncio
import collections
import json
import os
import sys
import time

import msgpack
import nats

run = sys.argv[1] if len(sys.argv) > 1 else "demo"
address = os.path.join(os.environ.get("RL_RUNS", "runs"), run, "connection.json")
counts = collections.Counter()
position = 0  # of the last event that was counted
end = None  # the event that ends the run


def count(at, body):
    global position, end
    event = msgpack.unpackb(body)  # id, type, v, run, actor, time, cause, data
    counts[event["type"]] += 1
    position = at
    if event["type"] == "IterationCompleted":
        print(at, "iteration", event["data"]["iteration"], "after", counts["TrajectoryCompleted"], "trajectories", flush=True)
    if event["type"] in ("RunCompleted", "RunFailed"):
        end = event["type"]


async def read(connection):
    """Counts what the log holds beyond `position`."""
    while True:
        request = msgpack.packb({"from": position + 1, "limit": 1000})
        try:
            reply = await connection.request(f"rl.v1.{run}.log.read", request, timeout=5)
        except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
            await asyncio.sleep(0.5)  # the head is on its way back
            continue
        page = msgpack.unpackb(reply.data)
        if page.get("code") in ("bus.busy", "log.not-held"):
            await asyncio.sleep(0.5)  # it has too much in hand
            continue
        for at, body in page["events"]:
            count(at, body)
        if page["next"] > page["head"]:
            return


async def main():
    while not os.path.exists(address):  # the head leaves it there once it is up
        time.sleep(0.1)
    with open(address) as file:
        head = json.load(file)
    connection = await nats.connect(head["url"], user=head["user"], password=head["password"], token=head["token"])
    live = await connection.subscribe(f"rl.v1.{run}.evt.*")
    await read(connection)
    while end is None:
        try:
            message = await live.next_msg(timeout=1)
        except nats.errors.TimeoutError:
            await read(connection)  # quiet: was the last one lost?
            continue
        if not message.subject.startswith(f"rl.v1.{run}.evt.") or "Rl-Position" not in (message.headers or {}):
            continue  # not said by the head
        at = int(message.headers["Rl-Position"])
        if at == position + 1:
            count(at, message.data)
        elif at > position:
            await read(connection)  # something was missed
    await connection.close()
    print(f"{run} ended with {end}: {position} events,", ", ".join(f"{n} {name}" for name, n in counts.most_common(3)))


asyncio.run(main())
