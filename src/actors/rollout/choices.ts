/**
 * Generates one of a few token sequences. It tells the sampler and the loss which tokens are allowed at each position.
 */
import { itemAt } from '../../item-at.ts'

export type AllowedColumns = {
  /** Int32 [T + 1] */
  readonly offsets: Int32Array
  readonly tokens: Int32Array
}

export type ChoicePath = {
  /** [length]: 1 if there was a choice. */
  readonly mask: Uint8Array
  /** [length]: allowed tokens in ascending order. Empty if only one was allowed. */
  readonly allowed: readonly (readonly number[])[]
}

/**
 * Returns the choices along one sequence: at each of its tokens, the tokens that sequences with the same beginning
 * allow.
 */
export function choicePath(chosen: ArrayLike<number>, choices: readonly ArrayLike<number>[]): ChoicePath {
  const mask = new Uint8Array(chosen.length)
  const allowed: number[][] = []
  let alive = choices
  for (let i = 0; i < chosen.length; i++) {
    const tokens = new Set<number>()
    for (const choice of alive) if (i < choice.length) tokens.add(itemAt(choice, i))
    mask[i] = tokens.size > 1 ? 1 : 0
    allowed.push(tokens.size > 1 ? [...tokens].sort((a, b) => a - b) : [])
    alive = alive.filter((choice) => choice[i] === chosen[i])
  }
  return { mask, allowed }
}

/** Lists of allowed tokens, one a position, as columns. */
export function allowedColumns(lists: readonly (readonly number[])[]): AllowedColumns {
  const offsets = new Int32Array(lists.length + 1)
  let end = 0
  for (const [i, list] of lists.entries()) {
    end += list.length
    offsets[i + 1] = end
  }
  return { offsets, tokens: Int32Array.from(lists.flat()) }
}
