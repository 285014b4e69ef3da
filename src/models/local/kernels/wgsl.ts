/** Compute programs of our own on the WebGPU backend of TensorFlow.js: what a launch needs, and WGSL that they share. */
import * as tf from '../../../tensorflow/tensorflow.ts'

/** A program and the names of its inputs, which are flat arrays there; its output is `result`. */
export type Program = {
  readonly inputs: readonly string[]
  /** Threads of a workgroup. */
  readonly lanes: number
  /** Functions, of which all threads run `main()`; each input is used in it. */
  readonly code: string
}

/** What of the backend is used here. */
type Backend = {
  readonly device: { readonly limits: { readonly maxStorageBufferBindingSize: number } }
  makeTensorInfo(shape: readonly number[], dtype: tf.DataType): tf.TensorInfo
  runWebGPUProgram(
    program: object,
    inputs: readonly tf.TensorInfo[],
    dtype: tf.DataType,
    uniforms: undefined,
    output: tf.TensorInfo,
  ): tf.TensorInfo
}

function backend(): Backend {
  return tf.backend() as unknown as Backend
}

/** Most bytes of one tensor. */
export function mostTensorBytes(): number {
  return backend().device.limits.maxStorageBufferBindingSize
}

/** A float32 tensor with any values, which takes no memory before it is used. */
export function unfilled(shape: readonly number[]): tf.Tensor {
  return tf.engine().makeTensorFromTensorInfo(backend().makeTensorInfo(shape, 'float32'))
}

/** Runs a workgroup for each place of the grid [x, y]; what it writes goes into `result`, which is none of its inputs. */
export function launch(
  { inputs, lanes, code }: Program,
  tensors: { readonly [name: string]: tf.TensorInfo },
  grid: readonly [number, number],
  result: tf.TensorInfo,
): void {
  const program = {
    variableNames: inputs,
    outputShape: result.shape,
    // The text itself is the key of the compiled program.
    shaderKey: code,
    dispatchLayout: { x: [0], y: [1] },
    dispatch: [...grid, 1],
    workgroupSize: [lanes, 1, 1],
    getUserCode: () => code,
  }
  const given = inputs.map((name) => tensors[name])
  backend().runWebGPUProgram(program, given, 'float32', undefined, result)
}

/** Where a workgroup is in its grid, and a thread in its workgroup. What is bound must be used, and the backend always binds uniforms. */
export const PLACE = `
  _ = uniforms.NAN;
  let column = i32(workgroupId.x);
  let row = i32(workgroupId.y);
  let lane = i32(localId.x);`

/** sumOf(lane, value): the sum over the workgroup, told to all. */
export const sumOver = (lanes: number) => `
var<workgroup> sums : array<f32, ${lanes}>;
fn sumOf(lane : i32, value : f32) -> f32 {
  sums[lane] = value;
  for (var half = ${lanes / 2}; half > 0; half /= 2) {
    workgroupBarrier();
    if (lane < half) { sums[lane] += sums[lane + half]; }
  }
  return workgroupUniformLoad(&sums[0]);
}`

/** A float of WGSL. */
export function float(value: number): string {
  return `f32(${value})`
}
