import { RlError } from '../../errors.ts'
import { seedOf } from '../../random.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { TrainingSample, UpdateMetrics, UpdateOptions } from '../port.ts'
import { describeBackend, openBackend } from './backend/backend.ts'
import { openSharedWeights, type SharedWeights } from './backend/shared-weights.ts'
import { activeHeap } from './backend/wasm.ts'
import { adapterOf, readOptimizer, readWeights, writeModelFolder } from './checkpoint.ts'
import type { ModelConfig } from './config.ts'
import { createDecoder } from './decoder/decoder.ts'
import { generateTogether } from './generate-together.ts'
import { type Adapter, initLora, loraScale } from './lora.ts'
import { cacheBytesPerToken } from './memory.ts'
import { planMemory } from './memory-plan.ts'
import type { Calls, LocalGeneration, LocalRequest, Ready, TokenEvent, WorkerOptions } from './messages.ts'
import { type ModelFolder, readModelFolder } from './model-folder.ts'
import { numberTokens } from './open-places.ts'
import { initParams, type LocalModel, type Params, parameterCount, paramShapes, variable } from './params.ts'
import type { NamedTensor } from './safetensors.ts'
import { createSampler } from './sampler.ts'
import { createTokenizer } from './tokenizer.ts'
import { createTrainer } from './trainer.ts'

/** A model in this thread's memory, ready for sampling and training. */
export type ResidentModel = {
  readonly ready: Ready
  generate(
    requests: readonly LocalRequest[],
    signal: AbortSignal,
    onToken: ((event: TokenEvent) => void) | undefined,
  ): Promise<LocalGeneration[]>
  /** Resolves when no sampling runs. The methods below must run neither beside sampling nor beside each other. */
  idle(): Promise<void>
  score(call: Calls['score'][0]): Promise<Float32Array[]>
  update(call: {
    readonly samples: readonly TrainingSample[]
    readonly options: UpdateOptions
  }): Promise<UpdateMetrics>
  save(folder: string): Promise<string>
  load(folder: string): Promise<null>
  close(): Promise<null>
}

/** Least tokens of the cache: two short sequences fit. */
const LEAST_CACHE_TOKENS = 1024

/** @throws RlError `model.memory` if the model does not fit, before any weight is read */
export async function openResidentModel(options: WorkerOptions): Promise<ResidentModel> {
  const { source, lora } = options
  const folder = source.kind === 'folder' ? await readModelFolder(source.folder) : undefined
  const { config: whole, tokenizer: files } = folder ?? (source as Exclude<typeof source, { kind: 'folder' }>)
  const name = folder?.folder ?? 'the model'
  const tokenizer = createTokenizer(files, name)
  if (tokenizer.size > whole.vocabSize)
    throw new RlError(`${name}: the tokenizer has ${tokenizer.size} ids, the model ${whole.vocabSize}`, {
      code: 'model.tokenizer',
      hint: 'the tokenizer and the model must belong together',
    })

  const backend = await openBackend(options.backend, options)
  const perToken = cacheBytesPerToken(whole)
  const wanted = Math.min(whole.contextTokens, options.contextTokens ?? Number.POSITIVE_INFINITY)
  const cacheTokens = Math.max(Math.floor(options.cacheBytes / perToken), LEAST_CACHE_TOKENS)
  // A sequence is in the cache as a whole.
  const config: ModelConfig = { ...whole, contextTokens: Math.min(wanted, cacheTokens) }
  const fresh = lora && !folder?.isAdapter ? initLora(config, lora, seedOf(lora.seed, 'lora')) : null
  const stored = folder ? await adapterOf(folder) : null
  const adapter = stored ?? fresh
  const trainable = adapter
    ? adapter.tensors.reduce((sum, { values }) => sum + values.length, 0)
    : parameterCount(config)
  // The plan is made before any memory is taken.
  const memory = planMemory({
    name,
    config,
    trainable,
    cacheBytes: cacheTokens * perToken,
    mostSampleTokens: whole.contextTokens,
    backend,
  })
  memory.assertOpens(options.trains)

  // Trained weights differ in each process, so they are not shared.
  const heap = adapter || !options.trains ? activeHeap() : undefined
  const shared = folder && heap && (await openSharedWeights(heap))
  const base = folder
    ? await loadParams(folder, shared)
    : initParams(config, seedOf(freshSeed(options), 'weights'))
  const moments = folder && (await readOptimizer(folder.folder))
  const params: Params = new Map([...base, ...adapterVariables(adapter)])
  const model: LocalModel = { config, params, loraScale: adapter ? loraScale(adapter.lora) : 1 }
  // Scored and trained samples are in no cache. So only the model's own context limits them.
  const trainer = createTrainer({ ...model, config: whole })
  if (moments) trainer.optimizer.importState(moments)
  const decoder = createDecoder(model, { cacheTokens })
  const sampler = createSampler(config, decoder, {
    maxSequences: options.maxSequences,
    decode: (tokens) => tokenizer.decode(tokens),
    numbers: numberTokens(tokenizer),
  })

  return {
    ready: {
      config,
      tokenizer: files,
      parameters: parameterCount(config),
      trainable,
      backend: describeBackend(backend),
      cacheTokens: decoder.capacity,
    },
    generate: (requests, signal, onToken) =>
      generateTogether({ tokenizer, config, sampler }, requests, signal, onToken),
    idle: () => sampler.idle(),
    score: ({ samples, temperature }) => trainer.score(samples, { temperature }),
    async update({ samples, options }) {
      const lengths = samples.map((sample) => sample.tokens.length)
      const passes = memory.passesFor(lengths, options)
      try {
        return await trainer.update(samples, options, passes)
      } finally {
        sampler.refresh()
      }
    },
    async save(path) {
      const values = await readValues(params)
      const optimizer = await trainer.optimizer.exportState()
      return await writeModelFolder(path, {
        config: whole,
        generation: folder?.generation,
        tokenizer: files,
        weights: [...paramShapes(config).keys()].map((key) => values.get(key)!),
        adapter: adapter && {
          adapter: { lora: adapter.lora, tensors: adapter.tensors.map(({ name }) => values.get(name)!) },
          base: folder!.base,
        },
        optimizer: optimizer.step > 0 ? optimizer : null,
      })
    },
    async load(path) {
      const next = await readModelFolder(path)
      const own = await adapterOf(next)
      assertSameShape(path, next, config, { adapter, own })
      const moments = await readOptimizer(next.folder)
      if (moments) trainer.optimizer.importState(moments)
      else trainer.optimizer.reset()
      if (!adapter || next.base !== folder?.base)
        for await (const tensor of readWeights(next)) assign(params, tensor)
      for (const tensor of own?.tensors ?? []) assign(params, tensor)
      sampler.refresh()
      return null
    },
    async close() {
      sampler.refresh()
      decoder.dispose()
      trainer.dispose()
      for (const value of params.values()) value.dispose()
      shared?.close()
      return null
    },
  }
}

