/** A run with two standbys, each a process of its own, whose head dies. */
import { existsSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { pause } from '../../src/clock.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startCluster } from '../support/cluster.ts'
import { ALL_PARTS, type Started, startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const cluster = await startCluster()
test.after(cluster.close)

function hasBegun(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    const log = openLogReader(path)
    try {
      return log.head().position > 0
    } finally {
      log.close()
    }
  } catch {
    // It is being made.
    return false
  }
}

test('of two standbys one takes the run, and the other waits beside it', async () => {
  const run = 'standbys'
  const sections = ['environment.name', 'policy.provider', 'rewardModel.provider', 'adaptation.provider']
  const settings = ['run.replicas=3', 'run.iterations=1000', ...sections.map((key) => `${key}=simulated`)]
  const env = { NATS_TOKEN: cluster.address.token ?? '' }
  const begin = (root: string, ...words: string[]) =>
    startProcess(
      ['src/main.ts', '--role', 'head', '--run', run, '--no-ui', '--nats', cluster.address.url, ...words],
      { ...env, RL_RUNS: root },
    )
  const root = temporaryFolder()
  const head = begin(
    root,
    '--roles',
    'adapter',
    ...ALL_PARTS,
    ...settings.flatMap((setting) => ['--set', setting]),
  )
  await until('a run', () => hasBegun(runFolder(run, root).log) || head.process.exitCode !== null)
  assert.is(head.process.exitCode, null, head.output())
  const standBy = () => begin(temporaryFolder(), '--standby', '--roles', 'adapter')
  const standbys = [standBy(), standBy()]
  await until('both stand by', () => standbys.every(({ output }) => output().includes('the log is here')))
  head.process.kill('SIGKILL')
  const isHead = ({ output }: Started) => output().includes('goes on: the head was started again')
  await until('one takes the run', () => standbys.some(isHead))
  // The slower one tries as well, or sees in time that the run has a head again. It must live on either way.
  await pause(5_000)
  assert.is(standbys.filter(isHead).length, 1, standbys.map(({ output }) => output()).join('\n'))
  for (const { process, output } of standbys) assert.is(process.exitCode, null, output())
  for (const { process } of standbys) process.kill('SIGKILL')
})

test.run()
