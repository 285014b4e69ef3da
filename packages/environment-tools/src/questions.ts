/** Questions that take a search or several, and a calculation: their answer is a whole number. */
import { rng, type Seed, seedOf } from 'rlanything/environments'
import { type Almanac, FIGURES, type Town } from './almanac.ts'

export type Question = { readonly text: string; readonly answer: number; readonly kind: string }
export type Difficulty = 'easy' | 'medium' | 'hard'

/** The same for the same seed and name. */
export function questionOf({ towns }: Almanac, difficulty: Difficulty, seed: Seed): Question {
  const random = rng(seedOf(seed, 'question'))
  // The setting makes an almanac of many towns.
  const [first, second, third] = random.shuffle(towns) as [Town, Town, Town]
  const figure = random.pick(FIGURES)
  const value = (town: Town) => town.figures[figure]
  const factor = 2 + random.below(18)
  if (difficulty === 'easy')
    return {
      kind: 'one-fact',
      text: `How many ${figure} does ${first.name} have?`,
      answer: value(first),
    }
  if (difficulty === 'medium')
    return {
      kind: 'two-facts',
      text: `How many ${figure} do ${first.name} and ${second.name} have together, times ${factor}?`,
      answer: (value(first) + value(second)) * factor,
    }
  return {
    kind: 'three-facts',
    text: `Take the ${figure} of ${first.name} times those of ${second.name}, and add ${factor} times those of ${third.name}. What is the result?`,
    answer: value(first) * value(second) + factor * value(third),
  }
}
