/** For tests that need a browser. */
import { lookForBrowser } from '../../../src/environments/web/browser/find.ts'
import { installHint } from '../../../src/platform/programs.ts'

/** Whether there is one; else says SKIP and why. */
export function hasBrowser(): boolean {
  if (lookForBrowser() !== null) return true
  process.stdout.write(`SKIP: there is no Chromium; ${installHint('chromium')}\n`)
  return false
}
