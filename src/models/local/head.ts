import * as tf from '../../tensorflow/tensorflow.ts'
import { activeHeap } from './backend/wasm.ts'
import { concatenated, embedding } from './ops.ts'

/** Most logits in memory at once (16 MB). More rows are cut into chunks, which are computed again for the gradient. */
const CHUNK_LOGITS = 2 ** 22
/** Least rows of a chunk. Each chunk reads the whole head. With a real vocabulary fewer rows would take as long. */
const LEAST_ROWS = 256

/** With a gradient of entropies chunks are smaller by this factor: it holds four more tensors of a chunk's size. */
const ENTROPY_CHUNKS = 3

function rowsOfChunk(vocabSize: number, ofEntropy = false): number {
  const rows = Math.max(LEAST_ROWS, Math.floor(CHUNK_LOGITS / vocabSize))
  return ofEntropy ? Math.ceil(rows / ENTROPY_CHUNKS) : rows
}

/** Returns the bytes of a chunk's logits and their gradient. */
export function headBytes(vocabSize: number): number {
  return 2 * 4 * vocabSize * rowsOfChunk(vocabSize)
}

/** Far below every logit, but finite: a product with a zero probability does not become NaN. */
const FORBIDDEN = -1e30

/** Allowed token ids of each row: `tokens[offsets[row] .. offsets[row + 1]]`. An empty range allows all. */
export type Allowed = { readonly offsets: Int32Array; readonly tokens: Int32Array }

/**
 * Returns the log-prob of one token of each row and the entropy of the row's distribution, through the output head: hidden [rows, d],
 * head [vocab, d], targets [rows] -> [2, rows]. With `allowed`, distributions are renormalised over the allowed tokens.
 * Differentiable in hidden and, unless it is frozen, in head.
 * @param frozen if true, the head has no gradient: with a real vocabulary it would be the largest tensor of all
 * @param ofEntropy whether the entropies have a gradient
 */
export function headLogprobs(
  hidden: tf.Tensor2D,
  head: tf.Tensor,
  targets: Int32Array,
  allowed?: Allowed,
  {
    ofEntropy = false,
    chunkRows = rowsOfChunk(head.shape[0], ofEntropy),
    frozen = false,
  }: { readonly chunkRows?: number; readonly frozen?: boolean; readonly ofEntropy?: boolean } = {},
): tf.Tensor2D {
  const w = head as tf.Tensor2D
  const rows = hidden.shape[0]
  const chunks = Array.from(
    { length: Math.ceil(rows / chunkRows) },
    (_, i) => [i * chunkRows, Math.min(rows, (i + 1) * chunkRows)] as const,
  )
  const part = (x: tf.Tensor2D, from: number, to: number) =>
    chunks.length === 1 ? x : tf.slice(x, [from, 0], [to - from, x.shape[1]])
  const logitsOf = (h: tf.Tensor2D, from: number, to: number) => {
    const logits = tf.matMul(part(h, from, to), w, false, true) as tf.Tensor2D
    return allowed ? restrict(logits, from, allowed) : logits
  }
  const op = tf.customGrad((...args) => {
    const h = args[0] as tf.Tensor2D
    const save = args.at(-1) as unknown as (tensors: tf.Tensor[]) => void
    let kept: tf.Tensor[] = []
    const rowsOf = (from: number, to: number) => {
      const logits = logitsOf(h, from, to)
      return { logits, ...logprobRows(logits, targets.subarray(from, to)) }
    }
    const parts = chunks.map(([from, to]) => {
      // Kept until the end of the operation, the logits of all chunks would fill the memory.
      if (chunks.length > 1) return tf.tidy(() => rowsOf(from, to).out)
      const { out, logits, lse } = rowsOf(from, to)
      kept = [logits, lse]
      return out
    })
    save([h, ...kept])
    return {
      value: concatenated(parts, 1),
      gradFunc: (dy, saved) => {
        const [h, logits, lse] = saved as [tf.Tensor2D, tf.Tensor2D?, tf.Tensor1D?]
        const column = (row: number) =>
          tf.slice(dy as tf.Tensor2D, [row, 0], [1, rows]).reshape([rows, 1]) as tf.Tensor2D
        const dlogp = column(0)
        const dentropy = ofEntropy ? column(1) : undefined
        const dhidden: tf.Tensor2D[] = []
        let dw: tf.Tensor | undefined
        for (const [from, to] of chunks) {
          const [dh, more] = tf.tidy(() => {
            const z = logits ?? logitsOf(h, from, to)
            const ids = targets.subarray(from, to)
            const norm = lse ?? logprobRows(z, ids).lse
            const ofLogprobs = logprobRowsGrad(z, ids, norm, part(dlogp, from, to))
            const dz = dentropy
              ? (ofLogprobs.add(entropyRowsGrad(z, norm, part(dentropy, from, to))) as tf.Tensor2D)
              : ofLogprobs
            const own = frozen ? [] : [tf.matMul(dz, part(h, from, to), true, false)]
            return [tf.matMul(dz, w), ...own] as [tf.Tensor2D, tf.Tensor?]
          })
          dhidden.push(dh)
          if (!more) continue
          const before = dw
          dw = before ? tf.add(before, more) : more
          // [vocab, d] each. Kept until the end of the pass, the sums of all chunks would fill the memory.
          if (before) tf.dispose([before, more])
        }
        const dh = concatenated(dhidden, 0)
        return dw ? [dh, dw] : [dh]
      },
    }
  })
  return (frozen ? op(hidden) : op(hidden, w)) as tf.Tensor2D
}

