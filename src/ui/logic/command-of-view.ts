/** The `rl` command that tells in a terminal what a view shows. */
import { routeOf } from './route.ts'

/**
 * Returns the command of an address, or null if no command shows the same.
 * @example commandOfView('/r/run-1/tasks/train-00012', '') // 'npm run -s rl -- why run-1 task train-00012'
 */
export function commandOfView(path: string, search: string): string | null {
  const words = wordsOf(path, new URLSearchParams(search))
  return words === null ? null : ['npm run -s rl --', ...words.map(quoted)].join(' ')
}

function wordsOf(path: string, query: URLSearchParams): readonly string[] | null {
  const route = routeOf(path)
  if (route === null) return null
  const { iteration = '', slot = '', index = '', role = '', version = '', run = '' } = route.params
  const asked = (name: string) => query.get(name)
  const event = asked('sel') ?? asked('at')
  switch (route.screen) {
    case 'runs':
      return ['runs']
    case 'compare':
      return ['diff', asked('a') ?? 'A', asked('b') ?? 'B']
    case 'overview':
    case 'actors':
      return ['status', run]
    case 'iterations':
      return ['projections', run, 'show', 'accuracy', 'throughput']
    case 'iteration':
      return ['log', run, 'show', `IterationPlanned/${iteration}`]
    case 'group':
    case 'task':
      return ['why', run, 'task', slot]
    case 'trajectory': {
      const rollout = `${iteration}/${slot}/${index}`
      const step = asked('step')
      return step === null
        ? ['log', run, 'show', `Rollout/${rollout}`]
        : ['why', run, 'step', `${rollout}#${step}`]
    }
    case 'problem': {
      const test = asked('test')
      return test === null
        ? ['projections', run, 'show', 'unit-tests']
        : ['log', run, 'show', `UnitTest/${iteration}/${slot}/${test}`]
    }
    case 'tasks':
      return ['projections', run, 'show', 'lineage']
    case 'judge':
      return ['projections', run, 'show', 'reward-quality']
    case 'versions':
      return ['projections', run, 'show', 'training-health']
    case 'version':
      return ['why', run, 'version', `${role}/${version}`]
    case 'projections':
      return ['projections', run, 'show']
    case 'events':
      return event === null ? ['log', run, 'tail'] : ['log', run, 'show', event]
    default:
      return null
  }
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w./:=@,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
