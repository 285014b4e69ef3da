/** Files of problems and games. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSkipped, readProblems } from '../../packages/environment-coding/src/dataset.ts'
import { RECORDS } from '../../packages/environment-coding/test/records.ts'
import { parseGameFile } from '../../src/environments/alfworld/game-file.ts'
import { fixtureTexts } from '../environments/alfworld/games.ts'
import { mutateText, mutateTree } from './mutate.ts'
import type { Target } from './target.ts'

export const codingTarget: Target = {
  name: 'problems',
  what: 'a file of programming problems',
  async open(folder) {
    const trees: readonly unknown[] = Object.values(RECORDS)
    const lines = trees.map((tree) => JSON.stringify(tree))
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
    const texts = [...fixtureTexts().values()]
    const seeds = texts.slice(0, 5)
    return {
      make: (draw) => mutateText(draw.pick(seeds), draw.pick(seeds), draw),
      take(input) {
        parseGameFile(Buffer.from(input).toString(), 'game.tw-pddl')
        return null
      },
    }
  },
}
