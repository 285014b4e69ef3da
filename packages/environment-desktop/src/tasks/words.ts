/** Words of which tasks are made. */
import type { Rng } from 'rlanything/environments'

const WORDS = [
  ...['apple', 'bridge', 'candle', 'desert', 'engine', 'forest', 'garden', 'harbour', 'island', 'jacket'],
  ...['kettle', 'ladder', 'market', 'needle', 'orange', 'pepper', 'quarry', 'river', 'silver', 'timber'],
  ...['umbrella', 'valley', 'window', 'yellow', 'zebra', 'anchor', 'basket', 'copper', 'dragon', 'feather'],
]

/** Returns different words. */
export function words(random: Rng, count: number): readonly string[] {
  return random.shuffle(WORDS).slice(0, count)
}

/** Different lines of two words. */
export function lines(random: Rng, count: number): readonly string[] {
  const drawn = words(random, 2 * count)
  return Array.from({ length: count }, (_, i) => `${drawn[2 * i]} ${drawn[2 * i + 1]}`)
}
