/**
 * Speed and memory of the local model on each tensor backend that passes its self-test. PyTorch, eager and
 * compiled, and `generate` of transformers do the same shape in the same run, if the Python that BENCH_PYTHON
 * names has them. Then models of real size follow. Rounds of all engines alternate, so other load on the
 * machine meets all of them. Ratios are of medians of CPU time for one-thread engines. Tokens/s are by wall
 * time.
 *
 *   npm run -s bench -- model [backend ...]
 *
 * webgpu on a software adapter is measured only if it is named alone: its threads work on while others are
 * timed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type BackendName, describeBackend, openBackend } from '../../src/models/local/backend/backend.ts'
import { prepareWebgpu } from '../../src/models/local/backend/webgpu.ts'
import { type ModelConfig, parseModelConfig } from '../../src/models/local/config.ts'
import { createDecoder } from '../../src/models/local/decoder/decoder.ts'
import { disposeParams, initParams, type LocalModel, parameterCount } from '../../src/models/local/params.ts'
import { createSampler } from '../../src/models/local/sampler.ts'
import { createTrainer } from '../../src/models/local/trainer.ts'
import { logits, pack } from '../../src/models/local/transformer.ts'
import type { TrainingSample, UpdateOptions } from '../../src/models/port.ts'
import { rng, seedOf } from '../../src/random.ts'
import * as tf from '../../src/tensorflow/tensorflow.ts'
import { prefixOf } from './model/measure.ts'
import { openTorch, pythonHas, type Timing, type TorchOptions, timed } from './model/torch.ts'
import { type Measurement, median, report } from './report.ts'

/** `times` makes one timing about half a second long, so background work weighs equally on all. */
type Work = { readonly batch: number; readonly times: number } & (
  | { readonly op: 'forward' | 'train'; readonly length: number }
  | { readonly op: 'sample'; readonly steps: number }
)
type Engine = { readonly name: string; run(work: Work): Promise<Timing>; close(): void }

const SIZES = {
  '0.95m': { hidden_size: 128, intermediate_size: 352, num_hidden_layers: 4, num_attention_heads: 4 },
  '5m': { hidden_size: 256, intermediate_size: 704, num_hidden_layers: 6, num_attention_heads: 8 },
  // Neither width is a power of two, six heads of queries share one of keys, and no block of columns divides the vocabulary.
  odd: {
    hidden_size: 384,
    intermediate_size: 1000,
    num_hidden_layers: 4,
    num_attention_heads: 6,
    num_key_value_heads: 1,
    vocab_size: 32_003,
  },
}
const WORK: readonly (Work & { readonly name: string })[] = [
  { name: 'sample_32', op: 'sample', batch: 32, steps: 128, times: 4 },
  { name: 'sample_64', op: 'sample', batch: 64, steps: 128, times: 2 },
  { name: 'forward', op: 'forward', batch: 8, length: 256, times: 6 },
  { name: 'train', op: 'train', batch: 8, length: 256, times: 2 },
]
/** Goals of backends that compute on the processor. Processor time does not show the costs of the others. */
const GOALS: Readonly<Record<string, string>> = { 'wasm-blas': '>= 1', wasm: '>= 0.8' }

function configOf(size: keyof typeof SIZES, contextTokens = 256): ModelConfig {
  return parseModelConfig({
    model_type: 'qwen2',
    vocab_size: 1000,
    max_position_embeddings: contextTokens,
    tie_word_embeddings: true,
    ...SIZES[size],
  })
}

const randomTokens = (length: number, path: number) => {
  const { below } = rng([path, 1])
  return Int32Array.from({ length }, () => below(1000))
}

function localEngine(name: BackendName, model: LocalModel): Engine {
  const trainer = createTrainer(model)
  const decoder = createDecoder(model, { cacheTokens: 64 * 160 })
  const sampler = createSampler(model.config, decoder, { decode: () => '' })
  const options: UpdateOptions = {
    loss: { kind: 'supervised' },
    learningRate: 1e-3,
    weightDecay: 0.01,
    clipNorm: 1,
    updates: 1,
    tokenBudget: 2048,
    seed: [1, 1],
    klLimit: null,
  }
  let round = 0
  return {
    name,
    async run(work) {
      await openBackend(name)
      round++
      if (work.op === 'sample') {
        const prompt = randomTokens(1, round)
        return await timed(work.times * work.batch * work.steps, async () => {
          for (let time = 0; time < work.times; time++)
            await Promise.all(
              Array.from({ length: work.batch }, (_, i) =>
                sampler.submit({
                  prompt,
                  maxTokens: work.steps,
                  temperature: 1,
                  topP: 1,
                  stopTokens: [],
                  stopTexts: [],
                  seed: seedOf(round, time, i),
                }),
              ),
            )
        })
      }
      const sequences = Array.from({ length: work.batch }, (_, i) => randomTokens(work.length, round + i))
      const tokens = work.times * work.batch * work.length
      if (work.op === 'forward')
        return await timed(tokens, async () => {
          for (let i = 0; i < work.times; i++) {
            // Reading one row waits for all, as in PyTorch. Neither copies the logits elsewhere (tf.slice
            // would, on WebAssembly).
            const row = [work.batch * work.length - 1]
            const last = tf.tidy(() => tf.gather(logits(model, pack(sequences)), tf.tensor1d(row, 'int32')))
            await last.data()
            last.dispose()
          }
        })
      const samples = sequences.map((tokens, i): TrainingSample => {
        const ones = new Float32Array(work.length).fill(1)
        const mask = Uint8Array.from(tokens, (_, t) => (t > 0 ? 1 : 0))
        return { id: String(i), tokens, mask, advantages: ones, logprobs: new Float32Array(work.length) }
      })
      return await timed(tokens, async () => {
        for (let i = 0; i < work.times; i++) await trainer.update(samples, options)
      })
    },
    close() {
      trainer.dispose()
      decoder.dispose()
    },
  }
}

