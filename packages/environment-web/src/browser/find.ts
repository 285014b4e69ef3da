/** Finds a browser of Chromium's make. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { installHint, isProgram, programFile, programFolders, RlError } from 'rlanything/kit'
import { BROWSERS } from './browsers.ts'

const MAC = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/**
 * Returns the path of a browser, or null if there is none.
 * @param named a path or a name on the PATH; null takes the first browser that is found
 */
export function lookForBrowser(named: string | null = null): string | null {
  if (named?.includes('/') || named?.includes('\\')) return isProgram(named) ? named : null
  for (const name of named === null ? BROWSERS : [named])
    for (const folder of programFolders()) {
      const path = join(folder, programFile(name))
      if (isProgram(path)) return path
    }
  return named === null ? (MAC.find((path) => existsSync(path)) ?? null) : null
}

/** @throws RlError `web.no-browser` */
export function findBrowser(named: string | null): string {
  const found = lookForBrowser(named)
  if (found !== null) return found
  throw new RlError(named === null ? 'there is no Chromium' : `there is no browser '${named}'`, {
    code: 'web.no-browser',
    hint: `${installHint('chromium')}; environment.web.browser names one elsewhere`,
  })
}
