import * as tf from '../../../tensorflow/tensorflow.ts'
import { launch, mostTensorBytes, type Program, unfilled } from '../kernels/wgsl.ts'
import { drawRows, GREEDY } from '../kernels/wgsl-draw.ts'
import {
  type Addition,
  addProgram,
  attendProgram,
  blocksOf,
  copyProgram,
  MOVE,
  MOVE_GRID,
  narrowProgram,
  pageFloats,
  rmsNormProgram,
  swigluProgram,
  writeProgram,
} from '../kernels/wgsl-layer.ts'
import { embedding } from '../ops.ts'
import { type LocalModel, weight } from '../params.ts'
import { headWeight, rotaryAngles } from '../transformer.ts'
import { type Cache, type CachedSequence, PAGE_TOKENS } from './cache.ts'

/** Most new tokens of one pass. Longer batches are cut. */
const PASS_ROWS = 1024

type Batch = Parameters<Cache['step']>[0]
type Row = { readonly sequence: CachedSequence; readonly position: number; readonly token: number }

/** Initial pages of a layer's tensor. It doubles as sequences grow. */
const FIRST_PAGES = 16

/**
 * The cache on a graphics processor: a tensor of pages for each layer, and tables of each sequence's pages. A layer is seven products of
 * TensorFlow.js and seven launches of our own, or eleven with adapters, for any number of sequences.
 * @param pages most pages of the cache, if the device allows that many in one tensor
 */
