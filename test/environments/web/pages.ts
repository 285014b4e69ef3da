/** Pages of a few lines that are read as those of a folder are. */
import type { Task } from '../../../src/environments/port.ts'
import type { Grammar } from '../../../src/environments/screen/grammars/names.ts'
import {
  type WebEnvironment,
  type WebEpisode,
  webEnvironment,
} from '../../../src/environments/web/environment.ts'
import type { Site } from '../../../src/environments/web/site.ts'

/** `end(reward)` of a page ends its episode; `say(text)` shows a line. */
const SCRIPT = `let reward = null
  Object.assign(window, { end(one) { reward ??= one }, say(text) { document.getElementById('said').append(Object.assign(document.createElement('p'), { textContent: text })) } })
  __rl.page = { full: true, start() { reward = null; Math.random(); window.begin?.(); return 'a goal' }, state: () => ({ done: reward !== null, reward: reward ?? 0 }), oracle: () => null }`

export type PageText = { readonly body: string; readonly script?: string }

export function openPages(
  pages: Readonly<Record<string, PageText | string>>,
  options: { readonly grammar?: Grammar; readonly files?: Readonly<Record<string, string>> } = {},
): WebEnvironment {
  const site: Site = {
    screen: { width: 500, height: 500 },
    scripts: [SCRIPT],
    async serve(path) {
      const file = options.files?.[path]
      if (file !== undefined)
        return { body: file, mediaType: path.endsWith('js') ? 'text/javascript' : 'text/html' }
      const page = pages[path.slice(1)]
      if (page === undefined) return null
      const { body, script = '' } = typeof page === 'string' ? { body: page } : page
      return {
        body: `<!doctype html><body>${body}<div id=said></div><script>${script}</script></body>`,
        mediaType: 'text/html',
      }
    },
    start: ({ page, seed }) => ({ path: `/${page}`, fresh: true, request: { seed: seed ?? 1 } }),
    tasks: async () => [],
    samples: async () => [],
    variants: async () => [],
  }
  return webEnvironment({ site, browser: null, pages: 1, grammar: options.grammar })
}

const taskOf = (page: string, goal = ''): Task => ({
  ...{ id: page, environment: 'web', kind: page, goal },
  recipe: { page },
})

/** An episode after some actions. */
export async function after(
  environment: WebEnvironment,
  page: string,
  actions: readonly string[],
  goal = '',
): Promise<WebEpisode> {
  let episode = await environment.reset(taskOf(page, goal), { seed: [1, 1], maxSteps: 100 })
  for (const action of actions) episode = await episode.step(action)
  return episode
}

/** What stands on a page, without marks of what has changed. */
export const linesOf = ({ turn }: WebEpisode): readonly string[] =>
  turn.observation.split('\n').map((line) => line.replace(/^\* /, ''))

/** Names of what is listed. */
export const namesOf = (episode: WebEpisode): readonly string[] =>
  linesOf(episode).flatMap((line) => /^\[\d+\] \S+ "([^"]*)"/.exec(line)?.[1] ?? [])
