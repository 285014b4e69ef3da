import { drift } from './published/drift.ts'
import type { Alarm } from './rules.ts'

/** Rules that warn people. None of them looks unless `learning.alarms` names it. */
export const ALARMS: readonly Alarm[] = [drift]
