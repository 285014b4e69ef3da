import '../../support/packages.ts'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { WebEnvironment } from '../../../packages/environment-web/src/environment.ts'
import { hasBrowser } from '../../../packages/environment-web/test/browser.ts'
import { keptModel } from '../../../src/actors/learner/kept-model.ts'
import { rateAt, shuffledPasses, supervise } from '../../../src/actors/learner/supervise.ts'
import { choiceActing } from '../../../src/actors/policy/acting.ts'
import { coldStartPolicy } from '../../../src/actors/policy/cold-start.ts'
import { withDemonstrationTasks } from '../../../src/actors/policy/demonstration-tasks.ts'
import { demonstrate } from '../../../src/actors/policy/demonstrations.ts'
import { demonstrationSample } from '../../../src/actors/policy/samples.ts'
import type { ActRequest } from '../../../src/actors/rollout/act.ts'
import { codecOf, introTokens } from '../../../src/actors/rollout/packing.ts'
import { loadConfig } from '../../../src/config.ts'
import { compactCommand } from '../../../src/environments/alfworld/compact-view.ts'
import { alfworldEnvironment } from '../../../src/environments/alfworld/environment.ts'
import { setting } from '../../../src/environments/alfworld/setting.ts'
import { alfworldWords } from '../../../src/environments/alfworld/words.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { readFloat32, readInt32 } from '../../../src/events/columns.ts'
import { type Compute, openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { seedOf } from '../../../src/random.ts'

const environment = alfworldEnvironment({
  source: { kind: 'generated', seed: 5, counts: { train: 24, 'in-domain': 2, ood: 2 }, size: 'easy' },
})
const tokenizer = createTokenizer(trainWordTokenizer({ words: alfworldWords() }))
const codec = codecOf(tokenizer.encode, environment.view)

test('the expert alone succeeds; with noise it fails now and then; the same seed shows the same', async () => {
  const tasks = await environment.tasks('train')
  const show = (noise: number) =>
    demonstrate(environment, tasks, environment.expert, { noise, maxSteps: 20, seed: seedOf(1) })
  assert.ok((await show(0)).every(({ outcome }) => outcome === 1))
  const noisy = await show(0.8)
  assert.ok(noisy.some(({ outcome }) => outcome < 1))
  assert.equal(await show(0.8), noisy)
  const options = { noise: 0.8, maxSteps: 20, seed: seedOf(1), from: 5 }
  assert.equal(
    await demonstrate(environment, tasks.slice(5, 7), environment.expert, options),
    noisy.slice(5, 7),
  )
})

test('texts of generated games are words of the vocabulary, and compact commands stay different', async () => {
  const tasks = await environment.tasks('train')
  const episodes = await demonstrate(environment, tasks, environment.expert, {
    noise: 0.7,
    maxSteps: 20,
    seed: seedOf(2),
  })
  for (const episode of episodes) {
    const { tokens, mask, allowed } = demonstrationSample(codec, episode, 512)!
    for (const token of tokens) assert.not.ok(tokenizer.tokenText(token).startsWith('##'), episode.goal)
    for (const commands of episode.admissible)
      assert.is(new Set(commands.map(compactCommand)).size, commands.length)
    for (const [t, token] of tokens.entries()) {
      const options = allowed!.tokens.subarray(allowed!.offsets[t], allowed!.offsets[t + 1])
      assert.is(options.length > 1, mask[t] === 1)
      if (mask[t] === 1) assert.ok(options.includes(token))
    }
  }
})

test('demonstrations whose beginning is longer than the context are left out and told, unless all are', async () => {
  const tasks = await environment.tasks('train')
  const starts = []
  for (const task of tasks) {
    const { turn } = await environment.reset(task, { seed: seedOf(1), maxSteps: 5 })
    starts.push(introTokens(codec, task.goal, turn.observation).length + 1)
  }
  const contextTokens = Math.round((Math.min(...starts) + Math.max(...starts)) / 2)
  const longer = starts.filter((length) => length > contextTokens).length
  assert.ok(longer > 0 && longer < tasks.length)
  const cache = mkdtempSync(join(tmpdir(), 'rl-cold-start-'))
  const start = (contextTokens: number) =>
    coldStartPolicy(
      {
        ...{ preset: 'nano', contextTokens, expertNoise: 0, maxSteps: 5, updates: 2, batch: 4 },
        ...{ learningRate: 1e-3, tokenBudget: 2048, seed: seedOf(1) },
      },
      {
        opened: { setting, environment },
        ...{ tasks, cache, compute: {} },
      },
    )
  try {
    assert.is((await start(contextTokens)).tooLong, longer)
    const code = await start(Math.min(...starts) - 1).catch((error) => error.code)
    assert.is(code, 'model.context')
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})

test('a cold start that diverges fails and keeps no model', async () => {
  const { size, encode, files } = tokenizer
  const model = await openLocalModel({
    config: presetConfig('nano', { vocabSize: size, contextTokens: 64, endToken: codec.end }),
    ...{ tokenizer: files, seed: 1, backend: 'wasm' },
  })
  try {
    const tokens = Int32Array.from(encode('go to the cabinet'))
    const mask = Uint8Array.from(tokens, (_, t) => (t === 0 ? 0 : 1))
    const sample = {
      id: 'a',
      tokens,
      mask,
      advantages: Float32Array.from(mask),
      logprobs: new Float32Array(tokens.length),
    }
    const options = { updates: 20, batch: 2, learningRate: 1e38, tokenBudget: 64, seed: seedOf(1) }
    const code = await supervise(model, async () => [sample], options).catch(({ code }) => code)
    assert.is(code, 'model.not-finite')
  } finally {
    await model.close()
  }
})

test('the supervised rate warms up and falls to 0', () => {
  assert.is(rateAt(0), 0)
  assert.ok(Math.abs(rateAt(0.05) - 1) < 1e-9)
  assert.ok(Math.abs(rateAt(1)) < 1e-9)
})

test('shuffled passes: samples that come later join, and each is drawn before any returns', () => {
  const draw = shuffledPasses(seedOf(1))
  const samples = Array.from({ length: 40 }, (_, i) => i)
  const drawn = [10, 20, 30, 40].flatMap((known) => draw(samples.slice(0, known), 10))
  assert.is(new Set(drawn).size, 40)
  assert.is(new Set(draw(samples, 40)).size, 40)
})

test('a start is kept for the backend that made it: with another one sums have other last digits', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'rl-cold-start-'))
  const { size, files } = tokenizer
  const kept = (compute: Compute) =>
    keptModel({
      ...{ cache, name: 'policy', identity: 'a start', compute, report: () => {} },
      open: () =>
        openLocalModel({
          config: presetConfig('nano', { vocabSize: size, contextTokens: 64, endToken: codec.end }),
          ...{ tokenizer: files, seed: 1, ...compute },
        }),
      teach: async () => ({}),
    })
  try {
    const first = await kept({ backend: 'wasm' })
    const other = await kept({ backend: 'cpu' })
    assert.is(other.cached, false)
    assert.is.not(other.folder, first.folder)
    assert.equal(await kept({ backend: 'wasm' }), { ...first, cached: true })
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})

