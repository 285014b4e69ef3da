/** A host that joined a run with a file: how it reaches the broker, and whether it found what the file means. */
import type { JoinFile } from '../broker/joins.ts'
import { pause } from '../clock.ts'
import { RlError } from '../errors.ts'
import type { BusAddress } from '../events/bus.ts'
import type { LogClient } from '../events/log-client.ts'
import { codeDigest } from '../package.ts'

/** Time in which the head must answer: its broker is there, so it is there too, or starts. */
const ANSWER_MS = 10_000

export function joinedAddress({ servers, ca, user, nkey }: JoinFile): BusAddress {
  return { url: servers.join(','), ca, user, nkey }
}

/**
 * Checks that the run is the one of the file, and that this code is the head's.
 * @throws RlError `join.no-head`, `join.other-run`, `join.other-code`
 */
export async function checkJoined(
  log: LogClient,
  { run, runStart, code, role }: JoinFile,
  anyCode: boolean,
): Promise<void> {
  if (code !== codeDigest() && !anyCode)
    throw new RlError(`the code of this host is not that of the head of run '${run}'`, {
      code: 'join.other-code',
      hint: 'install the same version here, write the file anew on its host, or let it in: --any-code',
    })
  const late = new AbortController()
  const first = await Promise.race([
    log.read({ from: 2, until: 1, limit: 1 }),
    pause(ANSWER_MS, late.signal).then(() => null),
  ])
  late.abort()
  if (first === null)
    throw new RlError(`the head of run '${run}' did not answer within ${ANSWER_MS / 1000} s`, {
      code: 'join.no-head',
      hint: `start it on its host: npm start -- --role head --run ${run} --cluster ADDRESS`,
    })
  if (first.hash !== runStart)
    throw new RlError(`another run is called '${run}' there`, {
      code: 'join.other-run',
      hint: `on the head's host: npm run -s rl -- join ${run} --role ${role} -o FILE`,
    })
}
