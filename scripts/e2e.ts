/** Runs over several hosts, whole: `npm run -s e2e -- --help`. */
import { parseArgs } from 'node:util'
import { compareHosts } from './e2e/equal.ts'
import { FAULTS } from './e2e/fault-table.ts'
import { checkFaults } from './e2e/faults.ts'
import { noNetwork } from './e2e/network.ts'

const HELP = `npm run -s e2e -- hosts [--faults]

Hosts here have a network, process numbers and a folder of their own each, and all have one host name. They join by files,
with TLS and a key each. It needs Linux, root, ip and unshare. Without them it says SKIP.

hosts                 makes one run with local models on one host, and the same on four. The last line is
                      hosts=4 digest=equal events=N: the events of both that do not depend on time are equal.
hosts --faults        makes one run with simulated models on five hosts for each fault. The last line is
                      faults=N completed=N lost=0 doubled=0
  --times N           so often each fault                                     (1)
  --only A,B          only these
  --quick             waits of 30 s and more take a tenth

  completed  runs that end, and whose log verifies and replays
  lost       facts of an undisturbed run, results of rollouts, and told events that the log lacks
  doubled    facts that the log has more often, and positions that were told for two events

Faults:${FAULTS.map(({ name, what }) => `\n  ${name.padEnd(17)} ${what}`).join('')}`

const { values, positionals } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    times: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
if (values.help || positionals.join() !== 'hosts') {
  process.stdout.write(`${HELP}\n`)
  process.exit(values.help ? 0 : 2)
}
const without = noNetwork()
if (without !== null) {
  process.stdout.write(`SKIP hosts: ${without}\n`)
  process.exit(0)
}

const ending = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
if (values.faults) {
  const { times, only, quick } = values
  const counts = await checkFaults({
    times: Number(times),
    only: only === '' ? [] : only.split(','),
    quick,
    say,
    ending: ending.signal,
  })
  const { faults, completed, lost, doubled } = counts
  process.stdout.write(`faults=${faults} completed=${completed} lost=${lost} doubled=${doubled}\n`)
  process.exitCode = completed === faults && lost + doubled === 0 ? 0 : 1
} else {
  const { hosts, isEqual, events } = await compareHosts(say, ending.signal)
  process.stdout.write(`hosts=${hosts} digest=${isEqual ? 'equal' : 'different'} events=${events}\n`)
  process.exitCode = isEqual ? 0 : 1
}
if (ending.signal.aborted) process.exitCode = 130

function say(text: string): void {
  process.stdout.write(`e2e: ${text}\n`)
}
