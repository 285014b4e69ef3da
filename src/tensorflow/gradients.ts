/** Gradients of the TensorFlow.js operations in the losses and composed layers. Fused kernels have their own. */
import * as tf from '@tensorflow/tfjs-core'
import { itemAt } from '../item-at.ts'

type Attrs = Readonly<Record<string, unknown>>
/** The gradient of the loss in each input, by the input's name, computed on demand. */
type Pulled = Record<string, () => tf.Tensor>
type Needs = Omit<tf.GradConfig, 'kernelName' | 'gradFunc'>
type One = readonly [tf.Tensor]
type Two = readonly [tf.Tensor, tf.Tensor]

let registered = false

/** Registers the gradients once a process: TensorFlow.js has one registry for all its copies. */
export function registerGradients(): void {
  if (registered) return
  registered = true

  elementwise('Add', { a: (dy) => dy, b: (dy) => dy })
  elementwise('Sub', { a: (dy) => dy, b: (dy) => tf.neg(dy) })
  elementwise('Multiply', { a: (dy, _a, b) => tf.mul(dy, b), b: (dy, a) => tf.mul(dy, a) })
  elementwise('Maximum', {
    a: (dy, a, b) => where(dy, tf.greaterEqual(a, b)),
    b: (dy, a, b) => where(dy, tf.less(a, b)),
  })
  elementwise('Minimum', {
    a: (dy, a, b) => where(dy, tf.lessEqual(a, b)),
    b: (dy, a, b) => where(dy, tf.greater(a, b)),
  })

  ofInput('Neg', (dy) => tf.neg(dy))
  ofInput('Square', (dy, x) => tf.mul(dy, tf.mul(x, 2)))
  ofInput('Rsqrt', (dy, x) => tf.neg(tf.div(dy, tf.mul(tf.pow(x, 1.5), 2))))
  ofInput('Expm1', (dy, x) => tf.mul(dy, tf.exp(x)))
  ofInput('Identity', (dy) => tf.cast(dy, 'float32'))
  ofInput('Cast', (dy) => tf.clone(dy))
  ofInput('Reshape', (dy, x) => tf.reshape(dy, x.shape))
  ofInput('Sum', (dy, x, { axis }) => spread(dy, x.shape, axis))
  ofInput('Mean', (dy, x, { axis }) => {
    const whole = spread(dy, x.shape, axis)
    return tf.div(whole, x.size / Math.max(dy.size, 1))
  })
  ofInput('ClipByValue', (dy, x, { clipValueMin, clipValueMax }) =>
    tf.where(
      tf.logicalAnd(tf.greaterEqual(x, Number(clipValueMin)), tf.lessEqual(x, Number(clipValueMax))),
      dy,
      tf.zerosLike(dy),
    ),
  )
  ofInput('Slice', (dy, x, { begin, size }) => {
    const [from = [], length = []] = tf.slice_util.parseSliceParams(x, begin as number[], size as number[])
    return tf.pad(
      dy,
      from.map((start, i): [number, number] => [start, itemAt(x.shape, i) - start - itemAt(length, i)]),
    )
  })
  ofInput('Transpose', (dy, _x, { perm }) => {
    const axes = perm as number[]
    const inverse: number[] = []
    axes.forEach((axis, i) => {
      inverse[axis] = i
    })
    return tf.transpose(dy, inverse)
  })

  ofOutput('Exp', 'x', (dy, y) => tf.mul(dy, y))
  ofOutput('Sigmoid', 'x', (dy, y) => tf.mul(dy, tf.mul(y, tf.sub(1, y))))
  ofOutput('Softmax', 'logits', (dy, y, { dim }) => {
    const weighted = tf.mul(dy, y)
    return tf.sub(weighted, tf.mul(tf.sum(weighted, [Number(dim)], true), y))
  })

  register('Select', { inputsToSave: ['condition'] }, (dy, [condition]: One) => ({
    condition: () => tf.zerosLike(tf.cast(condition, 'float32')),
    t: () => where(dy, condition),
    e: () => where(dy, tf.logicalNot(condition)),
  }))
  register('BatchMatMul', { inputsToSave: ['a', 'b'] }, (dy, [a, b]: Two, { transposeA, transposeB }) => ({
    a: () => (transposeA ? product(b, dy, transposeB, true) : product(dy, b, false, !transposeB)),
    b: () => (transposeB ? product(dy, a, true, transposeA) : product(a, dy, !transposeA, false)),
  }))
  register('GatherV2', { inputsToSave: ['x', 'indices'] }, (dy, [x, indices]: Two, { axis, batchDims }) => {
    if (Number(axis) !== 0 || Number(batchDims) !== 0)
      throw new Error('gather has a gradient only along axis 0')
    const rows = () => tf.reshape(dy, [indices.size, ...x.shape.slice(1)])
    const segments = () => tf.reshape(indices, [indices.size]) as tf.Tensor1D
    return { x: () => tf.unsortedSegmentSum(rows(), segments(), itemAt(x.shape, 0)), indices: () => indices }
  })
  registerParts('Concat', { saveAllInputs: true }, (dy, parts, { axis }) => {
    const [along = 0] = tf.util.parseAxisParam(axis as number, itemAt(parts, 0).shape)
    return tf.split(
      dy,
      parts.map((part) => itemAt(part.shape, along)),
      along,
    )
  })
  registerParts('Pack', { saveAllInputs: true }, (dy, _parts, { axis }) => tf.unstack(dy, Number(axis)))
  tf.registerGradient({
    kernelName: 'SplitV',
    gradFunc: (dy, _saved, attrs) => ({ x: () => tf.concat(dy as tf.Tensor[], Number(attrs.axis)) }),
  })
}

