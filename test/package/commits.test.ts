import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { commitsOf, problemsOf } from '../../scripts/commits.ts'
import { temporaryFolder } from '../support/run.ts'

const good = { hash: 'a', parents: 1, subject: 'Count flaky programs', body: 'A verdict may be chance.\n' }

test('a message has a short subject without a full stop, in capitals, and a body', () => {
  assert.equal(problemsOf(good), [])
  assert.equal(problemsOf({ ...good, subject: 'C'.repeat(72) }), [])
  assert.equal(problemsOf({ ...good, subject: 'C'.repeat(73) }), [
    'the subject has 73 characters, at most 72',
  ])
  assert.equal(problemsOf({ ...good, subject: 'Count flaky programs.' }), [
    'the subject ends with a full stop',
  ])
  assert.equal(problemsOf({ ...good, subject: 'count flaky programs' }), [
    'the subject begins without a capital letter',
  ])
  assert.equal(problemsOf({ ...good, body: '\n' }), ['there is no body that says why'])
})

test('a merge needs no body', () => {
  assert.equal(problemsOf({ ...good, parents: 2, body: '' }), [])
})

test('commits are read with bodies of several lines, and merges by their parents', () => {
  const log = 'a\x1fb\x1fOne\x1fWhy.\n\nMore.\n\x1e\nc\x1fa b\x1fMerge\x1f\x1e\nd\x1f\x1fFirst\x1fWhy.\x1e\n'
  assert.equal(commitsOf(log), [
    { hash: 'a', parents: 1, subject: 'One', body: 'Why.\n\nMore.\n' },
    { hash: 'c', parents: 2, subject: 'Merge', body: '' },
    { hash: 'd', parents: 0, subject: 'First', body: 'Why.' },
  ])
})

if (spawnSync('git', ['--version']).status === 0) {
  test('commits since the newest tag are checked; without a repository they are skipped', () => {
    const folder = temporaryFolder()
    const git = (...words: readonly string[]) => {
      const known = ['-c', 'user.name=a', '-c', 'user.email=a@localhost', '-c', 'commit.gpgsign=false']
      const env = { ...process.env, GIT_COMMITTER_DATE: '2027-01-01T00:00:00Z' }
      const { status, stderr } = spawnSync('git', [...known, ...words], {
        cwd: folder,
        encoding: 'utf8',
        env,
      })
      assert.is(status, 0, stderr)
    }
    const check = () => {
      const words = [resolve('bin/launch.mjs'), resolve('scripts/commits.ts')]
      const env = { ...process.env, GIT_CEILING_DIRECTORIES: resolve(folder, '..') }
      const { status, stdout } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8', env })
      return [status, stdout.replace(/^[0-9a-f]{9} /gm, '').trim()]
    }
    assert.equal(check(), [0, 'SKIP messages of commits: this checkout has no history'])
    git('init', '-q')
    git('commit', '-q', '--allow-empty', '-m', 'begin')
    git('tag', 'v1')
    git('commit', '-q', '--allow-empty', '-m', 'Count programs', '-m', 'Why.')
    assert.equal(check(), [0, 'commits=1 problems=0'])
    git('commit', '-q', '--allow-empty', '-m', 'Count programs.', '-m', 'Why.')
    assert.equal(check(), [1, 'Count programs.: the subject ends with a full stop\ncommits=2 problems=1'])
  })
} else process.stdout.write('SKIP commits of a repository: there is no git\n')

test.run()
