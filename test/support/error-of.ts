import { RlError } from '../../src/errors.ts'

/** The error that a promise must fail with; what is none of ours is thrown on. */
export async function errorOf(promise: Promise<unknown>): Promise<RlError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof RlError) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** The error that a work must fail with, at once or later. */
export function faultOf(work: () => unknown): Promise<RlError> {
  return errorOf((async () => work())())
}
