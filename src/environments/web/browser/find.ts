/** Where a browser of Chromium's make is. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { RlError } from '../../../errors.ts'
import { installHint, isProgram, programFile, programFolders } from '../../../platform/programs.ts'

/** The smallest first: without a window and its libraries. */
export const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
]
const MAC = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** @param named a path or a name on the PATH; else the first that is there. Null where there is none. */
export function lookForBrowser(named: string | null = null): string | null {
  if (named?.includes('/') || named?.includes('\\')) return isProgram(named) ? named : null
  for (const name of named === null ? BROWSERS : [named])
    for (const folder of programFolders()) {
      const path = join(folder, programFile(name))
      if (isProgram(path)) return path
    }
  return named === null ? (MAC.find((path) => existsSync(path)) ?? null) : null
}

/** Error: `web.no-browser`. */
export function findBrowser(named: string | null): string {
  const found = lookForBrowser(named)
  if (found !== null) return found
  throw new RlError(named === null ? 'there is no Chromium' : `there is no browser '${named}'`, {
    code: 'web.no-browser',
    hint: `${installHint('chromium')}; environment.web.browser names one elsewhere`,
  })
}
