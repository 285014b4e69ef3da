/** Runs tests that need local desktops, or says SKIP and why. */
import { missingParts, programPath } from '../src/local/sandbox.ts'

/** True where desktops can be started and all programs are there. */
export function canRun(what: string, ...programs: readonly string[]): boolean {
  const missing = [...missingParts(), ...programs.filter((program) => programPath(program) === null)]
  if (missing.length === 0) return true
  process.stdout.write(`SKIP ${what}: ${missing.join(', ')} missing\n`)
  return false
}
