/**
 * The loop with policy, judge and rewriter behind a server of another maker: `transformers serve`, which gives neither token ids nor
 * log-probs. RL_TEST_PYTHON (else python3) names a Python that has test/clients/requirements.txt and PyTorch.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { eventsBelow } from './support/logged.ts'
import { startHead, startProgram } from './support/processes.ts'
import { lacks, PYTHON } from './support/python.ts'
import { temporaryFolder, until } from './support/run.ts'
import { writeTinyChatModel } from './support/tiny-chat-model.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const PROGRAM = 'from transformers.cli.transformers import main; main()'

/** Below those that a system gives out by itself: nobody gets it before the server does. */
function freePort(): Promise<number> {
  return new Promise((done) => {
    const port = randomInt(10_000, 30_000)
    const server = createServer()
      .once('error', () => done(freePort()))
      .listen(port, '127.0.0.1', () => server.close(() => done(port)))
  })
}

const isUp = (address: string) =>
  fetch(`${address}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

test('a run with all three roles behind `transformers serve` ends, and says that nothing can be learned from such answers', async () => {
  const missing = lacks('torch', 'accelerate', 'transformers', 'fastapi', 'uvicorn')
  if (missing) {
    process.stdout.write(`SKIP transformers serve: ${missing}\n`)
    return
  }
  const folder = resolve(root, 'model')
  await writeTinyChatModel(folder, 60)
  const port = await freePort()
  const words = ['serve', folder, '--port', String(port), '--host', '127.0.0.1', '--device', 'cpu']
  const server = startProgram(PYTHON, ['-c', PROGRAM, ...words], { HF_HUB_OFFLINE: '1' })
  const address = `http://127.0.0.1:${port}`
  try {
    const ended = server.status.then(() => assert.unreachable(server.output()))
    await Promise.race([until('served', () => isUp(address), 240_000), ended])
    const endpoint = (section: string) => [
      `${section}.provider=openai`,
      `${section}.model=${folder}`,
      `${section}.baseUrl=${address}/v1`,
    ]
    const head = startHead(root, 'run', [
      ...['policy', 'rewardModel', 'adaptation'].flatMap(endpoint),
      ...['policy.acting=numbered', 'policy.maxTokens=12', 'rewardModel.maxTokens=12'],
      ...['rewardModel.mode=fixed', 'rewardModel.samples=1'],
      ...['adaptation.rewriter=language-model', 'adaptation.samples=2', 'adaptation.maxTokens=24'],
      ...['environment.tasks=2', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=2'],
      ...['environment.minGroupSize=2', 'environment.maxSteps=3', 'evaluation.splits=[]', 'run.iterations=1'],
    ])
    assert.is(await head.status, 0, `${head.output()}\n${server.output()}`)
    const played = eventsOf('run', ['TrajectoryCompleted'])
    assert.ok(played.length >= 4, head.output())
    for (const { data } of played) {
      assert.is(data.outcome.kind, 'scored')
      assert.is(data.trainable, false)
    }
    assert.is(eventsOf('run', ['RolloutFailed']).length, 0)
    assert.ok(eventsOf('run', ['StepScored']).some(({ data }) => data.judgements.length === 1))
    assert.match(head.output(), /token ids/)
  } finally {
    server.process.kill('SIGTERM')
    await server.status
  }
})

test.run()
