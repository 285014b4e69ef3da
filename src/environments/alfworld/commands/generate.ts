import { join } from 'node:path'
import { wholeNumber } from '../../../command-line.ts'
import { RlError } from '../../../errors.ts'
import { seedOf } from '../../../random.ts'
import { buildGame, draftGame, EVEN_SHARES } from '../generator/generate.ts'
import { DIFFICULTIES, type Difficulty, SIZES } from '../generator/size.ts'
import { writeGame } from '../generator/write.ts'
import { withWalkthrough } from '../rewrite.ts'

export async function generate(values: {
  readonly out?: string
  readonly count: string
  readonly seed: string
  readonly difficulty: string
  readonly split: string
}): Promise<number> {
  if (values.out === undefined)
    throw new RlError('--out is missing', { code: 'cli.usage', hint: 'name the folder to write to' })
  if (!/^[\w.-]+$/.test(values.split) || /^\.+$/.test(values.split))
    throw new RlError(`--split is '${values.split}', expected a folder's name`, { code: 'cli.usage' })
  const count = wholeNumber('--count', values.count, 1)
  const seed = wholeNumber('--seed', values.seed)
  const difficulty = difficultyOf(values.difficulty)
  const folder = join(values.out, 'json_2.1.1', values.split)
  const lengths = new Map<string, number[]>()
  for (let index = 0; index < count; index++) {
    const draft = draftGame({
      seed: seedOf(seed, 'generate', difficulty, index),
      size: SIZES[difficulty],
      shares: EVEN_SHARES,
      pairs: 'all',
    })
    const game = withWalkthrough(buildGame(draft))
    if (!game.walkthrough)
      throw new RlError(`${draft.folder}: the drawn room has no solution`, { code: 'alfworld.generate' })
    await writeGame(folder, game, draft.goal)
    lengths.set(draft.goal.type, [...(lengths.get(draft.goal.type) ?? []), game.walkthrough.length])
    if (process.stderr.isTTY) process.stderr.write(`\r${index + 1} of ${count} games`)
  }
  if (process.stderr.isTTY) process.stderr.write('\n')
  for (const [type, own] of [...lengths].sort())
    process.stdout.write(
      `${type.padEnd(32)} ${own.length} games, ${mean(own).toFixed(1)} commands to the goal\n`,
    )
  process.stdout.write(`games=${count} difficulty=${difficulty} seed=${seed} folder=${folder}\n`)
  return 0
}

function difficultyOf(name: string): Difficulty {
  const known = DIFFICULTIES.find((difficulty) => difficulty === name)
  if (known) return known
  throw new RlError(`--difficulty is '${name}', expected ${DIFFICULTIES.join(', ')}`, { code: 'cli.usage' })
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
