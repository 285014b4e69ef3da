/** Lines to type: drawn characters of every kind that the keyboard has, and some that it has not. */
import { type Rng, rng, seedOf } from 'rlanything/environments'

/** A line that is typed, and what the program must have then. */
export type Line = { readonly typed: string; readonly wanted: string }

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'
const PLAIN = "`-=[]\\;',./"
const SHIFTED = '~!@#$%^&*()_+{}|:"<>?'
/** Characters without a key of their own, more than there are free codes. */
const FOREIGN = 'äöüßéèñçøåÄÖÜÉÆØŁőžşćýαβγδλπΣΩабвгджЖЩыя€£¥§°½–—…„“”•→∞≠日本語中文漢字한국어שלוםمرحبا😀🎉'

/** Kinds of characters of a line of text. Letters come twice as often as others. */
const TEXT = [LOWER, LOWER, UPPER, DIGITS, PLAIN, SHIFTED, ' ', FOREIGN]
const [SHORTEST, LONGEST] = [8, 24]
/** One character in so many is typed twice. */
const DOUBLED = 5

/** Draws a text without the characters of `without`. */
function drawText(random: Rng, kinds: readonly string[], without = ''): string {
  let text = ''
  for (const length = SHORTEST + random.below(LONGEST - SHORTEST + 1); text.length < length; ) {
    const character = random.pick([...random.pick(kinds)])
    if (!without.includes(character)) text += random.below(DOUBLED) === 0 ? character.repeat(2) : character
  }
  return text
}

const asTyped = (typed: string): Line => ({ typed, wanted: typed })

/** Any text. */
export const anyText = (random: Rng): Line => asTyped(drawText(random, TEXT))

/** A name of a file that shows: no folder in it, and not hidden. */
export const fileName = (random: Rng): Line => asTyped(drawText(random, TEXT, './~'))

/**
 * A word for an office program, which corrects what it takes for a mistake: a small letter at the start, two
 * capitals, marks around words, addresses.
 */
export const plainText = (random: Rng): Line =>
  asTyped(
    random.pick([...UPPER]) + drawText(random, [LOWER, LOWER, DIGITS, '%&#$;', 'äöüßéèñçøåžαβγабв日本語']),
  )

/** A sum in which the order of the operators does not matter, with its result. */
export function calculation(random: Rng): Line {
  const between = (least: number, most: number) => least + random.below(most - least + 1)
  const [quotient, divisor, factor] = [between(2, 999), between(2, 99), between(11, 99)]
  const term = 11 * between(1, 9) * between(1, 101)
  const taken = between(0, quotient * factor)
  return {
    typed: `${quotient * divisor}/${divisor}*${factor}+${term}-${taken}`,
    wanted: String(quotient * factor + term - taken),
  }
}

/** Returns this number of different lines. Equal seeds give equal lines. */
export function drawLines(
  draw: (random: Rng) => Line,
  seed: number,
  name: string,
  count: number,
): readonly Line[] {
  const random = rng(seedOf(seed, 'typed', name))
  const lines = new Map<string, Line>()
  while (lines.size < count) {
    const line = draw(random)
    lines.set(line.typed, line)
  }
  return [...lines.values()]
}
