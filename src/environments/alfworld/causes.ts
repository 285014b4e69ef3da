/**
 * The vocabulary of a reward model for these games. Each complaint names a cause that task adaptation uses.
 */
import type { Causes } from '../causes.ts'

export const CAUSES: Causes = {
  praises: {
    approach: 'goes towards what the task needs',
    advance: 'brings the task forward',
  },
  complaints: {
    repeat: 'repeats what was done before',
    idle: 'has no effect',
    undo: 'undoes what was achieved',
    object: 'handles the wrong object',
    place: 'goes to the wrong place',
  },
  wordFor({ action, earlier, progress, label }) {
    const [verb = ''] = action.split(' ')
    const moves = verb === 'go' || verb === 'open'
    if (label === 1) return moves ? 'approach' : 'advance'
    if (IDLE.has(verb)) return 'idle'
    if (progress < 0 && !moves) return 'undo'
    if (earlier.includes(action)) return 'repeat'
    return moves || verb === 'close' ? 'place' : 'object'
  },
}

const IDLE = new Set(['look', 'inventory', 'help', 'examine'])
