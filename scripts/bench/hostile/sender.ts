/** Sends hostile messages as one user: `sender.ts USER COUNT SEED`. Prints the number that was sent. */
import { addressFromEnvironment } from '../../../src/broker/connection.ts'
import { subjectsOf } from '../../../src/events/subjects.ts'
import { rng, seedOf } from '../../../src/random.ts'
import { HOSTILE, messagesOf } from '../../../test/support/hostile-messages.ts'
import { openRawNats } from '../../../test/support/raw-nats.ts'

const [user, count, seed] = process.argv.slice(2)
const subjects = subjectsOf('test')
/** The broker takes no larger message. */
const MOST_BYTES = 8_000_000
/** Messages that the broker has not taken yet. */
const IN_FLIGHT = 4

const raw = await openRawNats(addressFromEnvironment(process.env.NATS_URL ?? ''))
const kinds = Object.keys(HOSTILE)
const { below } = rng(seedOf(Number(seed), 'hostile', user))
/** Subjects of a tool: it reads, and asks what actors do. */
const READS = [subjects.log('read'), subjects.log('has'), subjects.log('head'), subjects.blob('get')]
const ASKED = [...READS, subjects.call('actors'), subjects.call('status.policy')]

/** A message of a drawn kind, and of a drawn size between 16 bytes and 8 MB. */
function draw(): readonly [subject: string, body: Uint8Array] {
  const kind = kinds[below(kinds.length)]
  const messages = user === 'tool' || below(2) === 0 ? null : messagesOf(kind)
  if (messages !== null) return messages[below(messages.length)]
  const body = HOSTILE[kind](Math.min(MOST_BYTES, 2 ** (4 + below(20))))
  const own =
    user === 'tool' ? ASKED : [...ASKED, subjects.append('policy-worker'), subjects.put('policy-worker')]
  return [own[below(own.length)], body.subarray(0, MOST_BYTES)]
}

let sent = 0
while (sent < Number(count)) {
  const [subject, body] = draw()
  raw.publish(subject, body, { reply: user === 'tool' ? '_INBOX.nobody' : `_INBOX_${user}.nobody` })
  if (++sent % IN_FLIGHT === 0) await raw.settle()
}
await raw.settle()
raw.close()
process.stdout.write(`${sent}\n`)
