import { printJson, wholeNumber } from 'rlanything/kit'
import { checkPage, type PageResult } from '../check-page.ts'
import { type WebEnvironment, webEnvironment } from '../environment.ts'
import { folderSite, type Loading } from '../miniwob/site.ts'
import { ownSite } from '../own/site.ts'
import type { Site } from '../site.ts'

export type CheckValues = {
  readonly data?: string
  readonly seeds: string
  readonly page?: readonly string[]
  readonly again: boolean
  readonly browser?: string
  readonly json: boolean
}

/** Pages that are checked at once: as many as cores are enough. */
const AT_ONCE = 2
const COUNTS = { train: 1, 'in-domain': 1, ood: 1 }

/** Plays all pages. Resolves to 1 if one differs between two browsers, or there is no page. */
export async function check({ data, again, browser, json, page, ...values }: CheckValues): Promise<number> {
  const seeds = wholeNumber('--seeds', values.seeds, 1)
  const open = (loading: Loading): WebEnvironment =>
    webEnvironment({ site: siteOf(data, loading), browser: browser ?? null, pages: again ? 1 : AT_ONCE })
  // The other pages are always loaded, so a leftover of an episode is a difference.
  const pair = [open(again ? 'again' : 'table'), open('fresh')] as const
  try {
    const groups = await pair[0].samples(seeds)
    const wanted = [...groups].filter(([name]) => !page || page.includes(name))
    const results = await inTurn(wanted, again ? 1 : AT_ONCE, async ([name, tasks]) => {
      const result = await checkPage(name, tasks, pair)
      tell(result, json)
      return result
    })
    if (again) {
      const clean = results.filter(({ differences }) => differences === 0).map((one) => one.page)
      process.stdout.write(`${JSON.stringify(clean)}\n`)
    }
    const differences = results.reduce((sum, one) => sum + one.differences, 0)
    const solved = results.filter((one) => one.solved === one.seeds).length
    const total = { pages: results.length, seeds, differences, solved }
    if (json) printJson(total)
    else
      process.stdout.write(
        `${Object.entries(total)
          .map(([name, value]) => `${name}=${value}`)
          .join(' ')}\n`,
      )
    const faults = results.reduce((sum, one) => sum + one.faults, 0)
    return differences > 0 || faults > 0 || results.length === 0 ? 1 : 0
  } finally {
    await Promise.all(pair.map((one) => one.close()))
  }
}

function siteOf(data: string | undefined, loading: Loading): Site {
  if (data !== undefined) return folderSite({ folder: data, seed: 1, counts: COUNTS, loading })
  return ownSite({ seed: 1, counts: COUNTS, difficulty: 'hard' })
}

function tell(result: PageResult, json: boolean): void {
  if (json) {
    printJson(result)
    return
  }
  const { page, seeds, differences, solved, random, steps, problem } = result
  const told = `solved ${solved}/${seeds} in ${(steps / seeds).toFixed(1)} steps, at random ${random}/${seeds}, differences ${differences}`
  process.stdout.write(`${page.padEnd(28)} ${told}${problem === null ? '' : `; ${problem.slice(0, 200)}`}\n`)
}

/** Resolves to the results of a function for each item, with this number of calls at a time. */
async function inTurn<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length)
  const open = items.entries()
  const worker = async () => {
    for (const [at, item] of open) results[at] = await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}