/** @param needs decides which tensors are saved for `pull` */
function register<Saved extends readonly tf.Tensor[]>(
  kernelName: string,
  needs: Needs,
  pull: (dy: tf.Tensor, saved: Saved, attrs: Attrs) => Pulled,
): void {
  tf.registerGradient({
    kernelName,
    ...needs,
    gradFunc: (dy, saved, attrs) =>
      pull(dy as tf.Tensor, saved as unknown as Saved, attrs as unknown as Attrs),
  })
}

/** Registers an operation on a list of tensors, with a gradient for each in their order. */
function registerParts(
  kernelName: string,
  needs: Needs,
  pull: (dy: tf.Tensor, saved: readonly tf.Tensor[], attrs: Attrs) => tf.Tensor[],
): void {
  register(kernelName, needs, (dy, saved: readonly tf.Tensor[], attrs) =>
    Object.fromEntries(pull(dy, saved, attrs).map((part, i) => [i, () => part])),
  )
}

function ofInput(kernel: string, pull: (dy: tf.Tensor, x: tf.Tensor, attrs: Attrs) => tf.Tensor): void {
  register(kernel, { inputsToSave: ['x'] }, (dy, [x]: One, attrs) => ({ x: () => pull(dy, x, attrs) }))
}

function ofOutput(
  kernel: string,
  input: string,
  pull: (dy: tf.Tensor, y: tf.Tensor, attrs: Attrs) => tf.Tensor,
): void {
  register(kernel, { outputsToSave: [true] }, (dy, [y]: One, attrs) => ({
    [input]: () => pull(dy, y, attrs),
  }))
}

type Pull = (dy: tf.Tensor, a: tf.Tensor, b: tf.Tensor) => tf.Tensor

/** Registers an operation on two inputs a and b that may have been broadcast. Gradients of broadcast axes are summed. */
function elementwise(kernel: string, pull: { readonly a: Pull; readonly b: Pull }): void {
  register(kernel, { inputsToSave: ['a', 'b'] }, (dy, [a, b]: Two) => ({
    a: () => toShape(pull.a(dy, a, b), a.shape),
    b: () => toShape(pull.b(dy, a, b), b.shape),
  }))
}

function toShape(x: tf.Tensor, shape: number[]): tf.Tensor {
  const axes = tf.broadcast_util.getReductionAxes(shape, x.shape)
  return tf.reshape(axes.length > 0 ? tf.sum(x, axes) : x, shape)
}

/** Returns dy of a reduction along `axis`, repeated over the shape before the reduction. */
function spread(dy: tf.Tensor, shape: number[], axis: unknown): tf.Tensor {
  const kept = shape.slice()
  for (const i of tf.util.parseAxisParam(axis as number[], shape)) kept[i] = 1
  return tf.mul(tf.reshape(dy, kept), tf.ones(shape))
}

function where(dy: tf.Tensor, condition: tf.Tensor): tf.Tensor {
  return tf.mul(dy, tf.cast(condition, 'float32'))
}

function product(a: tf.Tensor, b: tf.Tensor, transposeA: unknown, transposeB: unknown): tf.Tensor {
  return tf.matMul(a, b, Boolean(transposeA), Boolean(transposeB))
}
