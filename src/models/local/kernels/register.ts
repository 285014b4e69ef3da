import { RlError } from '../../../errors.ts'
import { itemAt } from '../../../item-at.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { type AttentionShape, attentionBackward, attentionForward } from './attention.ts'
import { type Heap, sizeOf } from './heap.ts'

/** Names of the inputs of each kernel that the project registers. */
export type KernelInputs = {
  readonly Identity: 'x'
  readonly BatchMatMul: 'a' | 'b'
  readonly EmbeddingRows: 'table' | 'ids'
  readonly UnsortedSegmentSum: 'x' | 'segmentIds'
  readonly BiasAdd: 'x' | 'bias'
  readonly RowSum: 'x'
  readonly RmsNorm: 'x' | 'w'
  readonly RmsNormGrad: 'x' | 'w' | 'inverse' | 'dy'
  readonly Rotary: 'x' | 'cos' | 'sin'
  readonly PackedAttention: 'q' | 'k' | 'v'
  readonly PackedAttentionGrad: 'q' | 'k' | 'v' | 'out' | 'lse' | 'dout'
  readonly SwiGlu: 'gate' | 'up'
  readonly SwiGluGrad: 'gate' | 'up' | 'dy'
  readonly TokenLogprob: 'logits' | 'targets'
  readonly TokenLogprobGrad: 'logits' | 'targets' | 'lse' | 'dlogp'
}

type Implementation<Names extends string> = (
  inputs: { readonly [name in Names]: tf.TensorInfo },
  attrs: Readonly<Record<string, unknown>>,
) => tf.TensorInfo | tf.TensorInfo[]

type Implementations = { readonly [Name in keyof KernelInputs]: Implementation<KernelInputs[Name]> }

/**
 * Registers the project's kernels with TensorFlow.js for the wasm backend. BatchMatMul and UnsortedSegmentSum are replaced, fused kernels
 * are added.
 */
export function registerWasmKernels(heap: Heap): void {
  for (const [kernelName, run] of Object.entries(kernelsOf(heap))) {
    if (tf.getKernel(kernelName, 'wasm')) tf.unregisterKernel(kernelName, 'wasm')
    tf.registerKernel({
      kernelName,
      backendName: 'wasm',
      kernelFunc: ({ inputs, attrs }) => run(inputs as never, (attrs ?? {}) as Record<string, unknown>),
    })
  }
}

