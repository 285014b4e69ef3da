import { createInterface } from 'node:readline'
import { openDataset } from '../../environments/alfworld/dataset.ts'
import { advance, initialState, type State, step } from '../../environments/alfworld/engine.ts'
import { type Game, loadGame } from '../../environments/alfworld/game.ts'
import { RlError } from '../../errors.ts'
import { type Command, parseCommandLine, printJson, wholeNumber } from '../command.ts'

export const command: Command = {
  summary: 'play a game from standard input',
  help: `
rl alfworld play --game FILE [--interactive] [--max-steps N]

Reads commands from standard input, one a line, and prints one JSON object a line, the first for the reset:
  {"cmd", "obs", "admissible", "won", "score", "done"}
At the reset cmd, score and done are null: the engine scores steps. A command that is not in "admissible" answers
"Nothing happens." The game goes on when it is won, as the original engine does.

  --game FILE     a game.tw-pddl, also with .gz, or a folder or archive that holds one game
  --interactive   for a person: prints texts; an empty line lists what can be done
  --max-steps N   ends the episode after N commands or when it is won: later lines repeat the last result`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          game: { type: 'string' },
          interactive: { type: 'boolean', default: false },
          'max-steps': { type: 'string' },
        },
      },
      argv,
    )
    if (values.game === undefined)
      throw new RlError('--game is missing', { code: 'cli.usage', hint: 'see --help' })
    const limit = values['max-steps']
    const maxSteps = limit === undefined ? undefined : wholeNumber('--max-steps', limit, 1)
    const next = maxSteps === undefined ? advance : step
    const state = initialState(await onlyGame(values.game), { maxSteps })
    return values.interactive ? playTalking(state, next) : playLines(state, next)
  },
}

type Next = (state: State, command: string) => State

async function onlyGame(path: string): Promise<Game> {
  const { games } = await openDataset(path)
  if (games.length !== 1)
    throw new RlError(`${path} holds ${games.length} games, not one`, {
      code: 'cli.usage',
      hint: games.length ? `for example --game ${games[0].path}` : 'name a game.tw-pddl',
    })
  return loadGame(await games[0].read(), path)
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
