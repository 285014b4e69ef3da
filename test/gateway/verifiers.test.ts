/** A taskset of verifiers plays rollouts of a real gateway, before a model that answers by a script. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { joinRun, recordRun } from '../../src/gateway/start.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { lacks, PYTHON } from '../support/python.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { type Asked, completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const SIDECAR = fileURLToPath(new URL('../../integrations/verifiers/sidecar.py', import.meta.url))
const missing = lacks('verifiers.v1')
const root = temporaryFolder()
process.env.RL_RUNS = root
process.env.RL_TEST_VERIFIERS_WORD = 'a-word-of-the-endpoint'
const TASKSETS = fileURLToPath(new URL('.', import.meta.url))

/** Runs the sidecar. Its chat loop is installed by uv, which stands beside the Python. */
function sidecar(words: readonly string[], token = '') {
  const child = spawn(PYTHON, [SIDECAR, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${dirname(PYTHON)}:${process.env.PATH}`,
      PYTHONPATH: TASKSETS,
      HOME: join(root, 'home'),
      RL_GATEWAY_TOKEN: token,
    },
  })
  child.stderr.pipe(process.stderr)
  return child
}

/** Knows that 0 + 40 is 40, and takes all else for 7. verifiers' chat loop asks for a stream, and the head does not. */
function reply({ text: asked, body }: Asked, response: ServerResponse): unknown {
  const content = asked.includes('What is 0 + 40') ? 'It is 40.' : 'It is 7.'
  if (body.stream !== true) return completion({ content }, { prompt: [1], tokens: [2] })
  const said = (choices: readonly object[], more = {}) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices, ...more })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(said([{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }]))
  response.write(said([{ index: 0, delta: {}, finish_reason: 'stop' }]))
  response.write(said([], { usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } }))
  response.end('data: [DONE]\n\n')
  return undefined
}

test('three tasks of verifiers are rollouts with their rewards, and a task that cannot be scored is a fault', async () => {
  if (missing !== null) return console.log(`SKIP verifiers: ${missing}`)
  const endpoint = await startScriptedEndpoint(reply)
  const gateway = await recordRun({
    ...{
      run: 'sums',
      target: { baseUrl: endpoint.url, model: 'scripted' },
      keyEnv: 'RL_TEST_VERIFIERS_WORD',
    },
    ...{ deadlineSeconds: 600, callSeconds: 60, maxRolloutCalls: 10 },
  })
  const { url, token } = gateway.server
  const playing = sidecar(['play', 'sums-taskset', url, '--bring', '--at-a-time', '2'], token)
  const [status] = await once(playing, 'close')
  await gateway.close()
  await endpoint.close()
  assert.is(status, 0)
  const eventsOf = eventsBelow(root)
  const played = eventsOf('sums', ['TrajectoryCompleted']).map(({ data }) => [
    data.observations[0],
    data.outcome.kind === 'scored' ? data.outcome.value : null,
  ])
  assert.equal(played.sort(), [
    ['What is 0 + 40?', 1],
    ['What is 1 + 40?', 0],
  ])
  const failed = eventsOf('sums', ['RolloutFailed'])
  assert.equal(failed.length, 1)
  assert.is(failed[0]?.data.cause, 'env')
  assert.match(JSON.stringify(failed[0]?.data), /nobody knows/)
})

test('a token that is missing, and one that is wrong, are told in a line', async () => {
  if (missing !== null) return console.log(`SKIP the token of verifiers: ${missing}`)
  const endpoint = await startScriptedEndpoint(reply)
  const gateway = await recordRun({
    ...{
      run: 'tokens',
      target: { baseUrl: endpoint.url, model: 'scripted' },
      keyEnv: 'RL_TEST_VERIFIERS_WORD',
    },
    ...{ deadlineSeconds: 600, callSeconds: 60, maxRolloutCalls: 10 },
  })
  for (const [token, said] of [
    ['', /^RL_GATEWAY_TOKEN is not set/],
    ['wrong', /^http.* answers 401/],
  ] as const) {
    const playing = sidecar(['play', 'sums-taskset', gateway.server.url], token)
    let errors = ''
    playing.stderr.on('data', (part: Buffer) => {
      errors += part.toString('utf8')
    })
    playing.stdout.resume()
    assert.equal(await once(playing, 'close'), [1, null])
    assert.match(errors.trim().split('\n').at(-1) ?? '', said)
  }
  await gateway.close()
  await endpoint.close()
})

test('a run asks for rollouts of listed tasks, and they are claimed until it is over', async () => {
  if (missing !== null) return console.log(`SKIP a run with verifiers: ${missing}`)
  const listed = sidecar(['list', 'sums-taskset'])
  const lines = (await text(listed.stdout)).trim().split('\n')
  assert.is(lines.length, 3)
  writeFileSync(join(root, 'tasks.jsonl'), lines.slice(0, 2).join('\n'))
  const endpoint = await startScriptedEndpoint(reply)
  const settings = [
    ...['environment.name=agents', 'environment.player=gateway', 'environment.source=data'],
    ...[`environment.data=${join(root, 'tasks.jsonl')}`, 'environment.tasksPerIteration=2'],
    ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'run.iterations=1'],
    ...['policy.provider=openai', 'policy.acting=free', 'policy.model=scripted'],
    ...[`policy.baseUrl=${endpoint.url}`, 'policy.apiKeyEnv=RL_TEST_VERIFIERS_WORD'],
    ...['rewardModel.mode=off', 'learning.reward=outcome', 'learning.mixedOutcomes=false'],
    ...['adaptation.enabled=false', 'evaluation.splits=[]'],
  ].flatMap((setting) => ['--set', setting])
  const head = startProcess(['src/main.ts', '--role', 'head', '--run', 'asked', ...settings])
  await until('the run begins', () => existsSync(runFolder('asked', root).connection), 240_000)
  const gateway = await joinRun({ run: 'asked', nats: null, token: 'a-token-of-the-gateway' })
  const playing = sidecar(['play', 'sums-taskset', gateway.server.url], 'a-token-of-the-gateway')
  playing.stdout.resume()
  const closed = once(playing, 'close')
  try {
    assert.is(await head.status, 0, head.output())
  } finally {
    head.process.kill('SIGKILL')
    await gateway.close()
  }
  assert.equal(await closed, [0, null])
  await endpoint.close()
  const values = eventsBelow(root)('asked', ['TrajectoryCompleted']).map(({ data: { outcome } }) =>
    outcome.kind === 'scored' ? outcome.value : null,
  )
  assert.equal(values.sort(), [0, 0, 1, 1])
})

test.run()
