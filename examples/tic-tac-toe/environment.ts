/** Tic-tac-toe as x against an opponent, from openings in which each side has one mark. */
import * as rl from 'rlanything/environments'

const LINES = ['012', '345', '678', '036', '147', '258', '048', '246']
const CELLS = [0, 1, 2, 3, 4, 5, 6, 7, 8]
type Recipe = { readonly x: number; readonly o: number; readonly level: number }
/** A board is nine characters, `x`, `o` or `.`, row by row; an agent reads its marks: `x5 o1`. */
const put = (board: string, cell: number, mark: string) => board.slice(0, cell) + mark + board.slice(cell + 1)
const free = (board: string) => CELLS.filter((cell) => board[cell] === '.')
const marks = (board: string) => CELLS.filter((i) => board[i] !== '.').map((i) => `${board[i]}${i + 1}`)
const boardOf = (marks: string) =>
  marks.split(' ').reduce((board, [mark, cell]) => put(board, Number(cell) - 1, mark), '.........')
const cellOf = (action: string) => Number(action.split(' ')[1]) - 1
const wins = (board: string, mark: string) =>
  LINES.some((line) => [...line].every((cell) => board[Number(cell)] === mark))

const best = (marks: string) => `take ${bestMove(boardOf(marks), 'x').cell + 1}`
/** What `mark` comes to by moving there if nobody errs from then on: 1, 0 for a draw, or -1. */
function value(board: string, cell: number, mark: string): number {
  const next = put(board, cell, mark)
  if (wins(next, mark)) return 1
  return free(next).length === 0 ? 0 : -bestMove(next, mark === 'x' ? 'o' : 'x').value
}

const known = new Map<string, { readonly cell: number; readonly value: number }>()
function bestMove(board: string, mark: string) {
  const moves = () => free(board).map((cell) => ({ cell, value: value(board, cell, mark) }))
  const best = known.get(board) ?? moves().reduce((best, move) => (move.value > best.value ? move : best))
  known.set(board, best)
  return best
}
/** @param recipe.level in so many of its ten moves the opponent does not err */
const taskOf = (recipe: Recipe): rl.Task => {
  const id = `x${recipe.x + 1}-o${recipe.o + 1}-level${recipe.level}`
  return { id, environment: 'tic-tac-toe', kind: 'game', goal: 'win', recipe }
}

function episode(task: rl.Task, board: string, seed: rl.Seed, steps: number): rl.Episode {
  const [won, lost] = [wins(board, 'x'), wins(board, 'o')]
  const done = won || lost || free(board).length === 0
  const admissible = done ? [] : free(board).map((cell) => `take ${cell + 1}`)
  const ended = won ? 'goal' : done ? 'gave-up' : null
  return {
    task,
    steps,
    turn: { observation: marks(board).join(' '), admissible, done, ended, role: roleOn(board) },
    step(action) {
      let next = put(board, cellOf(action), 'x')
      const draw = rl.rng(rl.seedOf(seed, 'opponent', steps))
      const sees = draw.below(10) < Number(task.recipe.level)
      if (!wins(next, 'x') && free(next).length > 0)
        next = put(next, sees ? bestMove(next, 'o').cell : draw.pick(free(next)), 'o')
      return episode(task, next, seed, steps + 1)
    },
    outcome: () => (won ? 1 : lost ? 0 : 0.5),
  }
}
/** What x has to do: to win at once, to hold off o, or to build. */
const roleOn = (board: string) =>
  free(board).some((cell) => wins(put(board, cell, 'x'), 'x'))
    ? 'wins'
    : free(board).some((cell) => wins(put(board, cell, 'o'), 'o'))
      ? 'defends'
      : 'builds'
const openings = CELLS.flatMap((x) => CELLS.filter((o) => o !== x).map((o) => ({ x, o, level: (x + o) % 6 })))
export const setting = rl.defineSetting({
  name: 'tic-tac-toe',
  summary: 'tic-tac-toe against an opponent',
  open: () => ({
    tasks: async (split) => openings.filter((_, i) => (i % 4 === 0) === (split !== 'train')).map(taskOf),
    reset: async (task, { seed }) =>
      episode(task, boardOf(`x${Number(task.recipe.x) + 1} o${Number(task.recipe.o) + 1}`), seed, 0),
  }),
  roles: true,
  acting: { kind: 'choices' },
  judging: { by: 'steps', causes: rl.PLAIN_CAUSES },
  rewriting: {
    async rewrite(_, { task, direction, taken }) {
      const { x, o, level } = task.recipe as Recipe
      const changed = taskOf({ x, o, level: level + (direction === 'harder' ? 2 : -2) })
      const exists = /level\d$/.test(changed.id)
      return !exists || taken.includes(changed.id) ? { refused: 'no such level is left' } : { task: changed }
    },
    validate: async () => ({ ok: true }),
  },
  expert: () => ({ advise: ({ observation }) => best(observation), observe() {} }),
  /** 1 for a move after which as much can be reached as before, else 0. */
  async progress(environment, task, seed, actions) {
    const episodes = [await environment.reset(task, { seed, maxSteps: actions.length + 1 })]
    for (const action of actions) episodes.push(await episodes[episodes.length - 1].step(action))
    return Float32Array.from(actions, (action, i) => {
      const board = boardOf(episodes[i].turn.observation)
      return value(board, cellOf(action), 'x') === bestMove(board, 'x').value ? 1 : 0
    })
  },
})
