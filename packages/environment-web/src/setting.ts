/** Web pages in a real browser as a setting. `open` loads the code that starts one. */
import { grammarKey, seeingBy } from '@rlanything/environment-desktop/screen'
import { defineSetting, generatedCounts } from 'rlanything/environments'
import type { z } from 'zod'
import { CAUSES } from './causes.ts'
import { commands } from './commands.ts'
import { compactView } from './compact-view.ts'
import type { WebEnvironment } from './environment.ts'

const keys = (zod: typeof z) => ({
  browser: zod
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'The browser, a path or a name on the PATH. null: the first browser of Chromium’s make that is found.',
    ),
  pages: zod
    .int()
    .min(1)
    .max(32)
    .default(2)
    .describe('Number of pages that are open at a time. The number of cores is enough.'),
  grammar: grammarKey(zod),
  scale: zod
    .int()
    .min(1)
    .max(8)
    .default(1)
    .describe(
      'Pixels of a picture for one pixel of the page. Pages have 500 x 500. MiniWoB++ pages have 160 x 210 and want 6.',
    ),
})

/** Characters: some ten thousand states of our own pages. */
const REMEMBERED = 32e6

export const setting = defineSetting<WebEnvironment, ReturnType<typeof keys>>({
  name: 'web',
  summary: 'web pages in a headless Chromium, our own or MiniWoB++ folders',
  config: keys,
  async open(config, { browser, pages, grammar, scale }) {
    const { source, data, seed, difficulty } = config.environment
    const { webEnvironment } = await import('./environment.ts')
    if (source === 'data') {
      const { folderSite } = await import('./miniwob/site.ts')
      const { train, ...evaluated } = generatedCounts(config)
      const site = folderSite({ folder: data ?? '', seed, counts: { train, ...evaluated } })
      return webEnvironment({ site, browser, pages, grammar, scale, remembered: REMEMBERED })
    }
    const { ownSite } = await import('./own/site.ts')
    const site = ownSite({ seed, counts: generatedCounts(config), difficulty })
    return webEnvironment({ site, browser, pages, grammar, scale, remembered: REMEMBERED })
  },
  runtime: (environment) => environment.runtime(),
  commands,
  doctor: async () => (await import('./doctor.ts')).browserFinding(),
  acting: { kind: 'choices', view: () => compactView, words: (environment) => environment.words() },
  pictures: {
    picture: (environment, episode) => environment.picture(episode),
    seeing: ({ grammar }) => seeingBy(grammar),
  },
  judging: { by: 'steps', causes: CAUSES },
  rewriting: {
    rewrite: (environment, request) => environment.rewrite(request),
    validate: (environment, task) => environment.validate(task),
  },
  expert: (environment) => environment.expert,
  progress: (environment, task, _seed, actions) => environment.progress(task, actions),
  // Nothing is hidden on a page, so what a step was expected to gain is what it gained.
  falls: (environment, task, _seed, actions) => environment.progress(task, actions),
  remaining: (environment, task, _seed, actions) => environment.remainders(task, actions),
})
