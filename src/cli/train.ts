/** `rl train`: takes an agent as it is to a better one, with proof. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { dryRun } from '../agents/dry-run.ts'
import { nextMessageWords } from '../agents/next-message.ts'
import { HELD_OUT, readAgentTasks } from '../agents/tasks.ts'
import { type TrainOptions, train, usualConcurrency } from '../agents/train.ts'
import { forTerminal, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { interrupted } from '../interrupted.ts'
import { awaitHead } from './await-head.ts'
import type { Command } from './command.ts'
import { numberFlag, required } from './model-flags.ts'
import { ENDPOINT_FLAGS, learningOf, silenceOf } from './train-endpoint.ts'
import { gradeFrom, judgeFrom, lengthOf, taught } from './train-flags.ts'
import { recordedText, resultLines } from './train-text.ts'

export const command: Command = {
  summary: 'trains an agent of yours on your tasks, and says whether it got better',
  serves: true,
  help: `
rl train AGENT --tasks FILE --model MODEL (--grade FILE | --rubric FILE | --own-outcome) [options]
rl train --command "python agent.py" --tasks FILE --model MODEL (--grade FILE | --rubric FILE | --own-outcome) [options]
e.g. rl train ./agent.ts --tasks tasks.jsonl --grade ./grade.ts --model HuggingFaceTB/SmolLM2-135M-Instruct

AGENT is a module that exports agent(task, { baseURL, apiKey, model, signal, log }). It calls the model with any client
of OpenAI or Anthropic. It may return a text, or an outcome: { success }, { score } or { abstained }.
A command is an agent in any language. It gets OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL, ANTHROPIC_BASE_URL,
ANTHROPIC_API_KEY and RL_TASK (the task as JSON). The last line that it prints is its result.
The model learns a low-rank adapter on this machine. A fifth of the tasks is held out, and measured before and after.

  --tasks FILE       lines of JSON with an id and whatever the agent reads
  --grade FILE       a module that exports grade(task, result, transcript): true or false, a number from 0
                     to 1, or { abstained }
  --rubric FILE      a text by which a model grades the whole rollout from 0 to 1
  --judge MODEL      the model that grades by it, at --judge-url URL; its key is in RL_JUDGE_API_KEY
                     (the model itself, as it was before the training)
  --next-message     --judge reads what is said after each call as the verdict on it; no grade is needed, and one that is
                     given only measures
  --own-outcome      the agent's own outcome counts
  --model MODEL      a folder with a model, or a name on a hub
  --from RUN         learns from the rollouts of RUN in place of playing, and plays only the held-out tasks
  --iterations N     updates of the model                                   (10, or as many as --minutes allows)
  --minutes M        ends the training in time, with the last measurement
  --base-url URL     address of the model's endpoint, e.g. https://api.openai.com/v1; its key is OPENAI_API_KEY
  --learn instructions  learns instructions and lessons in place of weights, for a model behind an endpoint
  --learn weights    the model is behind an endpoint, and a program of yours trains it (docs/external-trainers.md)
  --proposer NAME    the model there that proposes changes                  (the model itself)
  --budget-calls N   most calls of the endpoint, all included               (2000)
  --concurrency N    agents at a time                                       (twice the processors, at least 4)
  --deadline S       seconds that one agent may take                        (300)
  --seed N           draws the held-out tasks and all else                  (1)
  --run ID           name of the run; the same name goes on with it          (train-... by the time)
  --set KEY=VALUE    changes a key of the run's config; may be repeated
  --dry-run          shows the plan, the first task and the first call, and starts nothing
  --json             prints the proof as JSON

Ctrl-C pauses. The same command with the printed --run goes on. docs/agents.md tells more.`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          tasks: { type: 'string' },
          command: { type: 'string' },
          grade: { type: 'string' },
          rubric: { type: 'string' },
          judge: { type: 'string' },
          'judge-url': { type: 'string' },
          'next-message': { type: 'boolean', default: false },
          'own-outcome': { type: 'boolean', default: false },
          model: { type: 'string' },
          from: { type: 'string' },
          iterations: { type: 'string' },
          minutes: { type: 'string' },
          ...ENDPOINT_FLAGS,
          concurrency: { type: 'string' },
          deadline: { type: 'string', default: '300' },
          run: { type: 'string' },
          seed: { type: 'string', default: '1' },
          set: { type: 'string', multiple: true, default: [] },
          'dry-run': { type: 'boolean', default: false },
          json: { type: 'boolean', default: false },
        },
        allowPositionals: true,
      },
      argv,
    )
    const [agent, ...rest] = positionals
    if ((agent === undefined) === (values.command === undefined) || rest.length > 0)
      throw new RlError('expected one agent, or --command', { code: 'cli.usage', hint: 'rl train --help' })
    if (values.command?.trim() === '')
      throw new RlError('--command is empty', {
        code: 'cli.usage',
        hint: 'give what starts the agent, e.g. --command "python agent.py"',
      })
    for (const [flag, file] of [
      ['AGENT', agent],
      ['--grade', values.grade],
      ['--rubric', values.rubric],
    ] as const)
      if (file !== undefined && !existsSync(file))
        throw new RlError(`${flag}: there is no file ${resolve(file)}`, {
          code: 'cli.usage',
          hint: 'rl train --help',
        })
    const judge = judgeFrom(values)
    const grade = gradeFrom(values, judge)
    const seed = wholeNumber('--seed', values.seed ?? '1')
    const { recording, tasks } = taught(readAgentTasks(required('--tasks', values.tasks), seed), values)
    const run =
      values.run ?? `train-${new Date().toISOString().replace(/[-:]/g, '').slice(0, 15).toLowerCase()}`
    const say = (line: string) =>
      values.json ? process.stderr.write(`${forTerminal(line)}\n`) : printLine(line)
    if (recording !== null) say(recordedText(recording, values.from ?? ''))
    say(
      `agent ${agent ?? values.command}: ${tasks.train.length} tasks to train on, ${tasks.heldOut.length} ${HELD_OUT}`,
    )
    const stopping = new AbortController()
    void interrupted().then(() => stopping.abort())
    const learning = learningOf(run, values, tasks)
    const silence = await silenceOf(values['base-url'])
    if (silence !== null) say(silence)
    if (values.learn === 'weights')
      say(
        `a trainer must answer, e.g.: npm run -s rl -- trainer --run ${run} --model FOLDER (docs/external-trainers.md)`,
      )
    const options: TrainOptions = {
      run,
      agent: values.command === undefined ? { module: resolve(agent ?? '') } : { command: values.command },
      grade,
      tasks,
      recording,
      model: required('--model', values.model),
      ...lengthOf(values),
      concurrency:
        values.concurrency === undefined
          ? usualConcurrency()
          : wholeNumber('--concurrency', values.concurrency, 1),
      agentSeconds: numberFlag('--deadline', values.deadline, 1),
      config: learning.config,
      words: [
        ...learning.words,
        ...(judge !== null && values['next-message'] ? nextMessageWords(judge) : []),
        ...(values.set ?? []).flatMap((word) => ['--set', word]),
        '--set',
        `run.seed=${seed}`,
      ],
      awaitHead: (signal) =>
        awaitHead({ run, nats: null, user: 'environment-worker', say: () => {}, signal }),
      say,
      signal: stopping.signal,
    }
    if (values['dry-run']) {
      await dryRun(options)
      return 0
    }
    const trained = await train(options)
    if (values.json) printJson({ run, ...trained })
    else for (const line of resultLines(run, trained, tasks.heldOut.length)) printLine(line)
    return trained.status
  },
}
