/**
 * Writes the whole stack of each fault of a user's code to the role's log. It does so even if the fault cost no more
 * than a rollout.
 */
import { explain } from '../../errors.ts'
import { onUserFault, placeOf, type UserCodeError } from '../../user-code.ts'
import { redact } from './redact.ts'

/** Different stacks that a process writes. */
const MOST_STACKS = 50

/** Writes faults to standard error, which the head keeps in the role's log. */
export function logUserFaults(): void {
  const written = new Set<string>()
  onUserFault((fault) => {
    const text = stackOf(fault)
    const what = text ?? fault.message
    if (written.has(what) || written.size >= MOST_STACKS) return
    written.add(what)
    process.stderr.write(`${redact(text === null ? fault.message : `${fault.message}\n${text}`)}\n`)
  })
}

/** Returns the stack of the thrown error, or null if none was thrown. */
function stackOf({ cause }: UserCodeError): string | null {
  return cause instanceof Error && cause.stack !== undefined ? cause.stack : null
}

/**
 * Ends the process if code throws that nobody waits for (a timer, a promise that was let go). Its last line is then the
 * reason that the head tells. Else it would be the version of Node.
 */
export function nameUncaught(): void {
  process.on('uncaughtException', (error: unknown) => {
    const place = placeOf(error, '')
    const stack = error instanceof Error ? error.stack : undefined
    const reason = `${place === '' ? '' : `${place}: `}${explain(error)}`
    process.stderr.write(redact(`${stack ?? ''}\nrlanything: thrown where nobody waits for it: ${reason}\n`))
    process.exit(1)
  })
}
