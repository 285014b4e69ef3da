import { printJson, RlError, readText } from 'rlanything/kit'
import type { Attack } from '../attack.ts'
import { attackGround } from '../attacks.ts'
import type { Executor } from '../executor.ts'
import { languageOf } from '../provider.ts'
import { isClean, tryProgram } from '../trial.ts'
import { type SandboxValues, withExecutor } from './executor.ts'

/**
 * Tries hostile programs, from files or our own. Prints a JSON line for each, and the sums last. Resolves to
 * 1 if any got through.
 */
export function attack(
  values: SandboxValues & { readonly program?: readonly string[] },
  files: readonly string[],
): Promise<number> {
  const programs = [...(values.program ?? []), ...files]
  return withExecutor(values, ({ executor }) => tryPrograms(executor, programs))
}

async function tryPrograms(executor: Executor, files: readonly string[]): Promise<number> {
  const ground = files.length > 0 ? null : await attackGround()
  const { name: provider, languages = ['python'] } = executor.provider
  const programs = ground?.attacks ?? (await Promise.all(files.map(readProgram)))
  const sums = { attacks: 0, passed: 0, canariesFailed: 0, leftBehind: 0 }
  for (const { name, program, language = 'python' } of programs) {
    if (!languages.includes(language)) {
      printJson({ attack: name, status: 'skipped', reason: `the sandbox ${provider} runs no ${language}` })
      continue
    }
    const trial = await tryProgram(executor, program, language)
    const clean = isClean(trial.leftBehind)
    sums.attacks++
    if (trial.passed) sums.passed++
    sums.canariesFailed += trial.canariesFailed
    if (!clean) sums.leftBehind++
    printJson({
      attack: name,
      status: trial.passed || trial.canariesFailed > 0 || !clean ? 'escaped' : 'contained',
      verdicts: trial.verdicts,
      passed: trial.passed,
      canaries: { passed: trial.canaries - trial.canariesFailed, failed: trial.canariesFailed },
      wallMs: Math.round(trial.wallMs),
      leftBehind: trial.leftBehind,
    })
  }
  if (ground && ground.reached() > 0) sums.passed++
  await ground?.close()
  const { attacks, passed, canariesFailed, leftBehind } = sums
  process.stdout.write(
    `attacks=${attacks} passed=${passed} canaries_failed=${canariesFailed} left_behind=${leftBehind}\n`,
  )
  return passed + canariesFailed + leftBehind > 0 ? 1 : 0
}

async function readProgram(file: string): Promise<Pick<Attack, 'name' | 'program' | 'language'>> {
  try {
    return { name: file, program: await readText(file), language: languageOf(file) }
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`cannot read ${file}: ${cause instanceof Error ? cause.message : cause}`, {
      code: 'coding.no-program',
      hint: 'name readable program files',
      cause,
    })
  }
}
