import { explain, RlError } from '../../../errors.ts'
import { openDataset } from '../dataset.ts'
import { initialState, NOTHING_HAPPENS, step } from '../engine.ts'
import { loadGame } from '../game.ts'

export async function soak(values: { readonly data?: string; readonly split?: string }): Promise<number> {
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
}

/**
 * Returns the number of steps, or null if there is no walkthrough. @throws RlError if it does not win on its
 * last step
 */
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
