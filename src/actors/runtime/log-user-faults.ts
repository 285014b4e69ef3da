/** The log of a role has the whole stack of each fault of a user's code, also where it cost no more than a rollout. */
import { explain } from '../../errors.ts'
import { onUserFault, placeOf, type UserCodeError } from '../../user-code.ts'
import { redact } from './redact.ts'

/** Different stacks that a process writes. */
const MOST_STACKS = 50

/** To standard error, which the head keeps in the role's log. */
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

/** Of the error that was thrown; null where nothing was. */
function stackOf({ cause }: UserCodeError): string | null {
  return cause instanceof Error && cause.stack !== undefined ? cause.stack : null
}

/**
 * What nobody waits for (a timer, a promise that was let go) ends the process when it throws: its last line is then the reason that
 * the head tells, and not the version of Node.
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
