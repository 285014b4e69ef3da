/**
 * `node bin/launch.mjs scripts/commits.ts`: whether the messages of commits keep to CONTRIBUTING.md: those since the newest tag, or
 * the last 50. Ends with status 1 if one does not. Prints SKIP if the checkout has no history.
 */
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'

export type Commit = {
  readonly hash: string
  readonly parents: number
  readonly subject: string
  readonly body: string
}

const MAX_SUBJECT = 72
/** Commits that are looked at if there is no tag. */
const NEWEST = 50
/** Older messages were written before this check, and history stays as it is. */
const SINCE = '2026-11-26T06:00:00Z'

/** What is wrong with the message of a commit. Merges need no body. */
export function problemsOf({ parents, subject, body }: Commit): readonly string[] {
  return [
    ...(subject.length > MAX_SUBJECT
      ? [`the subject has ${subject.length} characters, at most ${MAX_SUBJECT}`]
      : []),
    ...(subject.endsWith('.') ? ['the subject ends with a full stop'] : []),
    ...(/^\p{Lu}/u.test(subject) ? [] : ['the subject begins without a capital letter']),
    ...(parents < 2 && body.trim() === '' ? ['there is no body that says why'] : []),
  ]
}

/** Commits of a `git log` in the format below. */
export function commitsOf(log: string): readonly Commit[] {
  return log.split('\x1e\n').flatMap((record) => {
    const [hash, parents, subject, body] = record.split('\x1f')
    if (subject === undefined) return []
    return [{ hash, parents: parents.split(' ').filter(Boolean).length, subject, body: body ?? '' }]
  })
}

const FORMAT = '--format=%H%x1f%P%x1f%s%x1f%b%x1e'

/** Null if git refuses, or is not there. */
function git(...words: readonly string[]): string | null {
  const { status, stdout } = spawnSync('git', words, { encoding: 'utf8', maxBuffer: 1 << 26 })
  return status === 0 ? stdout : null
}

function main(): void {
  if (git('rev-parse', '--is-shallow-repository')?.trim() !== 'false') {
    process.stdout.write('SKIP messages of commits: this checkout has no history\n')
    return
  }
  const tag = git('describe', '--tags', '--abbrev=0')?.trim()
  const log =
    git('log', FORMAT, `--since=${SINCE}`, ...(tag ? [`${tag}..HEAD`] : ['-n', String(NEWEST)])) ?? ''
  const commits = commitsOf(log)
  const wrong = commits.flatMap((commit) =>
    problemsOf(commit).map((problem) => `${commit.hash.slice(0, 9)} ${commit.subject}: ${problem}`),
  )
  for (const line of wrong) process.stdout.write(`${line}\n`)
  process.stdout.write(`commits=${commits.length} problems=${wrong.length}\n`)
  if (wrong.length > 0) process.exitCode = 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
