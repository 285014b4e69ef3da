/** Addresses of the pages. All that a page shows is in its address. */

/** Name of a screen, and the parts of its address. */
export type Route = {
  readonly screen: string
  readonly run: string | null
  readonly params: Readonly<Record<string, string>>
}

/** Patterns in order. `:name` is one part. */
const PATTERNS: readonly (readonly [screen: string, pattern: string])[] = [
  ['runs', '/'],
  ['compare', '/compare'],
  ['ablation', '/ablations/:name'],
  ['overview', '/r/:run'],
  ['iterations', '/r/:run/i'],
  ['iteration', '/r/:run/i/:iteration'],
  ['group', '/r/:run/g/:iteration/:slot'],
  ['trajectory', '/r/:run/t/:iteration/:slot/:index'],
  ['problem', '/r/:run/problems/:iteration/:slot'],
  ['tasks', '/r/:run/tasks'],
  ['task', '/r/:run/tasks/:slot'],
  ['judge', '/r/:run/judge'],
  ['versions', '/r/:run/versions'],
  ['version', '/r/:run/versions/:role/:version'],
  ['projections', '/r/:run/projections'],
  ['events', '/r/:run/events'],
  ['actors', '/r/:run/actors'],
]

/**
 * Returns the screen of a path, or null if none has it.
 * @example routeOf('/r/run-1/i/3') // { screen: 'iteration', run: 'run-1', params: { run: 'run-1', iteration: '3' } }
 */
export function routeOf(path: string): Route | null {
  const parts = partsOf(path)
  if (parts === null) return null
  for (const [screen, pattern] of PATTERNS) {
    const params = match(pattern.split('/').filter(Boolean), parts)
    if (params) return { screen, run: params.run ?? null, params }
  }
  return null
}

function partsOf(path: string): readonly string[] | null {
  try {
    return path.split('/').filter(Boolean).map(decodeURIComponent)
  } catch {
    return null
  }
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null
  const params: Record<string, string> = {}
  for (const [i, word] of pattern.entries()) {
    if (word.startsWith(':')) params[word.slice(1)] = parts[i] ?? ''
    else if (word !== parts[i]) return null
  }
  return params
}

/**
 * Returns an address within a run. Each part is escaped.
 * @example pathOf('run-1', 'i', 3) // '/r/run-1/i/3'
 */
export function pathOf(run: string, ...parts: readonly (string | number)[]): string {
  return ['/r', run, ...parts].map((part, i) => (i === 0 ? part : encodeURIComponent(part))).join('/')
}

export function pathOfAblation(name: string): string {
  return `/ablations/${encodeURIComponent(name)}`
}

/**
 * Returns the path of a rollout's page.
 * @example pathOfRollout('run-1', '3/train-00012/5') // '/r/run-1/t/3/train-00012/5'
 */
export function pathOfRollout(run: string, rollout: string): string {
  return pathOf(run, 't', ...rollout.split('/'))
}

/**
 * Returns an address as a person reads it: without escapes, if they are letters.
 * @example readable('/r/a%20b') // '/r/a b'
 */
export function readable(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
