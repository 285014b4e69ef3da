/** A local policy behind the gateway: agents ask the process that trains it, and no other server is there. */
import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { EventType } from '../../src/events/catalogue.ts'
import { readInt32 } from '../../src/events/columns.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { joinRun } from '../../src/gateway/start.ts'
import { replay } from '../../src/replay/replay.ts'
import { writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const RUN = 'agents'
const eventsOf = <T extends EventType>(type: T) => eventsBelow(root)(RUN, [type])

/** An agent that keeps one base URL for all rollouts, and that likes answers of an even length. */
async function play(gateway: string, token: string, signal: AbortSignal): Promise<void> {
  const post = async (url: string, key: string, body: unknown) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal })
    const text = await answer.text()
    assert.ok(answer.ok, `${answer.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
  while (!signal.aborted) {
    const rollout = await post(`${gateway}/rollouts`, token, { agent: 'even', wait: 5 }).catch((error) => {
      if (!signal.aborted) throw error
    })
    if (!rollout) continue
    const { outcome_url, key, model, task } = rollout
    const messages = [{ role: 'user', content: task.goal }]
    const { choices } = await post(`${gateway}/v1/chat/completions`, key, { model, messages, max_tokens: 4 })
    await post(outcome_url, key, { success: choices[0].message.content.length % 2 === 0 })
  }
}

test('agents play with each version of a policy that learns in its own process, also after it was killed', async () => {
  const folder = join(root, 'model')
  await writeGuessingModel(folder)
  const tasks = [3, 7].map((number) => ({
    id: `guess-${number}`,
    goal: 'Guess a number from 1 to 9.',
    recipe: { number },
  }))
  writeFileSync(join(root, 'tasks.jsonl'), tasks.map((task) => JSON.stringify(task)).join('\n'))
  const settings = [
    ...['environment.name=agents', 'environment.player=gateway', 'environment.source=data'],
    ...[`environment.data=${join(root, 'tasks.jsonl')}`, 'environment.tasksPerIteration=2'],
    ...['environment.rolloutsPerTask=4', 'environment.minGroupSize=2', 'environment.maxSteps=3'],
    ...['policy.provider=local', 'policy.acting=free', `policy.model=${folder}`],
    ...['rewardModel.mode=off', 'learning.reward=outcome'],
    ...['learning.mixedOutcomes=false', 'adaptation.enabled=false', 'evaluation.splits=[]'],
    ...['policy.training.klLimit=null', 'policy.lora.rank=4', 'run.iterations=3', 'backend=wasm'],
  ].flatMap((setting) => ['--set', setting])
  const head = startProcess(['src/main.ts', '--role', 'head', '--no-ui', '--run', RUN, ...settings])
  const token = randomBytes(18).toString('base64url')
  await until('the head is there', () => existsSync(runFolder(RUN, root).connection), 60_000)
  const gateway = await joinRun({ run: RUN, nats: null, token })
  const leaving = new AbortController()
  const agent = play(gateway.server.url, token, leaving.signal)
  try {
    await until('the second version', () => eventsOf('PolicyUpdated').length > 1, 240_000)
    const policies = eventsOf('ActorStarted').filter(({ data }) => data.role === 'policy')
    process.kill(policies[0].data.pid, 'SIGKILL')
    const ended = await Promise.race([head.status, agent.then(() => 'the agent ended before the run')])
    assert.is(ended, 0, head.output())
  } finally {
    leaving.abort()
    head.process.kill('SIGKILL')
    await gateway.close()
  }
  const played = eventsOf('TrajectoryCompleted')
  assert.equal([...new Set(played.map(({ data }) => data.policyVersion))], [0, 1, 2])
  for (const { data } of played) {
    assert.is(data.trainable, true)
    for (const { maskU8, tokensI32 } of data.segments) {
      assert.is(maskU8.length, readInt32(tokensI32).length)
      assert.ok(maskU8.includes(1))
    }
  }
  const updates = eventsOf('PolicyUpdated')
  assert.equal(
    updates.map(({ data }) => data.version),
    [0, 1, 2, 3],
  )
  assert.ok(updates.slice(1).some(({ data }) => data.trainedOn.length > 0 && data.metrics.gradientNorm > 0))
  const log = openLogReader(runFolder(RUN, root).log)
  try {
    const { difference, completed } = replay(log)
    assert.is(difference, null)
    assert.ok(completed)
  } finally {
    log.close()
  }
})

test.run()
