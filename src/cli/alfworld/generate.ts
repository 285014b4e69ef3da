import { join } from 'node:path'
import { buildGame, draftGame, EVEN_SHARES } from '../../environments/alfworld/generator/generate.ts'
import { DIFFICULTIES, type Difficulty, SIZES } from '../../environments/alfworld/generator/size.ts'
import { writeGame } from '../../environments/alfworld/generator/write.ts'
import { withWalkthrough } from '../../environments/alfworld/rewrite.ts'
import { RlError } from '../../errors.ts'
import { seedOf } from '../../random.ts'
import { type Command, parseCommandLine, wholeNumber } from '../command.ts'

export const command: Command = {
  summary: 'make new games that the original ALFWorld can load',
  help: `
rl alfworld generate --out DIR --count N --seed S --difficulty easy|medium|hard

Makes rooms with tasks of all six types, each proven to have a solution by playing it, and writes them as
DIR/json_2.1.1/SPLIT/TASK/TRIAL/{game.tw-pddl,initial_state.pddl,traj_data.json}. The same seed gives the same bytes.

  --out DIR            where to write
  --count N            how many games (100)
  --seed S             a whole number (1)
  --difficulty NAME    easy: 5-9 receptacles, 15 object types; medium: 10-16; hard: the size of real scenes (medium)
  --split NAME         name of the split's folder (train)`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          out: { type: 'string' },
          count: { type: 'string', default: '100' },
          seed: { type: 'string', default: '1' },
          difficulty: { type: 'string', default: 'medium' },
          split: { type: 'string', default: 'train' },
        },
      },
      argv,
    )
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
  },
}

function difficultyOf(name: string): Difficulty {
  const known = DIFFICULTIES.find((difficulty) => difficulty === name)
  if (known) return known
  throw new RlError(`--difficulty is '${name}', expected ${DIFFICULTIES.join(', ')}`, { code: 'cli.usage' })
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
