/** Reasoning of endpoints that give no token ids is in the log all the same: as text, bounded. */

import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { JudgeRollouts } from '../../src/actors/decider/jobs.ts'
import { openEndpointPolicy } from '../../src/actors/policy/endpoint-worker.ts'
import { openEndpointJudge } from '../../src/actors/reward-model/endpoint-worker.ts'
import { actIn, serveAct } from '../../src/actors/rollout/act-service.ts'
import { createPlayer } from '../../src/actors/rollout/player.ts'
import type { JobContext } from '../../src/actors/runtime/worker.ts'
import { parseConfig } from '../../src/config.ts'
import { openSetting } from '../../src/environments/open.ts'
import type { EventData, NewEvent } from '../../src/events/catalogue.ts'
import { connectLog, type LogClient } from '../../src/events/log-client.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { requestFor, task } from '../support/household.ts'
import { startTestHead, type TestHead } from '../support/run.ts'
import { completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

let head: TestHead

test.before(async () => {
  head = await startTestHead()
})

test.after(() => head.close())

/** What a rollout's event and its verdicts say where a policy and a judge behind an endpoint answer so. */
async function playedAndJudged(run: string, answer: (judging: boolean, first: boolean) => unknown) {
  let answers = 0
  const endpoint = await startScriptedEndpoint(({ path, body }) =>
    path === '/v1/models' ? { data: [] } : answer('chat_template_kwargs' in body, answers++ === 0),
  )
  const section = { provider: 'openai', baseUrl: endpoint.url }
  const config = parseConfig({
    environment: { name: 'alfworld', tasks: 4 },
    policy: { ...section, model: 'scripted', acting: 'free' },
    rewardModel: { ...section, model: 'scripted', template: { judges: true }, samples: 1 },
  })
  const opened = await openSetting(config)
  const bus = await connectBus(head.addressOf('environment'))
  const log = connectLog({ bus, run: 'test', actor: 'environment' })
  try {
    const policy = await openEndpointPolicy(config, opened, log)
    const { environment } = opened
    const act = actIn(serveAct(policy.act))
    const request = { ...requestFor(0, 2), rollout: run, task: run }
    const own = { ...task, id: run }
    const data = await createPlayer({ environment, act, actDeadlineMs: 60_000 }).play(request, own)
    const events: NewEvent[] = [
      { type: 'TaskAdded', data: { slot: run, split: 'train', index: 0, total: 1, task: own } },
      { type: 'TrajectoryCompleted', data },
    ]
    await log.append(events)
    return { data, scored: await judged(log, data) }
  } finally {
    log.close()
    await bus.close()
    await endpoint.close()
  }

  async function judged(log: LogClient, played: EventData<'TrajectoryCompleted'>) {
    const { iteration, slot, task, rollout, steps } = played
    const judge = await openEndpointJudge(config, opened, log)
    const input: JudgeRollouts = {
      iteration,
      slot,
      task,
      rewardModelVersion: 0,
      rollouts: [{ rollout, steps, seed: [1, 2] }],
    }
    const context = { signal: new AbortController().signal } as JobContext
    const scored = await judge.judge(input, context)
    return scored.map(({ data }) => (data as EventData<'StepScored'>).judgements[0])
  }
}

const thinking = (content: string, reasoning_content: string) => ({
  choices: [{ message: { role: 'assistant', content, reasoning_content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 300, completion_tokens: 20 },
})

test('without token ids the reasoning of each step and of each verdict is kept, its end where it is long', async () => {
  const long = `${'so '.repeat(3_000)}that is why`
  const { data, scored } = await playedAndJudged('without', (judging, first) => {
    if (judging) return thinking('It went to the right place. \\boxed{1}', ` ${long} `)
    return thinking('look', first ? 'I look first' : '')
  })
  assert.is(data.trainable, false)
  assert.equal(data.reasoning, ['I look first', ''])
  assert.is(scored.length, 2)
  for (const { critique, reasoning } of scored) {
    assert.is(critique, 'It went to the right place.')
    assert.is(reasoning, long.slice(-4_000))
  }
})

test('where one step tells token ids and another none, no tokens are kept, and the reasoning of both is', async () => {
  const { data } = await playedAndJudged('mixed', (judging, first) => {
    if (judging) return thinking('\\boxed{1}', '')
    if (!first) return thinking('look', 'I look again')
    return completion(
      { content: 'look', reasoning_content: 'I look first' },
      { prompt: [1, 2], tokens: [3, 4] },
    )
  })
  assert.is(data.trainable, false)
  assert.equal(data.reasoning, ['I look first', 'I look again'])
})

test('a critique that is the reasoning is kept once; with token ids nothing is kept twice', async () => {
  const { data, scored } = await playedAndJudged('with', (judging) =>
    judging
      ? thinking('\\boxed{-1}', 'it went back')
      : completion({ content: 'look', reasoning_content: 'hm' }, { prompt: [1, 2], tokens: [3, 4] }),
  )
  assert.is(data.trainable, true)
  assert.not.ok('reasoning' in data)
  for (const judgement of scored) {
    assert.is(judgement.critique, 'it went back')
    assert.not.ok('reasoning' in judgement)
  }
})

test.run()
