/** Tasks in the calculator. Its display at the end is judged. */

import type { Rng } from 'rlanything/environments'
import { type Draft, started, type TaskKind } from './task.ts'

const between = (random: Rng, least: number, most: number) => least + random.below(most - least + 1)
const clicks = (digits: string) => [...digits].map((one) => `click ${JSON.stringify(one)}`)

const kind = (
  name: string,
  make: (random: Rng) => { readonly goal: string; readonly shows: number } & Pick<Draft, 'oracle' | 'texts'>,
): TaskKind => ({
  kind: `galculator-${name}`,
  programs: ['galculator'],
  make(random) {
    const { goal, shows, oracle, texts } = make(random)
    return {
      goal: `With the calculator, ${goal}, so that its display shows the result.`,
      config: [...started('galculator', 'galculator')],
      check: {
        metric: 'exact_match',
        result: { type: 'element_text', role: 'text' },
        rules: { expected: String(shows) },
      },
      oracle,
      texts,
      wrong: ['click "1"', 'click "2"', 'click "="', 'done'],
    }
  },
})

export const GALCULATOR: readonly TaskKind[] = [
  kind('product', (random) => {
    const [one, other] = [between(random, 12, 99), between(random, 12, 99)]
    return {
      goal: `multiply ${one} by ${other}`,
      shows: one * other,
      texts: [`${one}*${other}`, `${one}+${other}`],
      oracle: [`type ${one}*${other}`, 'press enter', 'done'],
    }
  }),
  kind('sum', (random) => {
    const [one, other] = [between(random, 21, 99), between(random, 21, 99)]
    return {
      goal: `add ${one} and ${other}`,
      shows: one + other,
      oracle: [...clicks(`${one}+${other}=`), 'done'],
    }
  }),
  kind('difference', (random) => {
    const [one, other] = [between(random, 61, 99), between(random, 21, 49)]
    return {
      goal: `take ${other} off ${one}`,
      shows: one - other,
      oracle: [...clicks(`${one}-${other}=`), 'done'],
    }
  }),
  kind('root', (random) => {
    const root = between(random, 13, 29)
    return {
      goal: `find the square root of ${root * root}`,
      shows: root,
      texts: [`${root * root}`, `${root}`],
      oracle: [`type ${root * root}`, 'click "sqrt"', 'done'],
    }
  }),
  kind('quotient', (random) => {
    const [one, other] = [between(random, 12, 39), between(random, 3, 9)]
    return {
      goal: `divide ${one * other} by ${other}`,
      shows: one,
      texts: [`${one * other}/${other}`, `${one * other}*${other}`],
      oracle: [`type ${one * other}/${other}`, 'press enter', 'done'],
    }
  }),
]
