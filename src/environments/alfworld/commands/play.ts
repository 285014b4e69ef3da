import { createInterface } from 'node:readline'
import { printJson, wholeNumber } from '../../../command-line.ts'
import { RlError } from '../../../errors.ts'
import { openDataset } from '../dataset.ts'
import { advance, initialState, type State, step } from '../engine.ts'
import { type Game, loadGame } from '../game.ts'

export async function play(values: {
  readonly game?: string
  readonly interactive: boolean
  readonly 'max-steps'?: string
}): Promise<number> {
  if (values.game === undefined)
    throw new RlError('--game is missing', { code: 'cli.usage', hint: 'see --help' })
  const limit = values['max-steps']
  const maxSteps = limit === undefined ? undefined : wholeNumber('--max-steps', limit, 1)
  const next = maxSteps === undefined ? advance : step
  const state = initialState(await onlyGame(values.game), { maxSteps })
  return values.interactive ? playTalking(state, next) : playLines(state, next)
}

type Next = (state: State, command: string) => State

async function onlyGame(path: string): Promise<Game> {
  const { games } = await openDataset(path)
  const [game, ...others] = games
  if (game === undefined || others.length > 0)
    throw new RlError(`${path} holds ${games.length} games, not one`, {
      code: 'cli.usage',
      hint: game ? `for example --game ${game.path}` : 'name a game.tw-pddl',
    })
  return loadGame(await game.read(), path)
}

async function playLines(start: State, next: Next): Promise<number> {
  let state = start
  const { observation: obs, admissible, won } = state
  printJson({ cmd: null, obs, admissible, won, score: null, done: null })
  for await (const cmd of createInterface({ input: process.stdin })) {
    state = next(state, cmd)
    const { observation, score, done } = state
    printJson({ cmd, obs: observation, admissible: state.admissible, won: state.won, score, done })
  }
  return 0
}

async function playTalking(start: State, next: Next): Promise<number> {
  let state = start
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '\n> ' })
  process.stdout.write(`${state.observation}\n\nAn empty line lists what you can do; end with Ctrl-D.\n`)
  lines.prompt()
  for await (const line of lines) {
    if (line.trim() === '') process.stdout.write(`${state.admissible.join('\n')}\n`)
    else {
      state = next(state, line)
      process.stdout.write(`${state.observation}\n`)
    }
    if (state.done) {
      process.stdout.write(state.won ? `\nDone in ${state.steps} steps.\n` : '\nThe step limit is reached.\n')
      break
    }
    lines.prompt()
  }
  lines.close()
  return 0
}