/** Returns the chosen rows of the packed hidden states, [rows.length, d]. */
export function selectRows(hidden: tf.Tensor2D, rows: Int32Array): tf.Tensor2D {
  return embedding(hidden, tf.tensor1d(rows, 'int32'))
}

/** Gives forbidden tokens a logit without weight. `logits` must be a fresh tensor and may be changed in place. */
function restrict(logits: tf.Tensor2D, firstRow: number, { offsets, tokens }: Allowed): tf.Tensor2D {
  const [rows, vocab] = logits.shape
  const heap = activeHeap()
  if (heap) {
    const values = heap.floats(heap.pointer(logits), rows * vocab)
    for (let row = 0; row < rows; row++) {
      const ids = tokens.subarray(offsets[firstRow + row], offsets[firstRow + row + 1])
      if (ids.length === 0) continue
      const line = values.subarray(row * vocab, (row + 1) * vocab)
      const kept = Array.from(ids, (id) => line[id]!)
      line.fill(FORBIDDEN)
      ids.forEach((id, i) => {
        line[id] = kept[i]!
      })
    }
    return logits
  }
  const bars = new Float32Array(rows * vocab)
  for (let row = 0; row < rows; row++) {
    const ids = tokens.subarray(offsets[firstRow + row], offsets[firstRow + row + 1])
    if (ids.length === 0) continue
    const line = bars.subarray(row * vocab, (row + 1) * vocab)
    line.fill(FORBIDDEN)
    for (const id of ids) line[id] = 0
  }
  return tf.add(logits, tf.tensor2d(bars, [rows, vocab]))
}

/** Computes logits [rows, vocab] -> log-probs of the targets and entropies [2, rows], log of the normaliser [rows]. */
function logprobRows(logits: tf.Tensor2D, targets: Int32Array): { out: tf.Tensor2D; lse: tf.Tensor1D } {
  const ids = tf.tensor1d(targets, 'int32')
  if (tf.getKernel('TokenLogprob', tf.getBackend())) {
    const [out, lse] = tf
      .engine()
      .runKernel('TokenLogprob', { logits, targets: ids }) as unknown as tf.Tensor[]
    return { out: out as tf.Tensor2D, lse: lse as tf.Tensor1D }
  }
  const lse = tf.logSumExp(logits, 1, true)
  const logp = logits.sub(lse)
  const taken = logp.mul(tf.oneHot(ids, logits.shape[1])).sum(1)
  const entropy = logp.exp().mul(tf.maximum(logp, -100)).sum(1).neg()
  return { out: tf.stack([taken, entropy]) as tf.Tensor2D, lse: lse.reshape([-1]) }
}

/** Computes dentropy [rows, 1] times -p (log p + H), with H the row's entropy. */
function entropyRowsGrad(logits: tf.Tensor2D, lse: tf.Tensor1D, dentropy: tf.Tensor2D): tf.Tensor2D {
  return tf.tidy(() => {
    const logp = tf.maximum(logits.sub(lse.reshape([-1, 1])), -100)
    const shares = logp.exp()
    const negentropy = shares.mul(logp).sum(1, true)
    return logp.sub(negentropy).mul(shares).mul(dentropy.neg()) as tf.Tensor2D
  })
}

/** Computes dlogp [rows, 1] times (one-hot of the target - softmax). */
function logprobRowsGrad(
  logits: tf.Tensor2D,
  targets: Int32Array,
  lse: tf.Tensor1D,
  dlogp: tf.Tensor2D,
): tf.Tensor2D {
  const ids = tf.tensor1d(targets, 'int32')
  if (tf.getKernel('TokenLogprobGrad', tf.getBackend()))
    return tf.engine().runKernel('TokenLogprobGrad', { logits, targets: ids, lse, dlogp }) as tf.Tensor2D
  const shares = logits.sub(lse.reshape([-1, 1])).exp()
  return tf.oneHot(ids, logits.shape[1]).sub(shares).mul(dlogp)
}
