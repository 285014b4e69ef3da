/** What comes after an answer: notes on single calls, and outcomes after the agent's end. Gateway and log are real. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { noted } from '../../src/actors/reward-model/noted-steps.ts'
import { runFolder } from '../../src/broker/connection.ts'
import type { EventData, EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { type Gateway, recordRun } from '../../src/gateway/start.ts'
import { treeLines } from '../../src/replay/tree.ts'
import { whyStep } from '../../src/replay/why-step.ts'
import { temporaryFolder } from '../support/run.ts'
import { completion, type ScriptedEndpoint, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
let endpoint: ScriptedEndpoint
let gateway: Gateway

type Taken = {
  readonly rollout: string
  readonly url: string
  readonly outcome_url: string
  readonly key: string
}

test.before(async () => {
  endpoint = await startScriptedEndpoint(() =>
    completion({ content: 'a cat' }, { prompt: [1, 2, 3], tokens: [4] }),
  )
  gateway = await recordRun({
    run: 'late',
    target: { baseUrl: endpoint.url, model: 'scripted' },
    deadlineSeconds: 300,
    callSeconds: 60,
    maxRolloutCalls: 6,
  })
})

test.after(async () => {
  await gateway.close()
  await endpoint.close()
})

const post = (url: string, key: string, body: unknown) =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Takes a rollout and makes one call. */
async function played(id: string): Promise<Taken> {
  const { url, token } = gateway.server
  const taken = (await (
    await post(`${url}/rollouts`, token, { agent: 'test', task: { id, goal: `do ${id}` } })
  ).json()) as Taken
  const asked = await call(taken)
  assert.is(asked.status, 200)
  return taken
}

const call = ({ url, key }: Taken) =>
  post(`${url}/chat/completions`, key, { model: 'scripted', messages: [{ role: 'user', content: 'hm?' }] })

function eventsOf<T extends EventType>(rollout: string, type: T): LoggedEvent<T>[] {
  const log = openLogReader(runFolder('late', root).log)
  try {
    return ([...log.events({ types: [type] })] as LoggedEvent<T>[]).filter(
      ({ data }) => (data as { rollout: string }).rollout === rollout,
    )
  } finally {
    log.close()
  }
}

test('an outcome comes after the end: until then the calls are in the log and nobody may call', async () => {
  const taken = await played('late')
  const { rollout, outcome_url, key } = taken
  const held = await post(outcome_url, key, { pending: true })
  assert.equal(await held.json(), { rollout, ended: 'pending', steps: 1 })
  assert.is(eventsOf(rollout, 'CallsRecorded').length, 1)
  assert.is(eventsOf(rollout, 'TrajectoryCompleted').length, 0)
  assert.is((await call(taken)).status, 410, 'a key of an ended agent calls nobody')
  const noted = await post(outcome_url.replace('outcome', 'steps/0'), key, { score: -1, text: 'a dog' })
  assert.is(noted.status, 200)
  const over = await post(outcome_url, key, { success: true, reason: 'the user kept it' })
  assert.is(over.status, 200)
  const [{ data }] = eventsOf(rollout, 'TrajectoryCompleted')
  assert.equal(data.outcome, { kind: 'scored', value: 1, success: true, reason: 'the user kept it' })
  assert.is(eventsOf(rollout, 'CallsRecorded').length, 1)
  const log = openLogReader(runFolder('late', root).log)
  const told = treeLines(whyStep(log, rollout, 0)).join('\n')
  log.close()
  assert.match(told, /noted by somebody/)
  assert.match(told, /a dog/)
  assert.match(told, /the user kept it/)
  assert.is((await post(outcome_url, key, { pending: true })).status, 409)
})

test('notes are bounded, and name an answered call', async () => {
  const { outcome_url, key, rollout } = await played('noted')
  const note = async (step: string, body: unknown, by = key) =>
    (await post(outcome_url.replace('outcome', `steps/${step}`), by, body)).status
  assert.is(await note('0', { text: 'try the box' }), 200)
  assert.is(await note('0', { score: 1 }, 'rk-other.key'), 401)
  assert.is(await note('1', { score: 1 }), 404)
  assert.is(await note('x', { score: 1 }), 404)
  for (const body of [{}, { score: 2 }, { score: '1' }, { text: '' }, { text: 'x'.repeat(5_000) }, []])
    assert.is(await note('0', body), 400, JSON.stringify(body).slice(0, 40))
  assert.is(eventsOf(rollout, 'StepNoted').length, 1)
  await post(outcome_url, key, { success: false })
  assert.is(await note('0', { score: 1 }), 410)
})

test("somebody's score takes the place of the model's verdict", () => {
  const scored = {
    rollout: 'r',
    iteration: 1,
    step: 0,
    task: 't',
    rewardModelVersion: 0,
    judgements: [
      { critique: 'fine', score: 1, tokensI32: new Uint8Array(4), logprobsF32: new Uint8Array(4) },
    ],
    promptI32: new Uint8Array(4),
    probability: 0.9,
    progress: null,
  } as EventData<'StepScored'>
  const { judgements, probability, ...rest } = noted(
    scored,
    { rollout: 'r', step: 0, score: -0.5, text: 'wrong box' },
    2,
  )
  const own = { critique: 'wrong box', score: -1, tokensI32: new Uint8Array(), logprobsF32: new Uint8Array() }
  assert.equal(judgements, [own, own])
  assert.is(probability, null)
  assert.not.ok('promptI32' in rest)
})

test.run()
