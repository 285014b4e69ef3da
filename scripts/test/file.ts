/**
 * Runs one test file by uvu's own interface and sends its totals to the parent: `fork('scripts/test/file.ts', [FILE])`.
 * A file that throws, or whose promise never settles, sends nothing and ends with another status than 0. So does a file
 * with `test.only`, because it would pass with fewer cases.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** How uvu runs the tests of one suite: the errors, then how many passed, were skipped, and were run. */
type Suite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>

/** The state that uvu reads, as `uvu/run` sets it. */
const uvuState = globalThis as unknown as {
  UVU_DEFER: number
  UVU_INDEX: number
  UVU_QUEUE: [string, ...Suite[]][]
}

export type Totals = { readonly passed: number; readonly failed: number; readonly skipped: number }

/** Texts in quotes, which may hold code. */
const QUOTED = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`/g

const [file = ''] = process.argv.slice(2)
const [focused] = /\b\w+\.only(?=\()/.exec(readFileSync(file, 'utf8').replace(QUOTED, '')) ?? []
if (focused !== undefined) throw new Error(`${file}: ${focused} leaves out the other cases of the file`)
uvuState.UVU_DEFER = 1
const uvu = await import('uvu')
uvuState.UVU_INDEX = 0
uvuState.UVU_QUEUE.push([file])
await import(pathToFileURL(resolve(file)).href)

let totals: Totals = { passed: 0, failed: 0, skipped: 0 }
const [name, ...suites] = uvuState.UVU_QUEUE[0]
uvuState.UVU_QUEUE[0] = [name, ...suites.map(counted)]
await uvu.exec()
process.send?.(totals)

function counted(suite: Suite): Suite {
  return async () => {
    const result = await suite()
    const [, passed, skipped, total] = result
    totals = {
      passed: totals.passed + passed,
      failed: totals.failed + total - passed,
      skipped: totals.skipped + skipped,
    }
    return result
  }
}
