/** The rewriter behind an endpoint whose context is short: it reads fewer failures, or says that it cannot be asked. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLanguageRewriter } from '../../../src/actors/adapter/language-rewrite.ts'
import type { RewriteTask } from '../../../src/actors/decider/jobs.ts'
import { createPlayer } from '../../../src/actors/rollout/player.ts'
import { parseConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { connectLog } from '../../../src/events/log-client.ts'
import { connectBus } from '../../../src/events/nats/connect.ts'
import { providerOf } from '../../../src/models/registry.ts'
import { plain } from '../../support/against-endpoint.ts'
import { errorOf } from '../../support/error-of.ts'
import { requestFor } from '../../support/household.ts'
import { startTestHead, type TestHead } from '../../support/run.ts'
import { startScriptedEndpoint } from '../../support/scripted-endpoint.ts'

let head: TestHead

test.before(async () => {
  head = await startTestHead()
})

test.after(() => head.close())

/** Thirty complaints of some hundred characters, the commonest first. */
const critique = Array.from(
  { length: 30 },
  (_, i) => `${40 - i}x complaint number ${i}: ${'went to a wrong place '.repeat(4)}`,
).join('\n')

type Answer = Parameters<typeof startScriptedEndpoint>[0]

const declines: Answer = () =>
  plain('I would rather not.', { usage: { prompt_tokens: 700, completion_tokens: 5 } })

/** What a rewriter makes of a task where the endpoint's list tells this context, after so many failed rollouts of it. */
async function rewriteWithin(
  contextTokens: number,
  { answer = declines, failed = 0, skills = false, iteration = 1 } = {},
) {
  const endpoint = await startScriptedEndpoint((asked, response, index) =>
    asked.path === '/v1/models'
      ? { data: [{ id: 'rewriter', max_model_len: contextTokens }] }
      : answer(asked, response, index),
  )
  const adaptation = {
    ...{ rewriter: 'language-model', provider: 'openai', model: 'rewriter', baseUrl: endpoint.url },
    ...{ samples: 2, maxTokens: 64, concurrency: 1 },
    ...(skills ? { skills } : {}),
  }
  const config = parseConfig({ environment: { name: 'alfworld', tasks: 4 }, adaptation })
  const provider = providerOf(config.adaptation, config)
  const opened = await openSetting(config)
  const [parent] = await opened.environment.tasks('train')
  const bus = await connectBus(head.addressOf('adapter'))
  const log = connectLog({ bus, run: 'test', actor: 'adapter' })
  const job: RewriteTask = {
    ...{ iteration, slot: 'train-0', parent: parent.id, direction: 'easier', critique },
    ...{ parentAccuracy: { successes: 0, n: 4 }, taken: [parent.id], seed: [1, 2] },
  }
  const act = async (asked: readonly unknown[]) =>
    asked.map(() => ({
      ...{ action: 'look', invalid: null, fits: true, continues: false, tokens: null },
      usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    }))
  const player = createPlayer({ environment: opened.environment, act, actDeadlineMs: 60_000 })
  try {
    if (skills)
      head.service.append([
        { type: 'TaskAdded', data: { slot: 'train-0', split: 'train', index: 0, total: 1, task: parent } },
      ])
    for (let index = 0; index < failed; index++) {
      const request = { ...requestFor(index, 1), slot: job.slot, task: parent.id }
      head.service.append([{ type: 'TrajectoryCompleted', data: await player.play(request, parent) }])
    }
    const rewriter = await openLanguageRewriter(
      config.adaptation,
      provider,
      config.run.deadlines,
      opened,
      log,
    )
    const event = await rewriter.rewrite(parent, job, new AbortController().signal).catch(async (error) => {
      // What went on all the same would be asked now.
      await new Promise((resolve) => setTimeout(resolve, 500))
      throw Object.assign(error, { asked: endpoint.asked })
    })
    const prompts = endpoint.asked.filter(({ path }) => path !== '/v1/models')
    return { event, prompts: prompts.map(({ body }) => JSON.stringify(body)), counts: rewriter.counters() }
  } finally {
    log.close()
    await bus.close()
    await endpoint.close()
  }
}

test('a rewriter reads the commonest failures, and as many of them as fit', async () => {
  const whole = await rewriteWithin(8_192)
  assert.is(whole.prompts.length, 2)
  assert.match(whole.prompts[0], 'complaint number 29')
  assert.is(whole.counts['prompts shortened'], undefined)
  const { prompts, counts } = await rewriteWithin(1_536)
  assert.is(prompts.length, 2)
  for (const prompt of prompts) {
    assert.match(prompt, 'complaint number 0')
    assert.not.match(prompt, 'complaint number 29')
  }
  assert.is(counts['prompts shortened'], 1)
})

test('a rewriter whose context holds not even the task rejects by name, and asks nothing', async () => {
  const { event, prompts, counts } = await rewriteWithin(128)
  assert.is(event.type, 'TaskRejected')
  assert.match('reason' in event.data ? event.data.reason : '', 'the prompt is too long')
  assert.equal(prompts, [])
  assert.is(counts['invalid: the prompt is too long'], 1)
})

test('where one summary of a failure cannot be had, no call is spent on the others', async () => {
  const answer: Answer = (_, response) => void response.writeHead(401).end('{"error":{"message":"no"}}')
  const error = await errorOf(rewriteWithin(8_192, { answer, failed: 6 }))
  assert.is(error.code, 'model.endpoint')
  const { asked } = error as unknown as { asked: readonly { path: string }[] }
  const calls = asked.filter(({ path }) => path !== '/v1/models').length
  assert.ok(calls > 0 && calls < 3, `${calls} calls`)
})

test('a rewriter is told the success by kind of task in the iteration before, if a key asks for it', async () => {
  // Six rollouts of iteration 1 failed in the test before, and stay in the log.
  const told = await rewriteWithin(8_192, { skills: true, iteration: 2 })
  assert.match(told.prompts[0], /0 of 4; all tasks of the iteration before, by kind: \w+ 0 of 6/)
  for (const without of [{ iteration: 2 }, { skills: true, iteration: 1 }])
    assert.not.match((await rewriteWithin(8_192, without)).prompts[0], 'by kind')
})

test.run()