/** Returns null if there is no torch, or it cannot compile. */
async function torchEngine(name: string, config: ModelConfig, options: TorchOptions): Promise<Engine | null> {
  try {
    const torch = await openTorch(config, options)
    // A first pass shows whether it can be compiled.
    if (options.compile) await torch?.run({ op: 'train', batch: 8, length: 256, times: 1 })
    return torch && { name, ...torch }
  } catch (error) {
    process.stderr.write(`no rows of ${name}: ${error}\n`)
    return null
  }
}

/** The generate of transformers on its own model of that shape. Returns null if the Python lacks it. */
async function generateEngine(config: ModelConfig): Promise<Engine | null> {
  if (!pythonHas('transformers')) {
    process.stderr.write('no rows beside generate: the Python lacks transformers\n')
    return null
  }
  const torch = await openTorch(config, { threads: 1 })
  return (
    torch && { name: 'generate', run: (work) => torch.run({ ...work, op: 'generate' }), close: torch.close }
  )
}

const BY_DEFAULT: readonly BackendName[] = ['webgpu', 'wasm-blas', 'wasm']

async function usable(wanted: readonly string[]): Promise<BackendName[]> {
  const names: BackendName[] = []
  const allowSoftware = wanted.length > 0
  for (const name of allowSoftware ? (wanted as BackendName[]) : BY_DEFAULT) {
    try {
      if (name === 'webgpu') await prepareWebgpu(allowSoftware)
      process.stderr.write(`${describeBackend(await openBackend(name))}\n`)
      names.push(name)
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    }
  }
  return names
}

type Ratio = Omit<Measurement, 'suite' | 'unit'> & { readonly of: string; readonly note: string }

/** Reports a row of each size and batch. The plain name is that of the worst of them. */
function reportRatios(ratios: readonly Ratio[]): void {
  const tell = ({ name, value, goal, n, note }: Omit<Ratio, 'of'>) =>
    report({ suite: 'model', name, value, unit: 'ratio', goal, n, note })
  for (const { of, ...ratio } of ratios) tell({ ...ratio, name: `${ratio.name}_${of}` })
  for (const name of new Set(ratios.map((ratio) => ratio.name))) {
    const own = ratios.filter((ratio) => ratio.name === name)
    const { of, ...worst } = own.reduce((a, b) => (b.value < a.value ? b : a))
    tell({ ...worst, note: `worst of ${own.length}: ${of}; ${worst.note}` })
  }
}

