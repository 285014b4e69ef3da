/** Our own compute programs on the WebGPU backend of TensorFlow.js: launching them, and WGSL that they share. */
import * as tf from '../../../tensorflow/tensorflow.ts'

/** A program and the names of its inputs. In the program they are flat arrays, and the output is `result`. */
export type Program = {
  readonly inputs: readonly string[]
  /** Number of threads of a workgroup. */
  readonly lanes: number
  /** WGSL functions. All threads run `main()`, which must use each input. */
  readonly code: string
}

/** The members of the backend that are used here. */
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

/** Returns the most bytes of one tensor. */
export function mostTensorBytes(): number {
  return backend().device.limits.maxStorageBufferBindingSize
}

/** Returns a float32 tensor without values. It takes no memory before its first use. */
export function unfilled(shape: readonly number[]): tf.Tensor {
  return tf.engine().makeTensorFromTensorInfo(backend().makeTensorInfo(shape, 'float32'))
}

/** Runs a workgroup for each place of the grid [x, y]. It writes `result`, which must not be an input. */
export function launch(
  { inputs, lanes, code }: Program,
  tensors: { readonly [name: string]: tf.TensorInfo },
  grid: readonly [number, number],
  result: tf.TensorInfo,
): void {
  const program = {
    variableNames: inputs,
    outputShape: result.shape,
    // The text of a program is the key of its compiled form.
    shaderKey: code,
    dispatchLayout: { x: [0], y: [1] },
    dispatch: [...grid, 1],
    workgroupSize: [lanes, 1, 1],
    getUserCode: () => code,
  }
  const given = inputs.map((name) => {
    const tensor = tensors[name]
    if (!tensor) throw new Error(`a program has no tensor for its input ${name}`)
    return tensor
  })
  backend().runWebGPUProgram(program, given, 'float32', undefined, result)
}

/**
 * The place of a workgroup in its grid and of a thread in its workgroup. Every binding must be used, and the backend always binds uniforms.
 */
export const PLACE = `
  _ = uniforms.NAN;
  let column = i32(workgroupId.x);
  let row = i32(workgroupId.y);
  let lane = i32(localId.x);`

/** sumOf(lane, value): the sum over the workgroup, returned to all threads. */
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

/** Returns a float literal of WGSL. */
export function float(value: number): string {
  return `f32(${value})`
}
