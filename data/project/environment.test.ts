/** What every environment must keep to: equal seeds give equal episodes, episodes are values, rewrites are valid, tasks are plain data. */
import { test } from 'node:test'
import { testEnvironment } from 'rlanything/testing'
import { setting } from './environment.ts'

test('the environment keeps to what the loop asks of it', async () => {
  await testEnvironment(setting, { splits: ['train', 'in-domain'], tasks: 10, maxSteps: 4 })
})
