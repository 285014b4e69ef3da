import { RlError } from '../../errors.ts'
import { seedOf } from '../../random.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import type { Prompt, TrainingSample, UpdateMetrics, UpdateOptions } from '../port.ts'
import { describeBackend, openBackend } from './backend/backend.ts'
import { openSharedWeights, type SharedWeights } from './backend/shared-weights.ts'
import { activeHeap } from './backend/wasm.ts'
import { adapterOf, readOptimizer, readWeights, writeModelFolder } from './checkpoint.ts'
import type { ModelConfig } from './config.ts'
import { createDecoder } from './decoder/decoder.ts'
import { type Adapter, initLora, loraScale } from './lora.ts'
import {
  assertFits,
  assertTensorsFit,
  cacheBytesPerToken,
  LEAST_PASS,
  memoryLimit,
  memoryNeed,
  type Pass,
  passesOf,
} from './memory.ts'
import type { Calls, LocalGeneration, LocalRequest, Ready, TokenEvent, WorkerOptions } from './messages.ts'
import { type ModelFolder, readModelFolder } from './model-folder.ts'
import { hasFusedKernels } from './ops.ts'
import { initParams, type LocalModel, type Params, parameterCount, paramShapes, variable } from './params.ts'
import type { NamedTensor } from './safetensors.ts'
import { createSampler, type SampleResult } from './sampler.ts'
import type { Draw } from './sampling.ts'
import { createTokenizer, type Tokenizer } from './tokenizer.ts'
import { createTrainer } from './trainer.ts'

