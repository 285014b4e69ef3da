/** A run with two standbys, each a process of its own, whose head dies. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startCluster } from '../support/cluster.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const cluster = await startCluster()
test.after(cluster.close)

test('of two standbys one takes the run, and the other waits beside it', async () => {
  const run = 'standbys'
  const sections = ['environment.name', 'policy.provider', 'rewardModel.provider', 'adaptation.provider']
  const settings = ['run.replicas=3', 'run.iterations=1000', ...sections.map((key) => `${key}=simulated`)]
  const env = { NATS_TOKEN: cluster.address.token ?? '' }
  const begin = (...words: string[]) =>
    startProcess(
      ['src/main.ts', '--role', 'head', '--run', run, '--no-ui', '--nats', cluster.address.url, ...words],
      { ...env, RL_RUNS: temporaryFolder() },
    )
  const head = begin('--roles', 'adapter', ...settings.flatMap((setting) => ['--set', setting]))
  await until('a head', () => head.output().includes('roles here') || head.process.exitCode !== null)
  assert.is(head.process.exitCode, null, head.output())
  const standbys = [begin('--standby', '--roles', 'adapter'), begin('--standby', '--roles', 'adapter')]
  await until('both stand by', () => standbys.every(({ output }) => output().includes('the log is here')))
  head.process.kill('SIGKILL')
  await until('one waits', () => standbys.some(({ output }) => output().includes('waits beside it')))
  const told = (text: string) => standbys.filter(({ output }) => output().split(text).length === 3)
  await until('it follows', () => told('the log is here').length === 1)
  for (const { process } of standbys) assert.is(process.exitCode, null)
  for (const { process } of standbys) process.kill('SIGKILL')
})

test.run()