async function compareEngines(
  size: keyof typeof SIZES,
  backends: readonly BackendName[],
  rounds: number,
  peers: 'all' | 'eager' = 'all',
): Promise<readonly Ratio[]> {
  const ratios: Ratio[] = []
  const config = configOf(size)
  const engines: Engine[] = []
  const models: LocalModel[] = []
  for (const name of backends) {
    await openBackend(name)
    const model = { config, params: initParams(config, [1, 2]), loraScale: 1 }
    models.push(model)
    engines.push(localEngine(name, model))
  }
  const eager = await torchEngine('torch_1', config, { threads: 1 })
  if (eager) engines.push(eager)
  const others =
    eager && peers === 'all'
      ? [
          await torchEngine('torch_2', config, { threads: 2 }),
          await torchEngine('compile', config, { threads: 1, compile: true }),
          await generateEngine(config),
        ]
      : []
  engines.push(...others.filter((engine) => engine !== null))
  for (const { name, ...work } of WORK) {
    const timings = engines.map((): Timing[] => [])
    for (let round = -1; round < rounds; round++)
      for (const [i, engine] of engines.entries()) {
        // Two threads that wait for each other on a shared machine take minutes. One round is enough to see
        // that.
        if (engine.name === 'torch_2' && round !== 0) continue
        // Decoding is compiled anew for each length of the cache.
        if (engine.name === 'compile' && work.op === 'sample') continue
        if (engine.name === 'generate' && work.op !== 'sample') continue
        const timing = await engine.run(work)
        if (round >= 0) timings[i].push(timing)
      }
    const measured = engines
      .map((engine, i) => ({ engine, all: timings[i] }))
      .filter(({ all }) => all.length > 0)
      .map(({ engine, all }) => ({
        engine,
        n: all.length,
        wall: median(all.map(({ tokens, seconds }) => tokens / seconds)),
        cpu: median(all.map(({ tokens, cpu }) => tokens / cpu)),
      }))
    for (const { engine, n, wall, cpu } of measured) {
      const note = `${cpu.toFixed(0)} tokens per CPU second`
      const row = `${size}_${engine.name}_${name}`
      report({ suite: 'model', name: row, value: wall, unit: 'tokens/s', goal: null, n, note })
    }
    const op = name.replace(/_\d+/, '')
    for (const [peer, suffix] of [
      ['torch_1', 'torch'],
      ['compile', 'compile'],
      ['generate', 'generate'],
    ]) {
      const theirs = measured.find(({ engine }) => engine.name === peer)
      if (!theirs) continue
      for (const backend of backends.filter((one) => one in GOALS)) {
        const ours = measured.find(({ engine }) => engine.name === backend)!
        const without = peer === 'generate' || (backend === 'wasm' && peer !== 'torch_1')
        const goal = without ? null : GOALS[backend]
        ratios.push({
          name: `${prefixOf(backend)}${op}_vs_${suffix}`,
          of: name.replace(op, size),
          goal,
          n: rounds,
          value: ours.cpu / theirs.cpu,
          note: `by wall time ${(ours.wall / theirs.wall).toFixed(2)}`,
        })
      }
    }
  }
  for (const engine of engines) engine.close()
  for (const { params } of models) disposeParams(params)
  return ratios
}

/**
 * 64 concurrent episodes of 30 steps: about 20 new prompt tokens, then 5 sampled tokens, each step on the
 * cached prefix.
 */
async function episodes(backend: BackendName): Promise<void> {
  await openBackend(backend)
  const config = configOf('0.95m', 1024)
  const model = { config, params: initParams(config, [1, 2]), loraScale: 1 }
  const decoder = createDecoder(model, { cacheTokens: 64 * 800 })
  const sampler = createSampler(config, decoder, { decode: () => '' })
  const prompts = Array.from({ length: 64 }, () => new Int32Array(0))
  let cached = 0
  let prompted = 0
  const { seconds } = await timed(64 * 30 * 25, async () => {
    for (let step = 0; step < 30; step++)
      await Promise.all(
        prompts.map(async (before, i) => {
          const prompt = Int32Array.from([...before, ...randomTokens(18 + ((i + step) % 5), step * 64 + i)])
          const result = await sampler.submit({
            prompt,
            maxTokens: 5,
            temperature: 1,
            topP: 1,
            stopTokens: [],
            stopTexts: [],
            seed: seedOf(7, step, i),
            cacheKey: `episode ${i}`,
          })
          cached += result.cachedTokens
          prompted += prompt.length
          prompts[i] = Int32Array.from([...prompt, ...result.tokens])
        }),
      )
  })
  const note = `${backend}; ${((100 * cached) / prompted).toFixed(1)} % of prompt tokens came from the cache`
  const name = `${prefixOf(backend)}episode_s`
  report({ suite: 'model', name, value: seconds, unit: 's', goal: '<= 30', n: 1, note })
  decoder.dispose()
  disposeParams(model.params)
}

const wanted = process.argv.slice(3)
const backends = await usable(wanted)
const count = parameterCount(configOf('0.95m'))
process.stderr.write(`0.95m has ${count} weights, 5m has ${parameterCount(configOf('5m'))}\n`)
const small = await compareEngines('0.95m', backends, 5)
const rss = process.memoryUsage().rss / 2 ** 20
report({
  suite: 'model',
  name: 'rss_mb',
  value: rss,
  unit: 'MB',
  goal: null,
  n: 1,
  note: `0.95m on ${backends.join(', ')}`,
})
for (const backend of backends) await episodes(backend)
reportRatios([...small, ...(await compareEngines('5m', backends, 3))])
const blas = backends.filter((name) => name === 'wasm-blas')
const odd = blas.length > 0 ? await compareEngines('odd', blas, 3, 'eager') : []
reportRatios(odd.map((ratio) => ({ ...ratio, name: `odd_${ratio.name}`, goal: '>= 1.1' })))
const peak = process.resourceUsage().maxRSS / 1024
report({
  suite: 'model',
  name: 'peak_rss_mb',
  value: peak,
  unit: 'MB',
  goal: null,
  n: 1,
  note: 'whole suite',
})
const released = ['smollm2', 'smollm2_plain', 'qwen05', 'qwen3_06', 'qwen05_gpu', 'llamacpp']
for (const name of wanted.length > 0 ? [] : released) {
  const script = new URL('model/released.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [...process.execArgv, script, name], { stdio: 'inherit' })
  const [status] = await once(child, 'exit')
  if (status !== 0) {
    process.stderr.write(`${name} ended with ${status}\n`)
    process.exitCode = 1
  }
}
process.exit()
