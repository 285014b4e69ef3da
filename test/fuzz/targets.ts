/** What is fuzzed, by name. */
import { configTarget } from './configs.ts'
import { codingTarget, gameTarget } from './data-sets.ts'
import { eventTarget, requestTarget } from './events.ts'
import { ggufTarget, modelFolderTarget, weightsTarget } from './model-files.ts'
import { logTarget } from './run-folders.ts'
import { answerTarget, streamTarget } from './streams.ts'
import type { Target } from './target.ts'
import { templateTarget } from './templates.ts'
import { folderTarget } from './whole-folders.ts'

export const TARGETS: readonly Target[] = [
  eventTarget,
  requestTarget,
  configTarget,
  codingTarget,
  gameTarget,
  templateTarget,
  answerTarget,
  streamTarget,
  weightsTarget,
  ggufTarget,
  modelFolderTarget,
  logTarget,
  folderTarget,
]
