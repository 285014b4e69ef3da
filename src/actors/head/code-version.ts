import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT, SOURCES } from '../../package.ts'

/**
 * Returns the version of this code: the package's. A checkout adds the commit, and `+` if files differ from the commit.
 */
export function codeVersion(): string {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  if (!SOURCES) return version // The repository around it is not this package's.
  try {
    const git = (...words: string[]) =>
      execFileSync('git', ['-C', PACKAGE_ROOT, ...words], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+'
    return `${version} ${git('rev-parse', '--short=12', 'HEAD')}${changed}`
  } catch {
    return version
  }
}
