import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { attackGround } from '../src/attacks.ts'
import { createExecutor } from '../src/executor.ts'
import { isClean, tryProgram } from '../src/trial.ts'
import { openProvider } from './sandboxes.ts'

/** What must be as before when the provider is closed: the children of this process, and its control groups. */
const traces = () => ({
  children: readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === process.pid)
    .length,
  groups: ['memory', 'pids', ''].flatMap((controller) =>
    list(`/sys/fs/cgroup/${controller}`).filter((name) => name.includes(`rl-coding-${process.pid}-`)),
  ),
})

function list(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

function parentOf(pid: string): number {
  try {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    return Number(fields.split(' ')[1])
  } catch {
    return 0
  }
}

/**
 * Every attack, or every `every`th where a provider is slow: `RL_ALL_ATTACKS=1` runs all of them, and so does
 * `rl coding attack --provider NAME`.
 */
export function contains(name: 'bwrap' | 'pyodide', every = 1): void {
  const step = process.env.RL_ALL_ATTACKS === '1' ? 1 : every
  test(`${name} contains every attack, rewards none, and leaves nothing behind`, async () => {
    if (step > 1)
      process.stdout.write(
        `SKIP all but every ${step}th attack in ${name}: RL_ALL_ATTACKS=1 runs the others\n`,
      )
    const before = traces()
    const provider = await openProvider(name)
    if (!provider) return
    const executor = createExecutor({ provider })
    const ground = await attackGround()
    const escaped: string[] = []
    const { languages = ['python'] } = provider
    const attacks = ground.attacks.filter(({ language = 'python' }) => languages.includes(language))
    for (const { name: attack, what, program, language } of attacks.filter((_, i) => i % step === 0)) {
      const trial = await tryProgram(executor, program, language)
      const contained = !trial.passed && trial.canariesFailed === 0 && isClean(trial.leftBehind)
      process.stdout.write(
        `${name} ${contained ? 'contained' : 'ESCAPED'} ${attack} (${trial.verdicts}): ${what}\n`,
      )
      if (!contained) escaped.push(`${attack}: ${JSON.stringify(trial)}`)
    }
    assert.is(ground.reached(), 0)
    await ground.close()
    await executor.close()
    assert.equal(escaped, [])
    assert.equal(traces(), before)
  })
}
