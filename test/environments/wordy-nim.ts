/** The game of nim.ts, a third of whose games tell far more than a small model's context holds, and have no outcome before their end. */
import type { Episode } from '../../src/environments/port.ts'
import { setting as nim } from './nim.ts'

function wordy(episode: Episode): Episode {
  const { turn } = episode
  return {
    ...episode,
    turn: { ...turn, observation: `${turn.observation}${' and so on'.repeat(100)}` },
    step: async (action) => wordy(await episode.step(action)),
    outcome() {
      if (!turn.done) throw new Error('the game is not over')
      return episode.outcome()
    },
  }
}

export const setting: typeof nim = {
  ...nim,
  open(config, section) {
    const game = nim.open(config, section)
    return {
      ...game,
      async reset(task, options) {
        const episode = await game.reset(task, options)
        return Number(task.id.split('-')[2]) % 3 === 0 ? wordy(episode) : episode
      },
    }
  },
}
