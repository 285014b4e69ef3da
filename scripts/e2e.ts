/** Runs over several hosts, whole: `npm run -s e2e -- --help`. */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compareHosts } from './e2e/equal.ts'
import { FAULTS } from './e2e/fault-table.ts'
import { checkFaults } from './e2e/faults.ts'
import { noNetwork } from './e2e/network.ts'
import { findPlanted, PLANTED_HOSTS } from './e2e/planted-hosts.ts'

const HELP = `npm run -s e2e -- hosts [--faults]

Hosts here have a network, process numbers and a folder of their own each, and all have one host name. They join by files,
with TLS and a key each. It needs Linux, root, ip and unshare. Without them it says SKIP.

hosts                 makes one run with local models on one host, and the same on four. The last line is
                      hosts=4 digest=equal events=N: the events of both that do not depend on time are equal.
  --damaged           a file of a checkpoint is damaged for a while on its way to the judge
hosts --faults        makes one run with simulated models on five hosts for each fault, and on seven if three brokers keep its
                      log. The last line is faults=N completed=N lost=0 doubled=0
  --times N           so often each fault                                     (1)
  --only A,B          only these
  --quick             waits of 30 s and more take a tenth
hosts --planted [NAME...]
                      puts bugs into a copy of the project, one by one, and makes the check that must find each. The last
                      line is planted=N found=N

  completed  runs that end, and whose log verifies and replays
  lost       facts of an undisturbed run, results of rollouts, and events that were told or answered and that the log lacks
  doubled    facts that the log has more often, and positions that were told for two events

Bugs:${PLANTED_HOSTS.map(({ name, what }) => `\n  ${name.padEnd(23)} ${what}`).join('')}

Faults:${FAULTS.map(({ name, what }) => `\n  ${name.padEnd(20)} ${what}`).join('')}`

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const { values, positionals } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    damaged: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    times: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const [what, ...names] = positionals
if (values.help || what !== 'hosts' || (names.length > 0 && !values.planted)) {
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
if (values.planted) {
  const unknown = names.find((name) => !PLANTED_HOSTS.some((bug) => bug.name === name))
  if (unknown !== undefined) throw new Error(`there is no planted bug ${unknown}`)
  const bugs = PLANTED_HOSTS.filter(({ name }) => names.length === 0 || names.includes(name))
  let found = 0
  for (const bug of bugs) {
    const by = await findPlanted(bug, ROOT, ending.signal)
    say(`${bug.name}: ${by ?? 'nothing finds it'}`)
    found += by === null ? 0 : 1
  }
  process.stdout.write(`planted=${bugs.length} found=${found}\n`)
  process.exitCode = found === bugs.length ? 0 : 1
} else if (values.faults) {
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
  const { hosts, isEqual, events } = await compareHosts({
    damaged: values.damaged,
    say,
    ending: ending.signal,
  })
  process.stdout.write(`hosts=${hosts} digest=${isEqual ? 'equal' : 'different'} events=${events}\n`)
  process.exitCode = isEqual ? 0 : 1
}
if (ending.signal.aborted) process.exitCode = 130

function say(text: string): void {
  process.stdout.write(`e2e: ${text}\n`)
}
