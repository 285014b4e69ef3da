/** Files of problems and games. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseGameFile } from '../../src/environments/alfworld/game-file.ts'
import { isSkipped, readProblems } from '../../src/environments/coding/dataset.ts'
import { mutateText, mutateTree } from './mutate.ts'
import type { Target } from './target.ts'

const DATA = fileURLToPath(new URL('../../data/', import.meta.url))

function filesBelow(folder: string, end: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name))
}

export const codingTarget: Target = {
  name: 'problems',
  what: 'a file of programming problems',
  async open(folder) {
    const lines = filesBelow(DATA, '.jsonl')
      .flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(0, 40))
      .filter((line) => line.startsWith('{'))
    const trees = lines.map((line) => JSON.parse(line) as unknown)
    const file = join(folder, 'problems.jsonl')
    return {
      make(draw) {
        if (draw.uniform() < 0.4)
          return mutateText(`${draw.pick(lines)}\n${draw.pick(lines)}\n`, draw.pick(lines), draw)
        const tree = mutateTree(draw.pick(trees), draw.pick(trees), draw)
        return Buffer.from(`${JSON.stringify(tree)}\n`)
      },
      async take(input) {
        writeFileSync(file, input)
        for await (const record of readProblems([file])) {
          if (isSkipped(record)) continue
          if (record.id === '') return 'a problem without an id'
        }
        return null
      },
    }
  },
}

export const gameTarget: Target = {
  name: 'games',
  what: 'a game file of ALFWorld',
  async open() {
    const texts = filesBelow(DATA, '.tw-pddl')
      .slice(0, 5)
      .map((path) => readFileSync(path, 'utf8'))
    const seeds =
      texts.length > 0 ? texts : ['{"pddl_domain": "", "grammar": "", "pddl_problem": "", "solvable": true}']
    return {
      make: (draw) => mutateText(draw.pick(seeds), draw.pick(seeds), draw),
      take(input) {
        parseGameFile(Buffer.from(input).toString(), 'game.tw-pddl')
        return null
      },
    }
  },
}
