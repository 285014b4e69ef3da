/** Tells of processes whose code is not that of the head. Their results may differ from those of the head's code. */
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'

/** Version and digest of a process' code. Null for a process that tells none, i.e. an older one. */
export type Code = NonNullable<EventData<'ActorStarted'>['code']> | null

/** Hosts that are told of. A fleet of a thousand must not fill the screen of the head. */
const MOST_TOLD = 20

/** Short text of a code, with as much of its digest as people compare. */
export function codeText(code: Code): string {
  return code === null ? 'no version' : `${code.version} (${code.digest.slice(0, 12)})`
}

export function isOtherCode(code: Code, of: Code): boolean {
  return of !== null && code?.digest !== of.digest
}

/** Returns the code of each worker's process at its last start, by the worker's name. */
export function codesOf(log: LogReader): Record<string, Code> {
  const codes: Record<string, Code> = {}
  for (const { data } of log.events({ types: ['ActorStarted'] })) codes[data.worker] = data.code ?? null
  return codes
}

/** Says one line of each host, role and code that differs from the head's. */
export function openCodeCheck(own: Code, say: (line: string) => void): (event: LoggedEvent) => void {
  const told = new Set<string>()
  return function see(event) {
    if (event.type !== 'ActorStarted') return
    const { role, worker, host, code = null } = event.data
    if (!isOtherCode(code, own)) return
    const key = `${host} ${role} ${code?.digest}`
    if (told.has(key) || told.size >= MOST_TOLD) return
    told.add(key)
    say(`${worker} on ${host} has other code: ${codeText(code)}; the head has ${codeText(own)}`)
  }
}
