import { RlError } from '../../errors.ts'
import { seedOf } from '../../random.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { Prompt, TrainingSample, UpdateMetrics, UpdateOptions } from '../port.ts'
import { describeBackend, openBackend } from './backend/backend.ts'
import {
  type Checkpoint,
  type ModelFolder,
  readCheckpoint,
  readModelFolder,
  writeModelFolder,
} from './checkpoint.ts'
import { createDecoder } from './decoder/decoder.ts'
import { type Adapter, initLora, loraScale } from './lora.ts'
import { assertFits, cacheBytesPerToken, memoryLimit, memoryNeed } from './memory.ts'
import type {
  LocalGeneration,
  LocalRequest,
  Ready,
  ScoreSample,
  TokenEvent,
  WorkerOptions,
} from './messages.ts'
import {
  initParams,
  type LocalModel,
  type Params,
  parameterCount,
  paramShapes,
  toParams,
  variable,
} from './params.ts'
import type { NamedTensor } from './safetensors.ts'
import { createSampler, type SampleResult } from './sampler.ts'
import type { Draw } from './sampling.ts'
import { createTokenizer, type Tokenizer } from './tokenizer.ts'
import { createTrainer } from './trainer.ts'

/** A model in this thread's memory, ready to sample and to learn. */
export type ResidentModel = {
  readonly ready: Ready
  generate(
    requests: readonly LocalRequest[],
    signal: AbortSignal,
    onToken: ((event: TokenEvent) => void) | undefined,
  ): Promise<LocalGeneration[]>
  /** Resolves when no sampling runs. The calls below must not run beside it or each other. */
  idle(): Promise<void>
  score(samples: readonly ScoreSample[]): Promise<Float32Array[]>
  update(call: {
    readonly samples: readonly TrainingSample[]
    readonly options: UpdateOptions
  }): Promise<UpdateMetrics>
  save(folder: string): Promise<string>
  load(folder: string): Promise<null>
  close(): Promise<null>
}

