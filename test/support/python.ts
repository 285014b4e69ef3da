/** A Python with packages that tests compare with: the one that RL_TEST_PYTHON (or BENCH_PYTHON) names, else python3. */
import { spawnSync } from 'node:child_process'

export const PYTHON = process.env.RL_TEST_PYTHON || process.env.BENCH_PYTHON || 'python3'

/** Null where it has all of the modules; else what it lacks, for a SKIP. */
export function lacks(...modules: readonly string[]): string | null {
  const { status, stderr } = spawnSync(PYTHON, ['-c', `import ${modules.join(', ')}`], { encoding: 'utf8' })
  if (status === 0) return null
  const why = stderr?.trim().split('\n').at(-1) || 'it cannot be started'
  return `${PYTHON} lacks ${modules.join(', ')} (${why}); RL_TEST_PYTHON names a Python`
}
