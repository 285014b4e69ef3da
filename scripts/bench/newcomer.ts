/**
 * README's first command, as a newcomer has it: a clone of the last commit, `npm ci`, and the default run to its end. Caches of
 * npm and of Node are those of this machine.
 *
 * npm run -s bench -- newcomer
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { report } from './report.ts'

const place = mkdtempSync(join(tmpdir(), 'rl-bench-newcomer-'))
try {
  const clone = join(place, 'clone')
  execFileSync('git', ['clone', '--quiet', '.', clone])
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: clone,
    encoding: 'utf8',
  }).trim()
  const env = { ...process.env, RL_RUNS: join(clone, 'runs') }
  const started = performance.now()
  for (const words of [
    ['ci', '--silent'],
    ['start', '--silent', '--', '--role', 'head', '--no-ui'],
  ]) {
    const { status } = spawnSync('npm', words, { cwd: clone, env, stdio: ['ignore', 2, 'inherit'] })
    if (status !== 0) throw new Error(`npm ${words.join(' ')} ended with status ${status}`)
  }
  const minutes = (performance.now() - started) / 60_000
  const row = {
    suite: 'newcomer',
    n: 1,
    note: `npm ci and the whole default run of commit ${commit}, without the dashboard`,
  }
  report({ ...row, name: 'default_run_min', value: minutes, unit: 'min', goal: '<= 3' })
  const [first, last] = successes(join(clone, 'runs'))
  report({ ...row, name: 'in_domain_start', value: first, unit: '1', goal: null })
  report({ ...row, name: 'in_domain_end', value: last, unit: '1', goal: null })
} finally {
  rmSync(place, { recursive: true, force: true })
}

/** Returns the share of held-out tasks that the only run of a folder solves at its start and at its end. */
function successes(runs: string): readonly [number, number] {
  const [run] = readdirSync(runs, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  if (run === undefined) throw new Error('the run left no folder')
  const log = openLogReader(runFolder(run.name, runs).log)
  try {
    const shares = [...log.events({ types: ['EvaluationCompleted'] })]
      .filter(({ data }) => data.split === 'in-domain')
      .map(({ data }) => data.rollouts.successes / data.rollouts.n)
    return [shares.at(0) ?? Number.NaN, shares.at(-1) ?? Number.NaN]
  } finally {
    log.close()
  }
}
