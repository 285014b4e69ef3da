/** Simulated workers: each role does its own kinds of jobs, and refuses the others. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { JOB_KINDS, type JobKind } from '../../../src/actors/decider/jobs.ts'
import { simulatedWorker } from '../../../src/actors/simulated/workers.ts'
import { loadConfig } from '../../../src/config.ts'
import type { Role } from '../../../src/events/envelope.ts'
import type { LogClient } from '../../../src/events/log-client.ts'

const DONE: Readonly<Record<Role, readonly JobKind[]>> = {
  head: [],
  environment: ['load-tasks', 'play'],
  policy: ['cold-start', 'train'],
  'reward-model': ['cold-start', 'judge', 'train'],
  adapter: ['rewrite'],
}

for (const [role, kinds] of Object.entries(DONE) as [Role, readonly JobKind[]][])
  test(`${role}: ${kinds.join(', ') || 'no job'}`, () => {
    const { jobs } = simulatedWorker(role, loadConfig({}), {} as LogClient, 1)
    assert.equal(
      JOB_KINDS.filter((kind) => jobs[kind]),
      kinds,
    )
  })

test.run()