test('one of several makes a start, and the others wait; if it fails, the next one makes it', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'rl-cold-start-'))
  const { size, files } = tokenizer
  const compute = { backend: 'cpu' } as const
  const taught: string[] = []
  const waited: string[] = []
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const kept = (who: string, teach: () => Promise<void>) =>
    keptModel({
      ...{ cache, name: 'policy', identity: 'a start', compute },
      open: () =>
        openLocalModel({
          config: presetConfig('nano', { vocabSize: size, contextTokens: 64, endToken: codec.end }),
          ...{ tokenizer: files, seed: 1, ...compute },
        }),
      async teach() {
        taught.push(who)
        await teach()
        return {}
      },
      report: () => void waited.push(who),
    })
  try {
    const failing = kept('failing', async () => {
      begin()
      while (waited.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
      throw new Error('the teaching failed')
    })
    const failed = failing.then(
      () => null,
      (error: Error) => error.message,
    )
    await begun
    const others = await Promise.all(['one', 'two'].map((who) => kept(who, async () => {})))
    assert.is(await failed, 'the teaching failed')
    assert.equal([...waited].sort(), ['one', 'two'])
    assert.is(taught.length, 2)
    assert.equal(others.map(({ cached }) => cached).sort(), [false, true])
    assert.equal(
      readdirSync(cache),
      others.slice(0, 1).map(({ folder }) => basename(folder)),
    )
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})

test('a cold start is made once; acting records the log-probs that training recomputes', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'rl-cold-start-'))
  try {
    const tasks = (await environment.tasks('train')).slice(0, 8)
    const options = {
      preset: 'nano' as const,
      contextTokens: 256,
      expertNoise: 0.2,
      maxSteps: 10,
      updates: 10,
      batch: 4,
      learningRate: 1e-3,
      tokenBudget: 2048,
      seed: seedOf(4),
    }
    const resources = { opened: { setting, environment }, tasks, cache, compute: {} }
    const first = await coldStartPolicy(options, resources)
    assert.is(first.cached, false)
    assert.ok(first.loss! > 0)
    assert.ok(existsSync(join(first.folder, 'model.safetensors')))
    assert.not.ok(existsSync(join(first.folder, 'optimizer.safetensors')))
    const second = await coldStartPolicy(options, resources)
    assert.equal(second, { ...first, cached: true })

    const model = await openLocalModel({ folder: first.folder })
    try {
      const episode = await environment.reset(tasks[0], { seed: seedOf(1), maxSteps: 10 })
      const { observation, admissible } = episode.turn
      const act: ActRequest = {
        rollout: 'r',
        task: tasks[0].id,
        kind: tasks[0].kind,
        goal: tasks[0].goal,
        observations: [observation],
        actions: [],
        admissible,
        packedTokens: 0,
        policyVersion: 0,
        seed: seedOf(2),
        evaluation: false,
      }
      const turn = choiceActing(codecOf(model.encode, environment.view), 256)(act, {
        temperature: 1,
        topP: 1,
        maxTokens: 24,
      })
      const [generation] = await model.generate([turn.request!])
      const reply = turn.reply(generation)
      assert.ok(admissible.includes(reply.action))
      const columns = reply.tokens!
      const recorded = readFloat32(columns.logprobsF32)
      const [scored] = await model.score([
        {
          tokens: readInt32(columns.tokensI32),
          mask: columns.maskU8,
          allowed: {
            offsets: readInt32(columns.allowedOffsetsI32!),
            tokens: readInt32(columns.allowedI32!),
          },
        },
      ])
      for (const [t, masked] of columns.maskU8.entries())
        if (masked) assert.ok(Math.abs(scored[t] - recorded[t]) < 1e-3, `${scored[t]} ${recorded[t]}`)
    } finally {
      await model.close()
    }
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})

if (hasBrowser())
  test('a browser that was opened for demonstrations ends with them', async () => {
    const config = loadConfig({ set: ['environment={name: web}'] })
    const opened = await openSetting(config)
    try {
      const pool = await withDemonstrationTasks(config, opened, 3, async ({ environment, tasks }) => {
        const { pool } = environment as WebEnvironment
        assert.is(tasks.length, 3)
        assert.type(pool.pid(), 'number')
        return pool
      })
      assert.is(pool.pid(), null)
    } finally {
      await opened.environment.close?.()
    }
  })

test.run()
