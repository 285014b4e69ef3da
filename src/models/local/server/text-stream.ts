import { growingText } from '../growing-text.ts'

/** Text of a growing token sequence. Pieces are sent only if they can no longer change. */
export type TextStream = {
  /** Returns the text that this token makes certain. */
  push(token: number): string
  /** Returns the number of certain characters, whether sent or held back for a stop text. */
  length(): number
  /** Returns the rest, given the text of the finished generation. */
  end(text: string): string
}

/**
 * Creates a text stream. It holds back an unfinished character, a possible start of a stop text, and everything from a
 * whole stop text on. A token may hold more than the stop text.
 */
export function createTextStream(
  decode: (tokens: readonly number[]) => string,
  stopTexts: readonly string[],
): TextStream {
  const grown = growingText(decode)
  let held = ''
  let told = 0
  return {
    push(token) {
      held += grown(token)
      const piece = held.slice(0, held.length - heldBack(held, stopTexts))
      held = held.slice(piece.length)
      told += piece.length
      return piece
    },
    length: () => told + held.length,
    end: (text) => text.slice(told),
  }
}

function heldBack(text: string, stopTexts: readonly string[]): number {
  let held = 0
  for (const stop of stopTexts) {
    const at = text.indexOf(stop)
    if (at >= 0) held = Math.max(held, text.length - at)
    for (let length = Math.min(stop.length - 1, text.length); length > held; length--)
      if (text.endsWith(stop.slice(0, length))) held = length
  }
  return held
}
