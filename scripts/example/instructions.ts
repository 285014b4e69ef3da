/**
 * Learning by instructions in 20 seeds, against an endpoint whose success depends in a known way on its lessons
 * (examples/instructions/endpoint.ts). The first seeds go through the whole system: `rl train` with head, gateway and
 * agents. In the others this script plays the tasks and keeps the events in memory. Their decisions, prompts and
 * answers are those of the system, over the same HTTP.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EFFECTS, startTestEndpoint, type TestEndpoint } from '../../examples/instructions/endpoint.ts'
import { chooseInstructions } from '../../src/actors/policy/choose-instructions.ts'
import { affordable, openInstructionFold, weighingOf } from '../../src/actors/policy/instructions-fold.ts'
import { proposalMessages, readProposal } from '../../src/actors/policy/proposal.ts'
import { parseConfig } from '../../src/config.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { systemText } from '../../src/learning/instructions.ts'
import { withSystemText } from '../../src/openai-api/system-text.ts'

const SEEDS = 20
const WHOLE = 2
const BUDGET = 2_000
const TASKS = 32
const ROLLOUTS = 2
const HELD_OUT = { tasks: 8, rollouts: 4 }
const FOLDER = 'examples/instructions'

type Result = {
  readonly lessons: readonly string[]
  readonly calls: number
  readonly tries: number
  readonly before: number
  readonly after: number
}

/**
 * Writes a line for each seed, and returns the exit status.
 *
 * @param allWhole whether every seed goes through the whole system, which takes a quarter of an hour
 */
export async function instructionSeeds(allWhole: boolean): Promise<number> {
  const helpful = Object.keys(EFFECTS).filter((lesson) => EFFECTS[lesson] > 0)
  let useful = 0
  let most = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const endpoint = await startTestEndpoint(seed)
    const whole = allWhole || seed <= WHOLE
    const { lessons, calls, tries, before, after } = await (whole ? wholeRun : shortRun)(endpoint, seed)
    endpoint.close()
    // All that help, and no other.
    const exact = lessons.length === helpful.length && helpful.every((lesson) => lessons.includes(lesson))
    if (exact) useful++
    most = Math.max(most, calls)
    const way = whole ? 'whole system' : 'decisions over HTTP'
    process.stdout.write(
      `seed ${seed} (${way}): ${exact ? 'the helpful lessons' : `[${lessons.join(' | ')}]`}, ${tries} tries, ${calls} calls, held out ${before.toFixed(2)} -> ${after.toFixed(2)}\n`,
    )
  }
  process.stdout.write(`seeds=${SEEDS} useful=${useful} calls=${most}\n`)
  return useful >= SEEDS - 1 && most <= BUDGET ? 0 : 1
}

/** `rl train` as a user starts it. */
async function wholeRun({ url, calls }: TestEndpoint, seed: number): Promise<Result> {
  const root = mkdtempSync(join(tmpdir(), 'rl-instructions-'))
  try {
    const words = [
      ...['train', `${FOLDER}/agent.ts`, '--tasks', `${FOLDER}/tasks.jsonl`, '--grade', `${FOLDER}/grade.ts`],
      ...['--model', 'agent', '--base-url', url, '--learn', 'instructions', '--proposer', 'proposer'],
      ...['--budget-calls', String(BUDGET), '--seed', String(seed), '--run', 'seed', '--json'],
    ]
    const env = { ...process.env, RL_RUNS: root }
    const run = spawn(process.execPath, ['bin/launch.mjs', 'src/rl.ts', ...words], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let said = ''
    run.stdout.on('data', (part: Buffer) => {
      said += part.toString()
    })
    const status = await new Promise((resolve) => run.once('exit', resolve))
    if (status !== 0) throw new Error(`rl train ended with ${status}: ${said.slice(-2_000)}`)
    const { proof } = JSON.parse(said) as {
      readonly proof: { readonly before: number; readonly after: number }
    }
    const log = openLogReader(join(root, 'seed', 'events.db'))
    const newest = log.newest(['InstructionsChosen'])
    log.close()
    if (newest?.type !== 'InstructionsChosen') throw new Error('the log holds no instructions')
    const { lessons, tries } = newest.data
    return { lessons, tries, calls: calls(), before: proof.before, after: proof.after }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** The loop of a run, without its processes and its log. */
async function shortRun({ url, calls }: TestEndpoint): Promise<Result> {
  const config = parseConfig({
    policy: { provider: 'openai', acting: 'free', instructions: {}, expert: { maxCalls: BUDGET } },
    rewardModel: { mode: 'off' },
    learning: { reward: 'outcome' },
  })
  const questions = readFileSync(`${FOLDER}/tasks.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly question: string }).question)
  const [train, heldOut] = [questions.slice(0, TASKS), questions.slice(TASKS, TASKS + HELD_OUT.tasks)]
  const fold = openInstructionFold()
  let reserved = 0
  let served = ''

  async function play(
    iteration: number,
    purpose: 'train' | 'evaluation',
    tasks: readonly string[],
    n: number,
    text: string,
  ) {
    let right = 0
    const rollouts = tasks.flatMap((task) => Array.from({ length: n }, () => task))
    await Promise.all(
      rollouts.map(async (task) => {
        const messages = withSystemText([{ role: 'user', content: task }], text)
        const success = (await ask(url, 'agent', messages)) === 'right'
        if (success) right++
        const outcome = { kind: 'scored', value: success ? 1 : 0, success } as const
        fold.see({ type: 'TrajectoryCompleted', data: { iteration, purpose, task, steps: 1, outcome } })
      }),
    )
    // The budget is taken as in a run: by the calls that were made.
    fold.see({
      type: 'CallsReserved',
      data: { role: 'environment', lot: iteration, calls: calls() - reserved },
    })
    reserved = calls()
    return right / rollouts.length
  }

  const before = await play(0, 'evaluation', heldOut, HELD_OUT.rollouts, '')
  for (let version = 1; ; version++) {
    fold.see({ type: 'IterationStarted', data: { iteration: version, policyVersion: version - 1 } })
    await play(version, 'train', train, ROLLOUTS, served)
    const chosen = await chooseInstructions({
      ...{
        fold,
        version,
        last: false,
        weighing: weighingOf(config.policy.instructions, config),
        model: 'proposer',
      },
      affords: (state) => affordable(state, config.policy.expert.maxCalls),
      propose: async (state) =>
        readProposal(await ask(url, 'proposer', proposalMessages({ state, good: [], bad: [] }))),
      tell: async (event) => fold.see(event),
    })
    fold.see({ type: 'InstructionsChosen', data: chosen })
    served = systemText(chosen)
    if (chosen.ended === null) continue
    const after = await play(version, 'evaluation', heldOut, HELD_OUT.rollouts, served)
    return { lessons: chosen.lessons, tries: chosen.tries, calls: calls(), before, after }
  }
}

async function ask(url: string, model: string, messages: readonly unknown[]): Promise<string> {
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages }),
  })
  const { choices } = (await answer.json()) as {
    readonly choices: readonly { readonly message: { readonly content: string } }[]
  }
  return choices[0].message.content
}
