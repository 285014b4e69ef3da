/** How a generated project names the package: as the project names it that it was made from. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { dependencySpec } from '../../src/cli/dependency-spec.ts'
import { temporaryFolder } from '../support/run.ts'

/** Where the package lies in a project with these files. */
function packageIn(project: string, files: Readonly<Record<string, unknown>>): string {
  const root = join(project, 'node_modules', 'rlanything')
  mkdirSync(root, { recursive: true })
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(project, name), typeof content === 'string' ? content : JSON.stringify(content))
  return root
}

test('a checkout and a package that nobody names are named by their folder', () => {
  const project = temporaryFolder()
  assert.is(dependencySpec('/src/rl', true), 'file:/src/rl')
  assert.is(dependencySpec('/opt/rl', false), 'file:/opt/rl')
  const root = packageIn(project, {})
  assert.is(dependencySpec(root, false), `file:${root}`)
})

test('archives and folders are found from the project that names them; what is gone is not named', () => {
  const project = temporaryFolder()
  const root = packageIn(project, { 'a b.tgz': 'x' })
  const specOf = (spec: string) => {
    writeFileSync(join(project, 'package.json'), JSON.stringify({ devDependencies: { rlanything: spec } }))
    return dependencySpec(root, false)
  }
  assert.is(specOf('file:a b.tgz'), `file:${project}/a b.tgz`)
  assert.is(specOf('./a b.tgz'), `file:${project}/a b.tgz`)
  assert.is(specOf(`file://${project}/a b.tgz`), `file:${project}/a b.tgz`)
  assert.is(specOf('file:gone.tgz'), `file:${root}`)
  for (const own of ['workspace:*', 'link:../rl']) assert.is(specOf(own), `file:${root}`)
  for (const kept of [
    '^0.2.0',
    'next',
    'https://example.org/rl.tgz',
    'git+ssh://git@example.org/rl.git#v1',
    'npm:@us/rl@1',
  ])
    assert.is(specOf(kept), kept)
})

test('what was installed without being saved is in the notes of npm', () => {
  const project = temporaryFolder()
  const root = packageIn(project, { 'rl.tgz': 'x', 'package.json': '{' })
  const specOf = (noted: object) => {
    const lock = { packages: { 'node_modules/rlanything': noted } }
    writeFileSync(join(project, 'node_modules', '.package-lock.json'), JSON.stringify(lock))
    return dependencySpec(root, false)
  }
  assert.is(specOf({ version: '0.3.1', resolved: 'file:rl.tgz' }), `file:${project}/rl.tgz`)
  assert.is(specOf({ version: '0.3.1' }), '^0.3.1')
  const registry = 'https://example.org/rlanything/-/rlanything-0.3.1.tgz'
  assert.is(specOf({ version: '0.3.1', resolved: registry }), '^0.3.1')
})

test.run()
