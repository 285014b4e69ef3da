import { execFileSync } from 'node:child_process'
import { PACKAGE_ROOT, packageVersion, SOURCES } from '../../package.ts'

/**
 * Returns the version of this code: the package's. A checkout adds the commit, and `+` if files differ from the commit.
 */
export function codeVersion(): string {
  const version = packageVersion()
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
