import { accuracy } from './accuracy.ts'
import { hosts } from './hosts.ts'
import { lineage } from './lineage.ts'
import type { Projection } from './projection.ts'
import { rewardQuality } from './reward-quality.ts'
import { taskGrowth } from './task-growth.ts'
import { throughput } from './throughput.ts'
import { trainingHealth } from './training-health.ts'
import { unitTests } from './unit-tests.ts'

/** The projections that the head keeps in projections.db. */
export const PROJECTIONS: readonly Projection[] = [
  accuracy,
  rewardQuality,
  taskGrowth,
  throughput,
  lineage,
  trainingHealth,
  unitTests,
  hosts,
]