function kernelsOf(heap: Heap): Implementations {
  const at = heap.pointer
  const { kernels } = heap
  return {
    /** Shares the values. The backend's own kernel copies them for every saved tensor of a gradient. */
    Identity: ({ x }) => {
      heap.share(x)
      return { dataId: x.dataId, shape: x.shape, dtype: x.dtype }
    },
    BatchMatMul: ({ a, b }, attrs) =>
      matMul(heap, a, b, Boolean(attrs.transposeA), Boolean(attrs.transposeB)),
    /** table [vocab, d], ids [rows] int32 -> [rows, d] */
    EmbeddingRows: ({ table, ids }) => {
      const [rows, d] = [itemAt(ids.shape, 0), itemAt(table.shape, 1)]
      const out = heap.make([rows, d])
      kernels.gatherRows(at(table), at(ids), at(out), rows, d)
      return out
    },
    /** x [rows, ...], segmentIds [rows] int32 -> [numSegments, ...] */
    UnsortedSegmentSum: ({ x, segmentIds }, attrs) => {
      const rows = itemAt(segmentIds.shape, 0)
      const segments = Number(attrs.numSegments)
      const out = heap.zeros([segments, ...x.shape.slice(1)])
      kernels.scatterRows(at(x), at(segmentIds), at(out), rows, sizeOf(x.shape) / Math.max(rows, 1), segments)
      return out
    },
    /** x [rows, n], bias [n] -> [rows, n] */
    BiasAdd: ({ x, bias }) => {
      const [rows, n] = matrixShape(x)
      const out = heap.make(x.shape)
      heap.floats(at(out), rows * n).set(heap.floats(at(x), rows * n))
      kernels.addBias(at(out), at(bias), rows, n)
      return out
    },
    /** x [rows, n] -> [n] */
    RowSum: ({ x }) => {
      const [rows, n] = matrixShape(x)
      const out = heap.zeros([n])
      kernels.sumRows(at(x), at(out), rows, n)
      return out
    },
    /** x [rows, k n], w [n] -> y like x, inverse root mean squares [rows k] */
    RmsNorm: ({ x, w }, attrs) => {
      const n = itemAt(w.shape, 0)
      const rows = sizeOf(x.shape) / n
      const y = heap.make(x.shape)
      const inverse = heap.make([rows])
      kernels.rmsNorm(at(x), at(w), at(y), at(inverse), rows, n, Number(attrs.eps))
      return [y, inverse]
    },
    RmsNormGrad: ({ x, w, inverse, dy }) => {
      const n = itemAt(w.shape, 0)
      const dx = heap.make(x.shape)
      const dw = heap.zeros([n])
      kernels.rmsNormGrad(at(x), at(w), at(inverse), at(dy), at(dx), at(dw), sizeOf(x.shape) / n, n)
      return [dx, dw]
    },
    /** x [rows, heads x dim], cos and sin [rows, dim / 2] */
    Rotary: ({ x, cos, sin }, attrs) => {
      const out = heap.make(x.shape)
      const [rows, width] = matrixShape(x)
      const dim = 2 * itemAt(cos.shape, 1)
      kernels.rope(at(x), at(out), at(cos), at(sin), rows, width / dim, dim, Number(attrs.sign))
      return out
    },
    /** -> out like q, lse [tokens, heads] */
    PackedAttention: ({ q, k, v }, attrs) => {
      const shape = attrs.shape as AttentionShape
      const out = heap.make(q.shape)
      const lse = heap.make([itemAt(q.shape, 0), shape.heads])
      attentionForward(heap, shape, at(q), at(k), at(v), at(out), at(lse))
      return [out, lse]
    },
    PackedAttentionGrad: ({ q, k, v, out, lse, dout }, attrs) => {
      const [dq, dk, dv] = [heap.make(q.shape), heap.zeros(k.shape), heap.zeros(v.shape)]
      attentionBackward(heap, attrs.shape as AttentionShape, {
        q: at(q),
        k: at(k),
        v: at(v),
        out: at(out),
        lse: at(lse),
        dout: at(dout),
        dq: at(dq),
        dk: at(dk),
        dv: at(dv),
      })
      return [dq, dk, dv]
    },
    SwiGlu: ({ gate, up }) => {
      const out = heap.make(gate.shape)
      kernels.swiglu(at(gate), at(up), at(out), sizeOf(gate.shape))
      return out
    },
    SwiGluGrad: ({ gate, up, dy }) => {
      const [dgate, dup] = [heap.make(gate.shape), heap.make(gate.shape)]
      kernels.swigluGrad(at(gate), at(up), at(dy), at(dgate), at(dup), sizeOf(gate.shape))
      return [dgate, dup]
    },
    /** logits [rows, vocab], targets [rows] int32 -> log-probs and entropies [2, rows], lse [rows] */
    TokenLogprob: ({ logits, targets }) => {
      const [rows, vocab] = matrixShape(logits)
      const out = heap.make([2, rows])
      const lse = heap.make([rows])
      kernels.tokenLogprob(at(logits), at(targets), at(out), at(out) + 4 * rows, at(lse), rows, vocab)
      return [out, lse]
    },
    /** dlogp [rows or more]: only the first `rows` values are read */
    TokenLogprobGrad: ({ logits, targets, lse, dlogp }) => {
      const [rows, vocab] = matrixShape(logits)
      const out = heap.make(logits.shape)
      kernels.tokenLogprobGrad(at(logits), at(targets), at(lse), at(dlogp), at(out), rows, vocab)
      return out
    },
  }
}

function matrixShape({ shape }: tf.TensorInfo): readonly [rows: number, columns: number] {
  return [itemAt(shape, 0), itemAt(shape, 1)]
}

function matMul(
  heap: Heap,
  a: tf.TensorInfo,
  b: tf.TensorInfo,
  transposeA: boolean,
  transposeB: boolean,
): tf.TensorInfo {
  const [rowsA = 0, colsA = 0] = a.shape.slice(-2)
  const [rowsB = 0, colsB = 0] = b.shape.slice(-2)
  const [m, k] = transposeA ? [colsA, rowsA] : [rowsA, colsA]
  const n = transposeB ? rowsB : colsB
  const batchA = sizeOf(a.shape.slice(0, -2))
  const batchB = sizeOf(b.shape.slice(0, -2))
  const fits =
    Math.min(a.shape.length, b.shape.length) >= 2 &&
    k === (transposeB ? colsB : rowsB) &&
    (batchA === batchB || batchA === 1 || batchB === 1)
  if (!fits || a.dtype !== 'float32' || b.dtype !== 'float32')
    throw new RlError(
      `cannot multiply ${a.dtype} ${a.shape.join(' x ')} by ${b.dtype} ${b.shape.join(' x ')}`,
      {
        code: 'model.shape',
        hint: `float32 matrices of fitting shapes are needed (transposed: ${transposeA}, ${transposeB})`,
      },
    )
  const outer = batchA >= batchB ? a.shape.slice(0, -2) : b.shape.slice(0, -2)
  const out = heap.make([...outer, m, n])
  for (let i = 0; i < Math.max(batchA, batchB); i++) {
    const from = heap.pointer(a) + (batchA === 1 ? 0 : 4 * i * m * k)
    const by = heap.pointer(b) + (batchB === 1 ? 0 : 4 * i * k * n)
    heap.gemm(
      transposeA,
      transposeB,
      m,
      n,
      k,
      1,
      from,
      colsA,
      by,
      colsB,
      0,
      heap.pointer(out) + 4 * i * m * n,
      n,
    )
  }
  return out
}