/** @throws RlError `model.memory` before any weight is read, where the model cannot fit. */
export async function openResidentModel(options: WorkerOptions): Promise<ResidentModel> {
  const { source, lora, cacheBytes } = options
  const folder = source.kind === 'folder' ? await readModelFolder(source.folder) : undefined
  const { config, tokenizer: files } = folder ?? (source as Exclude<typeof source, { kind: 'folder' }>)
  const name = folder?.folder ?? 'the model'
  const tokenizer = createTokenizer(files, name)
  if (tokenizer.size > config.vocabSize)
    throw new RlError(`${name}: the tokenizer has ${tokenizer.size} ids, the model ${config.vocabSize}`, {
      code: 'model.tokenizer',
      hint: 'the tokenizer and the model must belong together',
    })

  const backend = await openBackend(options.backend, { blasThreads: options.blasThreads })
  const perToken = cacheBytesPerToken(config)
  const cacheTokens = Math.max(2 * config.contextTokens, Math.floor(cacheBytes / perToken))
  const fresh = lora && !folder?.isAdapter ? initLora(config, lora, seedOf(lora.seed, 'lora')) : null
  const trainable = folder?.isAdapter || lora ? 0 : parameterCount(config)
  assertFits(name, memoryNeed(config, trainable, cacheTokens * perToken), memoryLimit(backend.name))

  const checkpoint = folder ? await readCheckpoint(folder) : undefined
  const adapter = checkpoint?.adapter ?? fresh
  const base = checkpoint
    ? toParams(config, checkpoint.weights)
    : initParams(config, seedOf(freshSeed(options), 'weights'))
  const params: Params = new Map([...base, ...adapterVariables(adapter)])
  const model: LocalModel = { config, params, loraScale: adapter ? loraScale(adapter.lora) : 1 }
  const trainer = createTrainer(model)
  if (checkpoint?.optimizer) trainer.optimizer.importState(checkpoint.optimizer)
  const decoder = createDecoder(model, { cacheTokens })
  const sampler = createSampler(config, decoder, {
    maxSequences: options.maxSequences,
    decode: (tokens) => tokenizer.decode(tokens),
  })

  return {
    ready: {
      config,
      tokenizer: files,
      parameters: parameterCount(config),
      trainable: adapter ? adapter.tensors.reduce((sum, { values }) => sum + values.length, 0) : trainable,
      backend: describeBackend(backend),
      cacheTokens: decoder.capacity,
    },
    async generate(requests, signal, onToken) {
      const failed = new AbortController()
      const either = AbortSignal.any([signal, failed.signal])
      const prompts = requests.map(({ prompt }) => promptTokens(tokenizer, prompt))
      const results = requests.map(async (request, index) => {
        const result = await sampler.submit(
          {
            ...request,
            prompt: prompts[index],
            topP: request.topP ?? 1,
            stopTokens: request.stopTokens ?? [],
            stopTexts: request.stopTexts ?? [],
            onToken: onToken && teller(index, prompts[index], onToken),
          },
          either,
        )
        return generation(tokenizer, request, prompts[index], result)
      })
      try {
        return await Promise.all(results)
      } catch (error) {
        failed.abort(error)
        await Promise.allSettled(results)
        throw error
      }
    },
    idle: () => sampler.idle(),
    score: (samples) => trainer.score(samples),
    async update({ samples, options }) {
      try {
        return await trainer.update(samples, options)
      } finally {
        sampler.refresh()
      }
    },
    async save(path) {
      const values = await readValues(params)
      const optimizer = await trainer.optimizer.exportState()
      return await writeModelFolder(path, {
        config: folder?.config ?? config,
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
      assertSameShape(path, next, config, adapter)
      const loaded = await readCheckpoint(next)
      if (!adapter || next.base !== folder?.base) assign(params, namedWeights(config, loaded))
      if (loaded.adapter) assign(params, loaded.adapter.tensors)
      if (loaded.optimizer) trainer.optimizer.importState(loaded.optimizer)
      else trainer.optimizer.reset()
      sampler.refresh()
      return null
    },
    async close() {
      sampler.refresh()
      decoder.dispose()
      trainer.dispose()
      for (const value of params.values()) value.dispose()
      return null
    },
  }
}

function promptTokens(tokenizer: Tokenizer, prompt: Prompt): Int32Array {
  if ('tokens' in prompt) return Int32Array.from(prompt.tokens)
  return tokenizer.encode('text' in prompt ? prompt.text : tokenizer.renderChat(prompt.messages))
}

function teller(index: number, prompt: Int32Array, onToken: (event: TokenEvent) => void) {
  let promptTokens: Int32Array | undefined = prompt
  return (draw: Draw, top: readonly Draw[]) => {
    onToken({ index, draw, top, promptTokens })
    promptTokens = undefined
  }
}

function generation(
  tokenizer: Tokenizer,
  { stopTexts = [] }: LocalRequest,
  prompt: Int32Array,
  { tokens, logprobs, finish, stopText, cachedTokens, top }: SampleResult,
): LocalGeneration {
  const whole = tokenizer.decode(tokens)
  const cut = stopText === null ? -1 : whole.indexOf(stopTexts[stopText])
  return {
    text: cut < 0 ? whole : whole.slice(0, cut),
    finish,
    tokens,
    logprobs,
    promptTokens: prompt,
    top,
    usage: { promptTokens: prompt.length, cachedTokens, completionTokens: tokens.length },
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

function namedWeights(config: ModelFolder['config'], { weights }: Checkpoint): NamedTensor[] {
  return [...paramShapes(config)].map(([name, shape]) => ({ name, shape, values: weights.get(name)! }))
}

/** New values for the variables that stand in the model; they keep their identity. */
function assign(params: Params, tensors: readonly NamedTensor[]): void {
  for (const { name, shape } of tensors)
    if (params.get(name)?.shape.join() !== shape.join())
      throw new RlError(`the open model has no weight ${name} of shape [${shape}]`, {
        code: 'model.load',
        hint: 'open the folder as a model of its own',
      })
  for (const { name, shape, values } of tensors)
    tf.tidy(() => params.get(name)!.assign(tf.tensor(values, [...shape], 'float32')))
}

function assertSameShape(
  path: string,
  next: ModelFolder,
  config: ModelFolder['config'],
  adapter: Adapter | null,
): void {
  const shapes = (of: ModelFolder['config']) => JSON.stringify([...paramShapes(of)])
  if (shapes(next.config) !== shapes(config) || next.isAdapter !== (adapter !== null))
    throw new RlError(`${path} holds a model of another shape than the one that is open`, {
      code: 'model.load',
      hint: 'open it as a model of its own',
    })
}
