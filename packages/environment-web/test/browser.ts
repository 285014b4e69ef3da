/** For tests that need a browser. */
import { installHint } from 'rlanything/kit'
import { lookForBrowser } from '../src/browser/find.ts'

/** Whether there is one; else says SKIP and why. */
export function hasBrowser(): boolean {
  if (lookForBrowser() !== null) return true
  process.stdout.write(`SKIP: there is no Chromium; ${installHint('chromium')}\n`)
  return false
}
