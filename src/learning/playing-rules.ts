/** Rules that decide what is played. */
import { bySuccess } from './published/by-success.ts'
import { hardFocus, hardFocusSize } from './published/hard-focus.ts'
import { learnability } from './published/learnability.ts'
import { stages } from './published/stages.ts'
import { taskLimit } from './published/task-limit.ts'
import { thompson } from './published/thompson.ts'
import { window } from './published/window.ts'
import type { GroupSize, Horizon, TaskSampler } from './rules.ts'
import { uniform } from './selection.ts'

export const TASK_SAMPLERS: readonly TaskSampler[] = [uniform, learnability, thompson, hardFocus, window]

/** None of them acts unless `environment.groupSize` names it. */
export const GROUP_SIZES: readonly GroupSize[] = [bySuccess, hardFocusSize]

/** None of them acts unless `environment.horizon` names it. */
export const HORIZONS: readonly Horizon[] = [stages, taskLimit]
