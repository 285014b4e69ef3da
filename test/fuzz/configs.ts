/** Config files. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import { loadConfig, loggable, loggedConfig } from '../../src/config.ts'
import { mutateText, mutateTree } from './mutate.ts'
import type { Target } from './target.ts'

const FOLDER = fileURLToPath(new URL('../../config/', import.meta.url))

export const configTarget: Target = {
  name: 'configs',
  what: 'a config file',
  async open(folder) {
    const texts = readdirSync(FOLDER)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => readFileSync(join(FOLDER, name), 'utf8'))
    const trees = texts.map((text) => parse(text) as unknown)
    const file = join(folder, 'config.yaml')
    return {
      make(draw) {
        if (draw.uniform() < 0.5) return mutateText(draw.pick(texts), draw.pick(texts), draw)
        try {
          return Buffer.from(stringify(mutateTree(draw.pick(trees), draw.pick(trees), draw)))
        } catch {
          return Buffer.from('run: {}')
        }
      },
      take(input) {
        writeFileSync(file, input)
        const config = loadConfig({ file })
        const again = loggedConfig(JSON.parse(JSON.stringify(loggable(config))))
        return isDeepStrictEqual(loggable(again), loggable(config))
          ? null
          : 'the log would hold another config'
      },
    }
  },
}