function freshSeed({ source }: WorkerOptions): number {
  return source.kind === 'fresh' ? source.seed : 0
}

function adapterVariables(adapter: Adapter | null): [string, tf.Variable][] {
  return (adapter?.tensors ?? []).map(({ name, values, shape }) => [name, variable(values, shape)])
}

async function readValues(params: Params): Promise<Map<string, NamedTensor>> {
  const values = new Map<string, NamedTensor>()
  for (const [name, value] of params)
    values.set(name, { name, shape: value.shape, values: Float32Array.from(await value.data()) })
  return values
}

/** Each tensor moves to the backend before the next is read, so the model is never in memory twice. */
async function loadParams(folder: ModelFolder, shared: SharedWeights | undefined): Promise<Params> {
  const params = new Map<string, tf.Variable>()
  for await (const { name, shape, values } of readWeights(folder)) {
    const loaded = variable(values, shape)
    shared?.share(loaded)
    params.set(name, loaded)
  }
  return params
}

/** Assigns new values to a variable of the model, which keeps its identity. */
function assign(params: Params, { name, shape, values }: NamedTensor): void {
  if (params.get(name)?.shape.join() !== shape.join())
    throw new RlError(`the open model has no weight ${name} of shape [${shape}]`, {
      code: 'model.load',
      hint: 'open the folder as a model of its own',
    })
  tf.tidy(() => params.get(name)!.assign(tf.tensor(values, [...shape], 'float32')))
}

function assertSameShape(
  path: string,
  next: ModelFolder,
  config: ModelFolder['config'],
  { adapter, own }: { readonly adapter: Adapter | null; readonly own: Adapter | null },
): void {
  /** Everything that affects the weights' use. The limit of texts and their end tokens stay as they were opened. */
  const shapeOf = ({ contextTokens, bosToken, eosTokens, ...shape }: ModelConfig) =>
    JSON.stringify(Object.entries(shape).sort())
  /** The adapter's modules, rank and factor. The open model keeps its own. */
  const acting = (one: Adapter | null) =>
    one && JSON.stringify([loraScale(one.lora), ...one.tensors.map(({ name, shape }) => [name, shape])])
  if (shapeOf(next.config) !== shapeOf(config) || acting(own) !== acting(adapter))
    throw new RlError(`${path} holds a model of another shape than the one that is open`, {
      code: 'model.load',
      hint: 'open it as a model of its own',
    })
}
