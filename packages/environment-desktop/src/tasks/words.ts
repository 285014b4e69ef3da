/** Words of which tasks are made. */
import type { Rng } from 'rlanything/environments'

const WORDS = [
  ...['apple', 'bridge', 'candle', 'desert', 'engine', 'forest', 'garden', 'harbour', 'island', 'jacket'],
  ...['kettle', 'ladder', 'market', 'needle', 'orange', 'pepper', 'quarry', 'river', 'silver', 'timber'],
  ...['umbrella', 'valley', 'window', 'yellow', 'zebra', 'anchor', 'basket', 'copper', 'dragon', 'feather'],
]

/** This number of texts. The compiler knows how many if the number is written in the code. */
type Several<Count extends number, Known extends readonly string[] = readonly []> = number extends Count
  ? readonly string[]
  : Known['length'] extends Count
    ? Known
    : Several<Count, readonly [...Known, string]>

/** Returns different words. */
export function words<Count extends number>(random: Rng, count: Count): Several<Count> {
  return random.shuffle(WORDS).slice(0, count) as readonly string[] as Several<Count>
}

/** Returns different lines of two words. */
export function lines<Count extends number>(random: Rng, count: Count): Several<Count> {
  const drawn: readonly string[] = words<number>(random, 2 * count)
  const pairs = Array.from({ length: count }, (_, i) => `${drawn[2 * i]} ${drawn[2 * i + 1]}`)
  return pairs as readonly string[] as Several<Count>
}
