import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Version of this code: the package's, and in a checkout the commit, with `+` where files differ from it. */
export function codeVersion(): string {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string }
  try {
    const git = (...words: string[]) =>
      execFileSync('git', ['-C', ROOT, ...words], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+'
    return `${version} ${git('rev-parse', '--short=12', 'HEAD')}${changed}`
  } catch {
    return version
  }
}
