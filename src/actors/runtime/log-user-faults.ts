/** The log of a role has the whole stack of each fault of a user's code, also where it cost no more than a rollout. */
import { onUserFault, type UserCodeError } from '../../user-code.ts'
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
