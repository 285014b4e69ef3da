/** The reference trainer beside a run that failed and was resumed, and beside another trainer of the same run. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { encodeBatch } from '../src/actors/learner/batch-file.ts'
import { saveApart } from '../src/actors/learner/checkpoints.ts'
import { parseConfig } from '../src/config.ts'
import type { EventData } from '../src/events/catalogue.ts'
import { connectLog, type LogClient } from '../src/events/log-client.ts'
import { connectBus } from '../src/events/nats/connect.ts'
import { weightsDigest } from '../src/models/local/checkpoint.ts'
import { type LocalModelFace, openLocalModel } from '../src/models/local/model.ts'
import { readModelFolder } from '../src/models/local/model-folder.ts'
import { presetConfig } from '../src/models/local/presets.ts'
import { createTokenizer } from '../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../src/models/local/word-tokenizer.ts'
import { startTrainer, type Trainer } from '../src/trainer/trainer.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from './support/run.ts'

const config = parseConfig({ backend: 'wasm', policy: { trainer: 'external', training: { updates: 1 } } })
const files = trainWordTokenizer({ words: ['go to the cabinet and open it'] })
const root = temporaryFolder()
const before = process.env.RL_RUNS
test.before(() => {
  process.env.RL_RUNS = root
})
test.after(() => {
  if (before === undefined) delete process.env.RL_RUNS
  else process.env.RL_RUNS = before
})

const path = (version: number) => `checkpoints/policy/0000${version}`

type Beside = {
  readonly head: TestHead
  /** Weights of version 0, which lie in the run's folder. */
  readonly sha256: string
  /** Asks for version 1. */
  readonly ready: () => Promise<void>
  /** Version 1 as another trainer answers it: with the weights of version 0. */
  readonly answeredByAnother: () => Promise<void>
  readonly start: (log?: (own: LogClient) => LogClient) => Promise<Trainer>
  readonly reports: readonly string[]
  readonly model: LocalModelFace
}

async function beside(run: string, work: (all: Beside) => Promise<void>): Promise<void> {
  const head = await startTestHead({ run, root })
  const bus = await connectBus({ ...head.addressOf('policy-worker'), name: 'trainer' })
  const log = connectLog({ bus, run, actor: 'policy/trainer' })
  const tokenizer = createTokenizer(files)
  const { size: vocabSize, endToken } = tokenizer
  const model = await openLocalModel({
    config: presetConfig('nano', { vocabSize, contextTokens: 64, endToken }),
    ...{ tokenizer: files, seed: 5, backend: 'wasm' },
  })
  const place = (version: number) => join(root, run, path(version))
  const reports: string[] = []
  const trainers: Trainer[] = []
  try {
    const sha256 = await model.save(place(0))
    const tokens = Int32Array.from(tokenizer.encode('go to the cabinet and open it'))
    const mask = Uint8Array.from(tokens, (_, t) => (t === 0 ? 0 : 1))
    const advantages = Float32Array.from(mask)
    const [logprobs] = await model.score([{ tokens, mask }])
    const sample = { id: '1/train-00000/0#0', tokens, mask, advantages, logprobs, policyVersion: 0 }
    await work({
      ...{ head, sha256, reports, model },
      async ready() {
        const file = await log.putBlob(encodeBatch({ run, version: 1, parentVersion: 0, samples: [sample] }))
        const data: EventData<'BatchReady'> = {
          ...{ iteration: 1, version: 1, parentVersion: 0, format: 'rl-batch/1', file },
          ...{ parent: { run, sha256, path: path(0) }, samples: 1, tokens: 8, trainedTokens: 7 },
          ...{ trainedOn: ['1/train-00000/0'], metrics: {}, options: { ...config.policy.training } },
          ...{ seed: [1, 2], deadlineSeconds: 60 },
        }
        head.service.append([{ type: 'BatchReady', data }])
      },
      async answeredByAnother() {
        await model.save(place(1))
        const checkpoint = { sha256, path: path(1) }
        head.service.append([
          {
            type: 'PolicyUpdated',
            data: {
              ...{ iteration: 1, version: 1, parentVersion: 0, checkpoint, samples: 1 },
              ...{ trainedOn: ['1/train-00000/0'], metrics: {}, stopped: null },
            },
          },
        ])
      },
      async start(logOf = (own) => own) {
        const report = (line: string) => void reports.push(line)
        const trainer = await startTrainer({
          ...{ log: logOf(log), config, role: 'policy', baseFolder: null, report },
        })
        trainers.push(trainer)
        return trainer
      },
    })
  } finally {
    for (const trainer of trainers) await trainer.stop()
    await model.close()
    log.close()
    await bus.close()
    await head.close()
  }
}

test('a run that failed and was resumed is trained on until it is over', () =>
  beside('resumed', async ({ head, ready, start, sha256 }) => {
    head.service.append([
      { type: 'RunFailed', data: { reason: 'no room on the disk' } },
      { type: 'RunResumed', data: { reason: 'the head was started again' } },
    ])
    const trainer = await start()
    const ended = trainer.done.then(() => 'ended')
    await ready()
    const answered = until('version 1', () => head.log.byKey('PolicyUpdated/1') !== null)
    assert.is(await Promise.race([ended, answered.then(() => 'answered')]), 'answered')
    const updated = head.log.byKey('PolicyUpdated/1')?.data as EventData<'PolicyUpdated'>
    assert.is.not(updated.checkpoint?.sha256, sha256)
    head.service.append([{ type: 'RunFailed', data: { reason: 'no room on the disk' } }])
    assert.is(await ended, 'ended')
  }))

for (const call of ['getBlob', 'append'] as const)
  test(`the weights of a version that another trainer made before ${call} stay as the log has them`, () =>
    beside(
      `two-${call.toLowerCase()}`,
      async ({ head, ready, answeredByAnother, start, sha256, reports }) => {
        await ready()
        const trainer = await start((own) => ({
          ...own,
          async [call](...given: never[]) {
            await answeredByAnother()
            return (own[call] as (...all: never[]) => Promise<unknown>)(...given)
          },
        }))
        await until('a report', () => reports.length > 0)
        assert.equal(reports, ['version 1 came too late: the run has gone on'])
        await trainer.stop()
        const { checkpoint } = head.log.byKey('PolicyUpdated/1')!.data as EventData<'PolicyUpdated'>
        assert.is(checkpoint?.sha256, sha256)
        const folder = join(root, head.log.run, checkpoint?.path ?? '')
        assert.is(await weightsDigest(await readModelFolder(folder)), sha256)
      },
    ))

test('a folder that two trainers made alike is taken by both', () =>
  beside('alike', async ({ model }) => {
    const saved = () => saveApart(model, 'alike', 'policy', 1)
    const [one, other] = [await saved(), await saved()]
    assert.equal(one, other)
    assert.is(one.path, `checkpoints/policy/00001-${one.sha256.slice(0, 8)}`)
    const left = readdirSync(join(root, 'alike', 'checkpoints', 'policy'))
    assert.equal(left.sort(), ['00000', `00001-${one.sha256.slice(0, 8)}`])
  }))

test.run()
