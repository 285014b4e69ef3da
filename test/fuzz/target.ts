/** What a fuzz target is: a reader of the project, hostile inputs for it, and what is right. */
import type { Rng } from '../../src/random.ts'

export type Target = {
  readonly name: string
  readonly what: string
  /** @param folder a folder of this target alone; what else the target leaves behind is a fault */
  readonly open: (folder: string) => Promise<OpenTarget>
}

export type OpenTarget = {
  /** Makes one input; the same draws make the same input. */
  readonly make: (draw: Rng) => Uint8Array
  /**
   * Gives the input to the reader. Returns null if it was read right, or was refused by an answer that names why. Returns what
   * is wrong if the reader took what it should not. Throws what the reader threw.
   */
  readonly take: (input: Uint8Array) => Promise<string | null> | string | null
  readonly close?: () => Promise<void> | void
}

/** Bytes of one input: more is only made where a reader has to bear it. */
export const MOST_BYTES = 256 * 1024
