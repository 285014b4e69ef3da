/** The commands `rl alfworld ...`. The code of a command is loaded when the command runs. */
import { defineCommand } from '../command.ts'

const play = defineCommand({
  help: `
rl alfworld play --game FILE [--interactive] [--max-steps N]

Reads commands from standard input, one a line, and prints one JSON object a line, the first for the reset:
  {"cmd", "obs", "admissible", "won", "score", "done"}
At the reset cmd, score and done are null: the engine scores steps. The answer to a command that is not in
"admissible" is "Nothing happens." The game goes on after it is won, as in the original engine.

  --game FILE     a game.tw-pddl, also with .gz, or a folder or archive with one game
  --interactive   for a person: prints texts, and an empty line lists the admissible commands
  --max-steps N   ends the episode after N commands or when it is won; later lines repeat the last result`,
  options: {
    game: { type: 'string' },
    interactive: { type: 'boolean', default: false },
    'max-steps': { type: 'string' },
  },
  run: async ({ values }) => (await import('./commands/play.ts')).play(values),
})

const verify = defineCommand({
  help: `
rl alfworld verify --data DIR TRANSCRIPT... [--show N]

Replays recorded episodes (.jsonl or .jsonl.gz, one episode a line). Compares observation, admissible commands, won,
score and done at every step. The last line is  episodes=N steps=M mismatches=K ; the exit status is 1 if K > 0.
A step with any difference counts once. An episode whose game is missing or does not load counts once.

  --data DIR   folder or archive of ALFWorld data with the games; games beside the transcript are found too
  --show N     number of differences to print (5)`,
  options: { data: { type: 'string' }, show: { type: 'string', default: '5' } },
  positionals: true,
  run: async ({ values, positionals }) => (await import('./commands/verify.ts')).verify(values, positionals),
})

const soak = defineCommand({
  help: `
rl alfworld soak --data DIR [--split NAME]

Plays the expert's walkthrough of every game. Each command must do something. The game must be won after the last
command and not before. The last line is  games=N steps=M skipped=S failures=K  (skipped: games without a walkthrough).
The exit status is 1 if K > 0.

  --data DIR     a folder or archive of ALFWorld data
  --split NAME   only this split, e.g. valid_seen`,
  options: { data: { type: 'string' }, split: { type: 'string' } },
  run: async ({ values }) => (await import('./commands/soak.ts')).soak(values),
})

const generate = defineCommand({
  help: `
rl alfworld generate --out DIR --count N --seed S --difficulty easy|medium|hard

Makes rooms with tasks of all six types. A solution of each task is proven by playing it. Writes them as
DIR/json_2.1.1/SPLIT/TASK/TRIAL/{game.tw-pddl,initial_state.pddl,traj_data.json}. The same seed gives the same bytes.

  --out DIR            folder to write into
  --count N            number of games (100)
  --seed S             a whole number (1)
  --difficulty NAME    easy: 5-9 receptacles, 15 object types; medium: 10-16; hard: the size of real scenes (medium)
  --split NAME         name of the split's folder (train)`,
  options: {
    out: { type: 'string' },
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    difficulty: { type: 'string', default: 'medium' },
    split: { type: 'string', default: 'train' },
  },
  run: async ({ values }) => (await import('./commands/generate.ts')).generate(values),
})

const download = defineCommand({
  help: `
rl alfworld download [--file games|json|pddl] [--out DIR] [--sha256 HEX]

Fetches a file of the official ALFWorld releases and prints its path and SHA-256. The archive needs no unpacking:
give it as --data. Upstream publishes no checksums. So the first download is verified only if you give --sha256. Its
sum is recorded in FILE.sha256, and later downloads must agree with it.

  --file games     json_2.1.3_tw-pddl.zip: all that is needed to play (default)
  --file json      json_2.1.1_json.zip: ALFRED's traj_data.json, for the original Python code
  --file pddl      json_2.1.1_pddl.zip: initial states, for making games with the original Python code
  --out DIR        folder for the file (~/.cache/alfworld)
  --sha256 HEX     the sum that the file must have`,
  options: {
    file: { type: 'string', default: 'games' },
    out: { type: 'string' },
    sha256: { type: 'string' },
  },
  run: async ({ values }) => (await import('./commands/download.ts')).downloadRelease(values),
})

export const commands = { play, verify, soak, generate, download }
