/** ALFWorld as a setting: text games about a household, generated or real. `open` loads the engine. */
import { defineSetting } from '../setting.ts'
import { folderCounts, generatedCounts } from '../source.ts'
import { CAUSES } from './causes.ts'
import { commands } from './commands.ts'
import type { AlfworldEnvironment } from './environment.ts'
import { TASK_TYPES } from './tasks.ts'

/** Games kept ready: some 100 kB each. */
const CACHED_GAMES = 1024

export const setting = defineSetting<AlfworldEnvironment>({
  name: 'alfworld',
  summary: 'text games about a household, generated or real (ALFWorld)',
  async open(config) {
    const { source, data, seed, difficulty } = config.environment
    const { taskTypes, domainRandomization, splits } = config.environment
    const { alfworldEnvironment } = await import('./environment.ts')
    return alfworldEnvironment({
      source:
        source === 'data'
          ? { kind: 'folder', path: data ?? '', counts: folderCounts(config) }
          : { kind: 'generated', seed, counts: generatedCounts(config), size: difficulty },
      ...(taskTypes ? { types: TASK_TYPES.filter((type) => taskTypes.includes(type)) } : {}),
      ...(domainRandomization && splits.train ? { randomized: { split: splits.train, seed } } : {}),
      cachedGames: CACHED_GAMES,
      rewrite: {
        anyType: config.adaptation.anyType ?? false,
        random: config.adaptation.choice === 'random',
      },
    })
  },
  acting: {
    kind: 'choices',
    view: ({ view }) => view,
    words: (environment) => environment.words(),
    prompts: { numbered: 'alfworld-policy', free: 'alfworld-policy-free' },
  },
  taskTypes: TASK_TYPES,
  domainRandomization: true,
  judging: { by: 'steps', causes: CAUSES, prompt: 'alfworld-judge' },
  rewriting: {
    follows: ['anyType', 'choice'],
    rewrite: (environment, request) => environment.rewrite(request),
    validate: (environment, task) => environment.validate(task),
    language: {
      prompts: { rewrite: 'alfworld-rewrite', failure: 'alfworld-failure' },
      brief: (environment, request) => environment.briefing(request),
      read: (environment, request, answer) => environment.rewriteAs(request, answer),
    },
  },
  expert: (environment, first, task) => environment.expert(first, task),
  progress: (environment, task, seed, actions) => environment.progress(task, seed, actions),
  falls: (environment, task, _seed, actions) => environment.falls(task, actions),
  oracle: (environment, task, _seed, actions) => environment.oracle(task, actions),
  remaining: (environment, task, _seed, actions) => environment.remaining(task, actions),
  astray: (environment, first, seed, task) => environment.astray(first, seed, task),
  reference: (environment, task) => environment.reference(task),
  commands,
})
