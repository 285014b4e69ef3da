/**
 * A local text to search in: a page for each of some invented towns, with figures that nobody can know by
 * heart.
 */
import { type Rng, rng, type Seed, seedOf } from 'rlanything/environments'

export type Town = { readonly name: string; readonly figures: Readonly<Record<Figure, number>> }

export const FIGURES = ['inhabitants', 'bridges', 'schools', 'markets', 'lamps', 'mills'] as const
type Figure = (typeof FIGURES)[number]

const FIRST = [
  'Ar',
  'Bel',
  'Cor',
  'Dun',
  'El',
  'Fen',
  'Gal',
  'Hol',
  'Is',
  'Kel',
  'Lor',
  'Mar',
  'Nor',
  'Os',
  'Pel',
]
const LAST = ['bury', 'dale', 'ford', 'gate', 'ham', 'mere', 'ness', 'stead', 'wick', 'worth']
const RANGES: Readonly<Record<Figure, readonly [number, number]>> = {
  inhabitants: [300, 9_000],
  bridges: [2, 60],
  schools: [1, 30],
  markets: [1, 20],
  lamps: [40, 900],
  mills: [1, 25],
}

export type Almanac = {
  readonly towns: readonly Town[]
  /** Returns the best pages for some words, best first. Returns none if no word is known. */
  readonly search: (query: string) => readonly string[]
}

/** Most pages of a search result. */
const PAGES = 2

export function almanac(seed: Seed, count: number): Almanac {
  const random = rng(seedOf(seed, 'almanac'))
  const names = random.shuffle(FIRST.flatMap((first) => LAST.map((last) => first + last)))
  const towns = names.slice(0, count).map((name) => townOf(name, random))
  const pages = towns.map((town, i) => {
    const next = towns[(i + 1) % towns.length] ?? town
    const text = pageOf(town, next.name)
    return { town, text, words: new Set(wordsOf(text)) }
  })
  const rarity = new Map<string, number>()
  for (const { words } of pages) for (const word of words) rarity.set(word, (rarity.get(word) ?? 0) + 1)

  return {
    towns,
    search(query) {
      const asked = new Set(wordsOf(query.slice(0, 500)))
      const scores = pages.map(({ town, text, words }, page) => {
        // A page is about the town that it begins with. It also mentions another one.
        let score = asked.has(town.name.toLowerCase()) ? Math.log(1 + count) : 0
        for (const word of asked) if (words.has(word)) score += Math.log(1 + count / (rarity.get(word) ?? 1))
        return { page, text, score }
      })
      // A word on every page finds none of them.
      const least = Math.log(2) * asked.size
      return scores
        .filter(({ score }) => score > least)
        .sort((a, b) => b.score - a.score || a.page - b.page)
        .slice(0, PAGES)
        .map(({ text }) => text)
    },
  }
}

function townOf(name: string, random: Rng): Town {
  const figures = Object.fromEntries(
    FIGURES.map((figure) => {
      const [least, most] = RANGES[figure]
      return [figure, least + random.below(most - least + 1)]
    }),
  ) as Record<Figure, number>
  return { name, figures }
}

function pageOf({ name, figures }: Town, neighbour: string): string {
  const told = FIGURES.map((figure) => `${figures[figure]} ${figure}`)
  return `${name} is a town on the road to ${neighbour}. It has ${told.slice(0, -1).join(', ')} and ${told.at(-1)}.`
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z]+|\d+/g) ?? []
}
