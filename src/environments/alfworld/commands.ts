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

const serve = defineCommand({
  serves: true,
  help: `
rl alfworld serve [--data DIR] [--split NAME] [--types 1,3] [--limit N] [--seed S] [options]

Plays many games at once by lines of JSON. Each line is a question, and gets a line with the answer, in the same order. A list
of questions gets a list of answers. Standard output has nothing else. The end of the input ends it.

  {"do": "games"}                                     {"games": [{"key", "path", "kind"}], "skipped"}
  {"do": "load", "game": 3}                           {"game", "key", "path", "kind", "task"}
  {"do": "reset", "slot": 0, "game": 3, "max_steps"}  {"obs", "admissible", "won", "score", "done", "steps", "game", "key", "path"}
  {"do": "step", "slot": 0, "action": "look"}         {"obs", "admissible", "won", "score", "done", "steps"}
  {"do": "fork", "slot": 0, "to": "mine"}             the same, of the copy
  {"do": "plan", "slot": 0}                           {"plan": [...], "by"}: commands that win from here
  {"do": "walkthrough", "slot": 0}                    {"walkthrough": [...]}: the expert's commands from the start, else a plan
  {"do": "facts", "slot": 0}                          {"facts": [["inreceptacle", "mug_bar_...", "desk_bar_..."], ...]}
  {"do": "close", "slot": 0}                          {"closed"}

A game is an index or a key. Without one the next game of a random order is taken. A question's "id" comes back in its answer.
A faulty question is answered with {"error": {"code", "message"}}. At the step limit, or once it is won, a game is over: further
steps answer the same. integrations/alfworld has a client in Python with the calls of ALFWorld.

  --data DIR         folder or archive of ALFWorld data; absent: games are generated
  --split NAME       only this split, e.g. valid_seen
  --types LIST       task types, by ALFWorld's numbers 1 to 6 or by their names
  --limit N          most games, taken evenly             (all; 100 generated ones)
  --seed S           order of the games, names, and generated games   (1)
  --difficulty NAME  of generated games: easy, medium, hard            (medium)
  --randomize        numbers the objects of each kind anew at each reset (ALFWorld's domain_randomization); "names" of a reset
                     is a seed for it, or null
  --max-steps N      step limit of a reset that names none; 0: none    (50, as ALFWorld's)
  --max-slots N      games at a time                                   (4096)
  --socket PATH      listens on a socket of this machine, for this user alone; each connection has its own slots`,
  options: {
    data: { type: 'string' },
    split: { type: 'string' },
    types: { type: 'string' },
    limit: { type: 'string' },
    seed: { type: 'string', default: '1' },
    difficulty: { type: 'string', default: 'medium' },
    randomize: { type: 'boolean', default: false },
    'max-steps': { type: 'string', default: '50' },
    'max-slots': { type: 'string', default: '4096' },
    socket: { type: 'string' },
  },
  run: async ({ values }) => (await import('./commands/serve.ts')).serve(values),
})

export const commands = { play, serve, verify, soak, generate, download }
