/** Programs against tests as a setting. `open` loads the code that runs them. */

import { defineSetting, generatedCounts } from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import { commands } from './commands.ts'
import type { CodingEnvironment } from './environment.ts'
import { promptFile } from './prompt-file.ts'
import { SANDBOXES, wrongSandbox } from './providers/registry.ts'
import { chooseOptions, codingKeys, limitsIn } from './sandbox-config.ts'
import { acting, judging } from './writing.ts'

/** Highest level of generated problems. */
const LEVELS = { easy: 2, medium: 4, hard: 9 } as const

export const setting = defineSetting<CodingEnvironment, ReturnType<typeof codingKeys>>({
  name: 'coding',
  summary: 'programs (Python, JavaScript, C++) and unit tests, run against one another in a sandbox',
  config: codingKeys,
  check({ environment, learning }, refuse, { sandbox, language }) {
    // The providers of a user's module are checked when it is loaded.
    if (language !== 'python' && environment.source !== 'data')
      refuse(
        'environment.coding.language',
        `generated problems are for Python, not ${language}`,
        'use environment.source: data, or python',
      )
    const wrong = sandbox.module === null ? wrongSandbox(sandbox) : null
    if (wrong) refuse('environment.coding.sandbox.provider', wrong.message, wrong.hint)
    if (learning.reward === 'progress')
      refuse('learning.reward', "'progress' is not known of programs", 'use outcome or integrated')
  },
  async open(config, section, elsewhere) {
    const { source, data, seed, difficulty } = config.environment
    const { codingEnvironment } = await import('./environment.ts')
    const remote = elsewhere && section.sandbox.expert.executors !== null ? elsewhere : null
    return codingEnvironment({
      source:
        source === 'data'
          ? { kind: 'files', paths: [data ?? ''], tests: section.tests ?? undefined, seed }
          : { kind: 'generated', seed, counts: generatedCounts(config), maxLevel: LEVELS[difficulty] },
      executor: remote ? (await import('./executing.ts')).executorElsewhere(remote) : undefined,
      choose: chooseOptions(section, seed),
      limits: limitsIn(section),
      language: section.language,
      strengthen: section.strengthen === null ? undefined : { most: section.strengthen, seed },
    })
  },
  runtime: (environment) => environment.runtime(),
  async userParts({ sandbox }) {
    const { provider, module } = sandbox
    await SANDBOXES.load(module)
    const wrong = wrongSandbox(sandbox)
    if (wrong)
      throw new RlError(`environment.coding.sandbox.provider: ${wrong.message}`, {
        code: 'provider.unknown',
        hint: wrong.hint,
      })
    const part = SANDBOXES.userPart(provider, module)
    return part ? [part] : []
  },
  executing: {
    processes: ({ sandbox }) => sandbox.expert.executors,
    open: async (config, section, kept) =>
      (await import('./executing.ts')).openExecuting(config, section, kept),
  },
  commands,
  doctor: async () => (await import('./doctor.ts')).sandboxFinding(),
  acting,
  judging,
  rewriting: {
    rewrite: (environment, request) => environment.rewrite(request),
    validate: (environment, task) => environment.validate(task),
    language: {
      prompts: { rewrite: promptFile('coding-rewrite'), failure: null },
      brief: (environment, request, evidence) => environment.briefing({ ...request, ...evidence }),
      read: (environment, request, answer) => environment.rewriteAs(request, answer),
    },
  },
})
