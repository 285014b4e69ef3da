import type { Finding } from 'rlanything/environments'
import { installHint } from 'rlanything/kit'
import { lookForBrowser } from './browser/find.ts'
import { findFence } from './browser/launch.ts'

/** Finds the browser of this machine for pages, and how it is isolated. Only pages need one. */
export async function browserFinding(): Promise<Finding> {
  const found = lookForBrowser()
  const { bwrap, detail } = findFence()
  if (!found)
    return {
      check: 'browser',
      result: 'warn',
      detail: 'no Chromium here',
      advice: `web pages cannot be played; ${installHint('chromium')}`,
    }
  return {
    check: 'browser',
    result: bwrap ? 'ok' : 'warn',
    detail: `${found}, ${detail}`,
    advice: bwrap ? null : `pages are fenced less well; ${installHint('bubblewrap')}`,
  }
}