/** A model in this thread's memory that can sample and learn. */
export type ResidentModel = {
  readonly ready: Ready
  generate(
    requests: readonly LocalRequest[],
    signal: AbortSignal,
    onToken: ((event: TokenEvent) => void) | undefined,
  ): Promise<LocalGeneration[]>
  /** Resolves when no sampling runs. The calls below must run alone. */
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

/** Tokens of the smallest cache. Two short sequences fit into it. */
const LEAST_CACHE_TOKENS = 1024

/**
 * Opens a model.
 * @throws RlError `model.memory` before any weight is read, if the model cannot fit
 */
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
  // A sequence must fit into the cache as a whole.
  const config: ModelConfig = { ...whole, contextTokens: Math.min(wanted, cacheTokens) }
  const fresh = lora && !folder?.isAdapter ? initLora(config, lora, seedOf(lora.seed, 'lora')) : null
  const stored = folder ? await adapterOf(folder) : null
  const adapter = stored ?? fresh
  const trainable = adapter
    ? adapter.tensors.reduce((sum, { values }) => sum + values.length, 0)
    : parameterCount(config)
  const needed = (training: ({ readonly tokens: number } & Pass) | null) =>
    memoryNeed(config, {
      trainable: training ? trainable : 0,
      cacheBytes: cacheTokens * perToken,
      ...(training ?? { tokens: 0 }),
      packs: backend.name === 'wasm',
    })
  // The limit counts the memory before anything was taken.
  const limit = memoryLimit(backend.name)
  assertTensorsFit(name, config, backend.mostTensorBytes)
  const composed = (longest: number) => (hasFusedKernels() ? {} : { composedTokens: longest })
  const least = Math.min(LEAST_PASS, whole.contextTokens)
  const leastPass = { tokens: least, recompute: true, ...composed(least) }
  assertFits(name, needed(options.trains ? leastPass : null), limit)

  // Trained weights differ between processes.
  const heap = adapter || !options.trains ? activeHeap() : undefined
  const shared = folder && heap && (await openSharedWeights(heap))
  const base = folder
    ? await loadParams(folder, shared)
    : initParams(config, seedOf(freshSeed(options), 'weights'))
  const moments = folder && (await readOptimizer(folder.folder))
  const params: Params = new Map([...base, ...adapterVariables(adapter)])
  const model: LocalModel = { config, params, loraScale: adapter ? loraScale(adapter.lora) : 1 }
  // Scoring and learning use no cache, so only the model's own context limits them.
  const trainer = createTrainer({ ...model, config: whole })
  if (moments) trainer.optimizer.importState(moments)
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
      trainable,
      backend: describeBackend(backend),
      cacheTokens: decoder.capacity,
    },
    async generate(requests, signal, onToken) {
      const failed = new AbortController()
      const either = AbortSignal.any([signal, failed.signal])
      const prompts = requests.map(({ prompt }) => promptTokens(tokenizer, prompt, config))
      const results = requests.map(async (request, index) => {
        const result = await sampler.submit(
          {
            ...request,
            prompt: prompts[index],
            topP: request.topP ?? 1,
            stopTokens: [...(request.stopTokens ?? []), ...specialStops(tokenizer, request)],
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
    score: ({ samples, temperature }) => trainer.score(samples, { temperature }),
    async update({ samples, options }) {
      const lengths = samples.map((sample) => sample.tokens.length)
      const { tokenBudget, layers: trainedLayers } = options
      const free = limit.bytes - needed({ tokens: 0, recompute: false }).total
      const pass = { trainedLayers, ...composed(Math.max(0, ...lengths)) }
      const passes = passesOf(config, lengths, { tokenBudget, free, ...pass })
      const largest = Math.min(
        lengths.reduce((a, b) => a + b, 0),
        passes.mostTokens,
      )
      const recompute = largest > passes.keptTokens
      assertFits(name, needed({ tokens: largest, recompute, ...pass }), limit)
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

function promptTokens(tokenizer: Tokenizer, prompt: Prompt, { contextTokens }: ModelConfig): Int32Array {
  if ('tokens' in prompt) return Int32Array.from(prompt.tokens)
  const text =
    'text' in prompt
      ? prompt.text
      : tokenizer.renderChat(prompt.messages, { variables: prompt.template, tools: prompt.tools })
  const bytes = Buffer.byteLength(text)
  // Even the longest tokens could not hold this prompt, so it is refused without tokenising.
  if (bytes > SHORTENED * tokenizer.mostTokenBytes * contextTokens)
    throw new RlError(`the prompt has ${bytes} bytes; the model's context length is ${contextTokens}`, {
      code: 'model.context',
      hint: 'shorten it',
    })
  return tokenizer.encode(text, { begin: 'text' in prompt })
}

/** Factor by which normal forms may shorten a text. */
const SHORTENED = 4

function teller(index: number, prompt: Int32Array, onToken: (event: TokenEvent) => void) {
  let promptTokens: Int32Array | undefined = prompt
  return (draw: Draw, top: readonly Draw[]) => {
    onToken({ index, draw, top, promptTokens })
    promptTokens = undefined
  }
}

/**
 * Returns the ids of special tokens among the stop texts. Decoded text leaves special tokens out, so they stop by id.
 */
function specialStops(tokenizer: Tokenizer, { stopTexts = [] }: LocalRequest): number[] {
  const ids = stopTexts.map((text) => tokenizer.tokenId(text))
  return ids.filter((id) => id !== undefined).filter((id) => tokenizer.isSpecial(id))
}

function generation(
  tokenizer: Tokenizer,
  { stopTexts = [] }: LocalRequest,
  prompt: Int32Array,
  { tokens, logprobs, finish, stopText, cachedTokens, top }: SampleResult,
): LocalGeneration {
  const whole = tokenizer.decode(tokens)
  const cut = stopText === null ? -1 : whole.indexOf(stopTexts[stopText])
  const last = tokens.length > 0 ? tokenizer.tokenText(tokens[tokens.length - 1]) : ''
  const stoppedBy = stopText ?? (finish === 'stop' ? stopTexts.indexOf(last) : -1)
  return {
    text: cut < 0 ? whole : whole.slice(0, cut),
    finish,
    tokens,
    logprobs,
    promptTokens: prompt,
    stopText: stopTexts[stoppedBy] ?? null,
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

/** Moves each tensor to the backend before it reads the next. So the model is never in memory twice. */
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
  /**
   * Everything that the weights are used with. The length of a text and its end tokens stay as they were at the
   * opening.
   */
  const shapeOf = ({ contextTokens, bosToken, eosTokens, ...shape }: ModelConfig) =>
    JSON.stringify(Object.entries(shape).sort())
  /** Modules, ranks and factor of an adapter. The open model keeps its own. */
  const acting = (one: Adapter | null) =>
    one && JSON.stringify([loraScale(one.lora), ...one.tensors.map(({ name, shape }) => [name, shape])])
  if (shapeOf(next.config) !== shapeOf(config) || acting(own) !== acting(adapter))
    throw new RlError(`${path} holds a model of another shape than the one that is open`, {
      code: 'model.load',
      hint: 'open it as a model of its own',
    })
}
