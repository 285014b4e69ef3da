import { parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { dotLines, type Node, treeLines } from '../replay/tree.ts'
import { whyTask, whyVersion } from '../replay/why.ts'
import { whyStep } from '../replay/why-step.ts'
import type { Command } from './command.ts'
import { openRun, openRunToRead, TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'the complete lineage of a task, a step or a model version',
  help: `
rl why RUN task ID|SLOT              parents, critiques, rewriter, accuracies, thresholds and decider; also for rejected tasks
rl why RUN step ROLLOUT#STEP         e.g. 3/train-00012/5#4: outcome, votes, group, advantage and the update that used it
rl why RUN version policy/N          its training data, its figures and its later results; also reward-model/N
  --dot    prints for Graphviz
  --json   prints JSON

${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          json: { type: 'boolean', default: false },
          dot: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, kind, id] = positionals
    if (run === undefined || kind === undefined || id === undefined)
      throw usage('expected a run, then task, step or version, then its name')
    // Advantages of a step follow from rules. All other facts are in the log.
    const log = kind === 'step' ? await openRun(run, values) : openRunToRead(run)
    try {
      const answer = answerOf(log, kind, id)
      if (values.json) printJson(answer)
      else for (const line of values.dot ? dotLines(answer) : treeLines(answer)) printLine(line)
    } finally {
      log.close()
    }
    return 0
  },
}

function answerOf(log: LogReader, kind: string, id: string): Node {
  if (kind === 'task') return whyTask(log, id)
  if (kind === 'step') {
    const [rollout = '', step] = id.split('#')
    if (step === undefined) throw usage(`'${id}' names no step; write e.g. ${id}#0`)
    return whyStep(log, rollout, wholeNumber('the step', step))
  }
  const [role, version] = id.split('/')
  if (kind !== 'version' || (role !== 'policy' && role !== 'reward-model') || version === undefined)
    throw usage(`there is no '${kind} ${id}'`)
  return whyVersion(log, role, wholeNumber('the version', version))
}

function usage(message: string): RlError {
  return new RlError(message, { code: 'cli.usage', hint: 'rl why --help' })
}