export function createWebgpuCache(model: LocalModel, pages: number): Cache {
  const { config, params } = model
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, normEps } = config
  const qWidth = heads * headDim
  const page = pageFloats(kvHeads * headDim)
  const mostPages = Math.min(pages, Math.floor(mostTensorBytes() / (4 * page)))
  const layers = Array.from({ length: config.layers }, (_, layer) =>
    layerPrograms(model, `model.layers.${layer}`),
  )
  const norm = rmsNormProgram(hiddenSize, normEps)
  const copy = copyProgram(kvHeads * headDim)
  const tables = new Map<CachedSequence, number[]>()
  const free: number[] = []
  /** One tensor for each layer, all with the same number of pages. */
  let caches: tf.Tensor[] = []
  let room = 0
  let small: tf.Tensor[] = []

  const enlarge = () => {
    const next = Math.min(Math.max(FIRST_PAGES, 2 * room), mostPages)
    caches = layers.map((_, layer) => {
      const cache = tf.keep(unfilled([next * page]))
      const old = caches.at(layer)
      if (old) launch(MOVE, { old }, MOVE_GRID, cache)
      old?.dispose()
      return cache
    })
    for (; room < next; room++) free.push(room)
  }

  const pagesOf = (sequence: CachedSequence) => {
    let own = tables.get(sequence)
    if (!own) {
      own = []
      tables.set(sequence, own)
    }
    return own
  }
  const grow = (sequence: CachedSequence, length: number) => {
    const own = pagesOf(sequence)
    while (own.length * PAGE_TOKENS < length) {
      if (free.length === 0) enlarge()
      own.push(free.pop()!)
    }
  }
  const shrink = (sequence: CachedSequence, length: number) => {
    free.push(...pagesOf(sequence).splice(Math.ceil(length / PAGE_TOKENS)))
    if (length === 0) tables.delete(sequence)
  }
  const forget = () => tf.dispose(small.splice(0))

  const run = (
    program: Program,
    inputs: Parameters<typeof launch>[1],
    grid: readonly [number, number],
    width: number,
  ) => {
    const result = unfilled([grid[1], width])
    launch(program, inputs, grid, result)
    return result as tf.Tensor2D
  }
  const rmsNorm = (x: tf.Tensor2D, name: string) =>
    run(norm, { x, w: weight(params, name) }, [1, x.shape[0]], hiddenSize)
  const times = (x: tf.Tensor2D, module: string) =>
    tf.matMul(x, weight(params, `${module}.weight`) as tf.Tensor2D, false, true) as tf.Tensor2D

  /** Computes x [rows, hiddenSize] through one layer. */
  const through = (layer: number, x: tf.Tensor2D, rows: tf.Tensor, angles: tf.Tensor): tf.Tensor2D => {
    const { at, programs, stacks } = layers[layer]
    const cache = caches[layer]
    const count = x.shape[0]
    const [hiddenGrid, innerGrid] = [hiddenSize, intermediateSize].map(
      (width) => [blocksOf(width), count] as const,
    )
    /** Returns the inputs that the programs add to products of x. */
    const beside = (x: tf.Tensor2D, stack: Stack | undefined): Parameters<typeof launch>[1] => {
      if (!stack) return { small: small[layer] }
      const downs = stack.modules.map(
        (module, i) => [`a${i}`, weight(params, `${at}.${module}.lora_A.weight`)] as const,
      )
      const inputs = { x, ...Object.fromEntries(downs) }
      return {
        small: small[layer],
        narrow: run(stack.program, inputs, [stack.columns, count], stack.columns),
      }
    }
    const normed = rmsNorm(x, `${at}.input_layernorm.weight`)
    const [q, k, v] = ['q', 'k', 'v'].map((name) => times(normed, `${at}.self_attn.${name}_proj`))
    const shared = { rows, angles, ...beside(normed, stacks.qkv) }
    launch(programs.write, { k, v, ...shared }, [kvHeads, count], cache)
    const mixed = run(programs.attend, { q, cache, ...shared }, [heads, count], qWidth)
    const attended = { x, y: times(mixed, `${at}.self_attn.o_proj`), ...beside(mixed, stacks.o) }
    const between = run(programs.addAttention, attended, hiddenGrid, hiddenSize)

    const inner = rmsNorm(between, `${at}.post_attention_layernorm.weight`)
    const [gate, up] = ['gate', 'up'].map((name) => times(inner, `${at}.mlp.${name}_proj`))
    const gates = { gate, up, ...beside(inner, stacks.gateUp) }
    const gated = run(programs.swiglu, gates, innerGrid, intermediateSize)
    const fed = { x: between, y: times(gated, `${at}.mlp.down_proj`), ...beside(gated, stacks.down) }
    return run(programs.addFeedForward, fed, hiddenGrid, hiddenSize)
  }

  /** Returns hidden states of the rows before the last norm, [rows, hiddenSize]. */
  const pass = (batch: readonly Row[]): tf.Tensor2D => {
    const rows = tf.tensor1d(rowTable(batch, pagesOf), 'int32')
    const { cos, sin } = rotaryAngles(
      config,
      Int32Array.from(batch, (row) => row.position),
    )
    const halves = [cos, sin].map((values) => tf.tensor2d(values, [batch.length, headDim / 2]))
    const angles = tf.concat(halves, 1)
    const tokens = Int32Array.from(batch, (row) => row.token)
    let x = embedding(weight(params, 'model.embed_tokens.weight'), tf.tensor1d(tokens, 'int32'))
    for (let layer = 0; layer < config.layers; layer++) {
      const before = x
      x = tf.tidy(() => through(layer, before, rows, angles))
      before.dispose()
    }
    return x
  }

  /** Returns the logits after the last token of each entry, [entries, vocabSize]. */
  const forward = (batch: Batch): tf.Tensor2D => {
    const work: Row[] = []
    for (const { sequence, tokens } of batch) {
      grow(sequence, sequence.length)
      const first = sequence.length - tokens.length
      for (let i = 0; i < tokens.length; i++) work.push({ sequence, position: first + i, token: tokens[i] })
    }
    if (small.length === 0) small = layers.map(({ names }) => smallOf(model, names))
    const finals: tf.Tensor2D[] = []
    for (let start = 0; start < work.length; start += PASS_ROWS) {
      const chunk = work.slice(start, start + PASS_ROWS)
      const last = chunk.flatMap((row, i) => (row.position === row.sequence.length - 1 ? [i] : []))
      const x = tf.tidy(() => {
        const hidden = pass(chunk)
        return last.length === 0 ? undefined : embedding(hidden, tf.tensor1d(last, 'int32'))
      })
      if (x) finals.push(x)
    }
    const final = finals.length === 1 ? finals[0] : (tf.concat(finals, 0) as tf.Tensor2D)
    return tf.matMul(rmsNorm(final, 'model.norm.weight'), headWeight(model) as tf.Tensor2D, false, true)
  }

  return {
    mostPages,
    async step(batch) {
      const out = tf.tidy(() => forward(batch))
      const data = (await out.data()) as Float32Array
      out.dispose()
      return batch.map((_, i) => data.slice(i * config.vocabSize, (i + 1) * config.vocabSize))
    },
    async stepAndDraw(batch) {
      const out = tf.tidy(() => forward(batch))
      const drawn = await drawRows(
        out,
        batch.map(({ drawing }) => drawing ?? GREEDY),
      )
      const results = batch.map(async ({ drawing }, i) => {
        if (drawing) return drawn[i]
        const row = tf.slice(out, [i, 0], [1, config.vocabSize])
        const logits = (await row.data()) as Float32Array
        row.dispose()
        return logits
      })
      const all = await Promise.all(results)
      out.dispose()
      return all
    },
    copy(from, to) {
      grow(to, from.length)
      const target = pagesOf(to)
      const pairs = pagesOf(from).flatMap((page, i) => [page, target[i]])
      if (pairs.length === 0) return
      tf.tidy(() => {
        const list = tf.tensor1d(pairs, 'int32')
        for (const cache of caches) launch(copy, { pages: list }, [target.length, 1], cache)
      })
    },
    truncate: shrink,
    refresh: forget,
    dispose() {
      forget()
      tf.dispose(caches)
    },
  }
}

