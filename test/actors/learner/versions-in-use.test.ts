/** Which version answers for another, and which calls are not over. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { standInOf, versionsInUse } from '../../../src/actors/learner/versions-in-use.ts'

const published = [
  { version: 1, serving: 1 },
  { version: 2, serving: 1 },
  { version: 3, serving: 3 },
]

test('the newest version up to the asked one that a server took answers for it', () => {
  assert.equal(
    [0, 1, 2, 3, 4].map((version) => standInOf(published, version)),
    [0, 1, 1, 3, 3],
  )
})

test('a version is used as long as a call that it answers for is not over', async () => {
  const { use, isUsed } = versionsInUse((version) => standInOf(published, version))
  let end = () => {}
  const call = use(2, () => new Promise<void>((resolve) => (end = resolve)))
  assert.ok(isUsed(1))
  assert.not(isUsed(2))
  end()
  await call
  assert.not(isUsed(1))
})

test('a call that fails is over as well', async () => {
  const { use, isUsed } = versionsInUse((version) => version)
  await use(1, async () => {
    throw new Error('no')
  }).catch(() => {})
  assert.not(isUsed(1))
})

test.run()
