/** Faults of the policy's model: of one rollout alone, never an outcome; and what lacks token ids cannot be trained. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ActReply, ActRequest } from '../../../src/actors/rollout/act.ts'
import { createPlayer } from '../../../src/actors/rollout/player.ts'
import type { Episode } from '../../../src/environments/port.ts'
import { RlError } from '../../../src/errors.ts'
import { household, requestFor, task } from '../../support/household.ts'

const digest = 'a'.repeat(64)

const request = (index: number) => requestFor(index, 2)

/** A policy behind an endpoint that tells no token ids; the rollout with this index meets a fault at its second step. */
const policy =
  (faulty: number) =>
  async (requests: readonly ActRequest[]): Promise<ActReply[]> =>
    requests.map(({ rollout, admissible, actions }) => ({
      action: admissible[0],
      invalid: 'there is no box',
      fits: true,
      continues: false,
      tokens: null,
      promptSha256: digest,
      usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
      ...(rollout.endsWith(`/${faulty}`) && actions.length === 1 ? { fault: 'rate-limit' } : {}),
    }))

test('a fault fails its own rollout with infra; the others of the batch go on', async () => {
  const player = createPlayer({ environment: household, act: policy(1), actDeadlineMs: 10_000 })
  const results = await Promise.allSettled([0, 1, 2].map((index) => player.play(request(index), task)))
  assert.equal(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const [, failed] = results
  assert.ok(failed.status === 'rejected' && failed.reason instanceof RlError)
  assert.is(failed.reason.code, 'rollout.infra')
  assert.match(failed.reason.message, /rate-limit/)
})

test('what an episode shows may take long to be kept; where it cannot be, that is no fault of the task', async () => {
  const image = { sha256: digest, bytes: 1, mediaType: 'image/png', width: 1, height: 1 }
  const play = (look: () => Promise<unknown>) =>
    createPlayer({ environment: household, act: policy(-1), actDeadlineMs: 50, look: look as never })
      .play(request(0), task)
      .then(
        () => 'played',
        (error: RlError) => error.code,
      )
  const slow = () => new Promise((resolve) => setTimeout(resolve, 200, image))
  assert.is(await play(slow), 'played')
  assert.is(await play(() => Promise.reject(new Error('the disk is full'))), 'rollout.infra')
})

test('files that observations name are kept, and a file that cannot be kept is no fault of the task', async () => {
  const file = Uint8Array.of(1, 2)
  const shown = { observation: 'a picture', admissible: ['look'], done: false, ended: null, files: [file] }
  const over = { ...shown, admissible: [], done: true, ended: 'goal' as const }
  const play = (keep: (kept: Uint8Array) => Promise<unknown>) =>
    createPlayer({
      environment: {
        ...household,
        reset: async (of) => {
          const ended: Episode = { task: of, steps: 1, turn: over, outcome: () => 1, step: () => ended }
          return { ...ended, steps: 0, turn: shown, step: async () => ended }
        },
      },
      act: policy(-1),
      actDeadlineMs: 10_000,
      keep,
    })
      .play(request(0), task)
      .then(
        () => 'played',
        (error: RlError) => error.code,
      )
  const kept: Uint8Array[] = []
  assert.is(await play(async (one) => kept.push(one)), 'played')
  assert.equal(kept, [file, file])
  assert.is(await play(() => Promise.reject(new Error('the disk is full'))), 'rollout.infra')
})

test('a context that is full ends an episode without an outcome where its setting knows none before the end', async () => {
  const unfit = async (requests: readonly ActRequest[]) =>
    (await policy(-1)(requests)).map((reply) => ({ ...reply, fits: false }))
  const play = (outcome: () => number) =>
    createPlayer({
      environment: {
        ...household,
        reset: async (of, options) => ({ ...(await household.reset(of, options)), outcome }),
      },
      act: unfit,
      actDeadlineMs: 10_000,
    }).play(request(0), task)
  const unknown = () => {
    throw new RlError('the episode is not over', { code: 'web.open' })
  }
  assert.is((await play(() => 0)).ended, 'context')
  const failed = await play(unknown).catch((error: unknown) => error)
  assert.ok(failed instanceof RlError)
  assert.is(failed.code, 'rollout.env')
  assert.match(failed.message, /context was full .*the episode is not over/)
})

test('an environment that blames the infrastructure for a start or a step is believed', async () => {
  const broken = (code: string) => new RlError('it broke', { code })
  const start = { turn: { observation: 'a room', admissible: ['go'], done: false, ended: null }, steps: 0 }
  const codeOf = async (fails: 'reset' | 'step', code: string) => {
    const player = createPlayer({
      environment: {
        ...household,
        async reset(of) {
          if (fails === 'reset') throw broken(code)
          return { ...start, task: of, outcome: () => 0, step: async () => Promise.reject(broken(code)) }
        },
      },
      act: policy(-1),
      actDeadlineMs: 10_000,
    })
    const failed = await player.play(request(0), task).catch((error: RlError) => error)
    return failed instanceof RlError ? failed.code : 'played'
  }
  for (const fails of ['reset', 'step'] as const) {
    assert.is(await codeOf(fails, 'rollout.infra'), 'rollout.infra')
    assert.is(await codeOf(fails, 'mine.odd'), 'rollout.env')
  }
})

test('without token ids a trajectory is scored and told untrainable, with the prompt and the invalid answers', async () => {
  const player = createPlayer({ environment: household, act: policy(-1), actDeadlineMs: 10_000 })
  const trajectory = await player.play(request(0), task)
  assert.is(trajectory.outcome.kind, 'scored')
  assert.is(trajectory.trainable, false)
  assert.equal(trajectory.segments, [])
  assert.is(trajectory.promptSha256, digest)
  assert.equal(trajectory.invalid, { 'there is no box': 2 })
})

test.run()