/** Returns position and start of the page list for each row, followed by the page lists. */
function rowTable(
  batch: readonly Row[],
  pagesOf: (sequence: CachedSequence) => readonly number[],
): Int32Array {
  const starts = new Map<CachedSequence, number>()
  const lists: number[] = []
  const places = batch.flatMap(({ sequence, position }) => {
    if (!starts.has(sequence)) {
      starts.set(sequence, 2 * batch.length + lists.length)
      lists.push(...pagesOf(sequence))
    }
    return [position, starts.get(sequence)!]
  })
  return Int32Array.from([...places, ...lists])
}

/** Adapters with the same input. */
type Stack = { readonly program: Program; readonly modules: readonly string[]; readonly columns: number }

/** Returns the programs of the layer with this name, and the names of the tensors in its `small`, in order. */
function layerPrograms({ config, params }: LocalModel, at: string) {
  const { hiddenSize, intermediateSize, heads, headDim } = config
  const names: string[] = []
  let size = 0
  /** Returns the place of a tensor in `small`, or undefined if the model has none. */
  const place = (name: string): number | undefined => {
    const found = params.get(`${at}.${name}`)
    if (!found) return undefined
    names.push(`${at}.${name}`)
    size += found.size
    return size - found.size
  }
  const rankOf = (module: string) => params.get(`${at}.${module}.lora_A.weight`)?.shape[0]
  const stackOf = (width: number, ...wanted: readonly string[]): Stack | undefined => {
    const modules = wanted.filter((module) => rankOf(module) !== undefined)
    if (modules.length === 0) return undefined
    const rank = rankOf(modules[0])!
    return {
      modules,
      columns: modules.length * rank,
      program: narrowProgram(modules.length, rank, width),
    }
  }
  const additionOf = (module: string, stack: Stack | undefined): Addition => {
    const bias = place(`${module}.bias`)
    const up = place(`${module}.lora_B.weight`)
    const rank = rankOf(module)
    if (!stack || up === undefined || rank === undefined) return { bias }
    const narrow = stack.modules.indexOf(module) * rank
    return { bias, adapter: { rank, up, narrow, columns: stack.columns } }
  }
  const [qModule, kModule, vModule, oModule] = ['q', 'k', 'v', 'o'].map((one) => `self_attn.${one}_proj`)
  const [gateModule, upModule, downModule] = ['gate', 'up', 'down'].map((one) => `mlp.${one}_proj`)
  const stacks = {
    qkv: stackOf(hiddenSize, qModule, kModule, vModule),
    o: stackOf(heads * headDim, oModule),
    gateUp: stackOf(hiddenSize, gateModule, upModule),
    down: stackOf(intermediateSize, downModule),
  }
  const programs = {
    write: writeProgram(config, {
      k: additionOf(kModule, stacks.qkv),
      v: additionOf(vModule, stacks.qkv),
      norm: place('self_attn.k_norm.weight'),
    }),
    attend: attendProgram(config, {
      q: additionOf(qModule, stacks.qkv),
      norm: place('self_attn.q_norm.weight'),
    }),
    addAttention: addProgram(hiddenSize, additionOf(oModule, stacks.o)),
    swiglu: swigluProgram(
      intermediateSize,
      additionOf(gateModule, stacks.gateUp),
      additionOf(upModule, stacks.gateUp),
    ),
    addFeedForward: addProgram(hiddenSize, additionOf(downModule, stacks.down)),
  }
  return { at, names, programs, stacks }
}

/** Concatenates a layer's small tensors. B is multiplied by the adapter's scale. */
function smallOf({ params, loraScale }: LocalModel, names: readonly string[]): tf.Tensor {
  return tf.tidy(() => {
    const parts = names.map((name) => {
      const flat = weight(params, name).reshape([-1]) as tf.Tensor1D
      return name.endsWith('.lora_B.weight') ? (flat.mul(loraScale) as tf.Tensor1D) : flat
    })
    return tf.keep(parts.length === 0 ? tf.zeros([1]) : tf.concat(parts))
  })
}
