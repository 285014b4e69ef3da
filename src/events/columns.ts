/**
 * Typed columns as they travel in events: little-endian bytes. A field's name ends with its element type: I32, F32, U8.
 * A decoded column is a view at an arbitrary offset of the message. So to read it as numbers copies it if it is not aligned.
 */
import { RlError } from '../errors.ts'

export type NumberColumn = Int32Array | Float32Array | Uint8Array

/**
 * Returns the bytes of a typed array: a view if the machine is little-endian, as all machines of Node are.
 * @example toColumn(Int32Array.of(1)) // Uint8Array [1, 0, 0, 0]
 */
export function toColumn(values: NumberColumn): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/**
 * Returns the bytes of integers of 32 bits, [4 x values]. An Int32Array is not copied.
 * @example int32Column([1, 2]).byteLength // 8
 */
export function int32Column(values: ArrayLike<number>): Uint8Array {
  return toColumn(values instanceof Int32Array ? values : Int32Array.from(values))
}

/**
 * Returns the bytes of floats of 32 bits, [4 x values]. A Float32Array is not copied.
 * @example float32Column([0.5, -1]).byteLength // 8
 */
export function float32Column(values: ArrayLike<number>): Uint8Array {
  return toColumn(values instanceof Float32Array ? values : Float32Array.from(values))
}

/**
 * Reads a column as numbers, [bytes / 4].
 * @example readInt32(int32Column([1, 2])) // Int32Array [1, 2]
 */
export function readInt32(column: Uint8Array): Int32Array {
  return new Int32Array(wholeElements(column))
}

/**
 * Reads a column as numbers, [bytes / 4].
 * @example readFloat32(float32Column([0.5, -1])) // Float32Array [0.5, -1]
 */
export function readFloat32(column: Uint8Array): Float32Array {
  return new Float32Array(wholeElements(column))
}

/**
 * Reads a column as numbers, [bytes].
 * @example readUint8(toColumn(Uint8Array.of(0, 1))) // Uint8Array [0, 1]
 */
export function readUint8(column: Uint8Array): Uint8Array {
  return new Uint8Array(column)
}

/** Returns a copy of the bytes at offset 0, so that 4-byte elements are aligned. */
function wholeElements(column: Uint8Array): ArrayBuffer {
  if (column.byteLength % 4 !== 0)
    throw new RlError(`a column has ${column.byteLength} bytes, which is no whole number of elements`, {
      code: 'event.bad-column',
      hint: 'a column is the little-endian bytes of its 4-byte elements',
    })
  return new Uint8Array(column).buffer
}
