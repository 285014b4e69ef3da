/** The layers of a model on a graphics processor: products of TensorFlow.js, and programs of our own around them. */
import { itemAt } from '../../../item-at.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { launch, type Program, unfilled } from '../kernels/wgsl.ts'
import {
  type Addition,
  addProgram,
  attendProgram,
  blocksOf,
  narrowProgram,
  rmsNormProgram,
  swigluProgram,
  writeProgram,
} from '../kernels/wgsl-layer.ts'
import { type LocalModel, weight } from '../params.ts'

export type WebgpuLayers = {
  /** Returns x [rows, width] after the norm with this weight. */
  readonly rmsNorm: (x: tf.Tensor2D, name: string) => tf.Tensor2D
  /** Computes x [rows, hiddenSize] through one layer, whose keys and values `cache` holds. */
  readonly through: (
    layer: number,
    x: tf.Tensor2D,
    rows: tf.Tensor,
    angles: tf.Tensor,
    cache: tf.Tensor,
  ) => tf.Tensor2D
  /** Called after a change of the weights. */
  readonly forget: () => void
}

export function createWebgpuLayers(model: LocalModel): WebgpuLayers {
  const { config, params } = model
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, normEps } = config
  const qWidth = heads * headDim
  const layers = Array.from({ length: config.layers }, (_, layer) =>
    layerPrograms(model, `model.layers.${layer}`),
  )
  const norm = rmsNormProgram(hiddenSize, normEps)
  let small: tf.Tensor[] = []

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

  const through: WebgpuLayers['through'] = (layer, x, rows, angles, cache) => {
    if (small.length === 0) small = layers.map(({ names }) => smallOf(model, names))
    const { at, programs, stacks } = itemAt(layers, layer)
    const ownSmall = itemAt(small, layer)
    const count = x.shape[0]
    const gridOf = (width: number) => [blocksOf(width), count] as const
    /** Returns the inputs that the programs add to products of x. */
    const beside = (x: tf.Tensor2D, stack: Stack | undefined): Parameters<typeof launch>[1] => {
      if (!stack) return { small: ownSmall }
      const downs = stack.modules.map(
        (module, i) => [`a${i}`, weight(params, `${at}.${module}.lora_A.weight`)] as const,
      )
      const inputs = { x, ...Object.fromEntries(downs) }
      return {
        small: ownSmall,
        narrow: run(stack.program, inputs, [stack.columns, count], stack.columns),
      }
    }
    const normed = rmsNorm(x, `${at}.input_layernorm.weight`)
    const ofNormed = (name: 'q' | 'k' | 'v') => times(normed, `${at}.self_attn.${name}_proj`)
    const [q, k, v] = [ofNormed('q'), ofNormed('k'), ofNormed('v')]
    const shared = { rows, angles, ...beside(normed, stacks.qkv) }
    launch(programs.write, { k, v, ...shared }, [kvHeads, count], cache)
    const mixed = run(programs.attend, { q, cache, ...shared }, [heads, count], qWidth)
    const attended = { x, y: times(mixed, `${at}.self_attn.o_proj`), ...beside(mixed, stacks.o) }
    const between = run(programs.addAttention, attended, gridOf(hiddenSize), hiddenSize)

    const inner = rmsNorm(between, `${at}.post_attention_layernorm.weight`)
    const [gate, up] = [times(inner, `${at}.mlp.gate_proj`), times(inner, `${at}.mlp.up_proj`)]
    const gates = { gate, up, ...beside(inner, stacks.gateUp) }
    const gated = run(programs.swiglu, gates, gridOf(intermediateSize), intermediateSize)
    const fed = { x: between, y: times(gated, `${at}.mlp.down_proj`), ...beside(gated, stacks.down) }
    return run(programs.addFeedForward, fed, gridOf(hiddenSize), hiddenSize)
  }

  return { rmsNorm, through, forget: () => tf.dispose(small.splice(0)) }
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
    const [first] = modules
    const rank = first === undefined ? undefined : rankOf(first)
    if (rank === undefined) return undefined
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
  const stacks = {
    qkv: stackOf(hiddenSize, 'self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'),
    o: stackOf(heads * headDim, 'self_attn.o_proj'),
    gateUp: stackOf(hiddenSize, 'mlp.gate_proj', 'mlp.up_proj'),
    down: stackOf(intermediateSize, 'mlp.down_proj'),
  }
  const programs = {
    write: writeProgram(config, {
      k: additionOf('self_attn.k_proj', stacks.qkv),
      v: additionOf('self_attn.v_proj', stacks.qkv),
      norm: place('self_attn.k_norm.weight'),
    }),
    attend: attendProgram(config, {
      q: additionOf('self_attn.q_proj', stacks.qkv),
      norm: place('self_attn.q_norm.weight'),
    }),
    addAttention: addProgram(hiddenSize, additionOf('self_attn.o_proj', stacks.o)),
    swiglu: swigluProgram(
      intermediateSize,
      additionOf('mlp.gate_proj', stacks.gateUp),
      additionOf('mlp.up_proj', stacks.gateUp),
    ),
    addFeedForward: addProgram(hiddenSize, additionOf('mlp.down_proj', stacks.down)),
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
