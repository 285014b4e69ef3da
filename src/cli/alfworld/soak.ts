import { openDataset } from '../../environments/alfworld/dataset.ts'
import { initialState, NOTHING_HAPPENS, step } from '../../environments/alfworld/engine.ts'
import { loadGame } from '../../environments/alfworld/game.ts'
import { explain, RlError } from '../../errors.ts'
import { type Command, parseCommandLine } from '../command.ts'

export const command: Command = {
  summary: 'play every walkthrough of a data set',
  help: `
rl alfworld soak --data DIR [--split NAME]

Plays the expert's walkthrough of every game: each command must do something, and the game must be won after the last command
and not before. The last line is  games=N steps=M skipped=S failures=K  (skipped: games without a walkthrough); the exit
status is 1 where K > 0.

  --data DIR     a folder or archive of ALFWorld data
  --split NAME   only this split, e.g. valid_seen`,
  async run(argv) {
    const { values } = parseCommandLine(
      { options: { data: { type: 'string' }, split: { type: 'string' } } },
      argv,
    )
    if (values.data === undefined)
      throw new RlError('--data is missing', { code: 'cli.usage', hint: 'see --help' })
    const { games } = await openDataset(values.data)
    const counts = { games: 0, steps: 0, skipped: 0, failures: 0 }
    for (const { key, split, read } of games) {
      if (values.split !== undefined && split !== values.split) continue
      counts.games++
      try {
        const steps = playWalkthrough(await read(), key)
        if (steps === null) counts.skipped++
        else counts.steps += steps
      } catch (error) {
        counts.failures++
        process.stdout.write(`${key}: ${explain(error)}\n`)
      }
    }
    const { games: all, steps, skipped, failures } = counts
    process.stdout.write(`games=${all} steps=${steps} skipped=${skipped} failures=${failures}\n`)
    return failures > 0 ? 1 : 0
  },
}

/** The number of steps, or null where there is no walkthrough. @throws RlError where it does not win on its last step */
function playWalkthrough(text: string, name: string): number | null {
  const game = loadGame(text, name)
  const commands = game.walkthrough
  if (commands === null) return null
  let state = initialState(game)
  for (const [i, line] of commands.entries()) {
    if (state.won) throw failure(`won already before step ${i + 1}, '${line}'`)
    state = step(state, line)
    if (state.observation === NOTHING_HAPPENS) throw failure(`nothing happens at step ${i + 1}, '${line}'`)
  }
  if (!state.won) throw failure('not won after the last step')
  return commands.length
}

const failure = (what: string) => new RlError(what, { code: 'alfworld.walkthrough' })
