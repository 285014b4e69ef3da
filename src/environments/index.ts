/**
 * Types and functions for authors of environments: `import { defineSetting } from 'rlanything/environments'`.
 * The page docs/environments.md explains them.
 */
export type { Config } from '../config-schema/schema.ts'
export type { ChatMessage, Generation, ToolSpec } from '../models/port.ts'
export { type Rng, rng, type Seed, seedOf } from '../random.ts'
export {
  type AlfworldEngine,
  type AlfworldGame,
  type AlfworldState,
  alfworldEngine,
} from './alfworld/entry.ts'
export { type Causes, PLAIN_CAUSES } from './causes.ts'
export { defineCommand, type SettingCommand } from './command.ts'
export { openSetting } from './open.ts'
export type * from './port.ts'
export { type Closable, createLeases, type Lease, type Leases } from './sessions/leases.ts'
export { asInfra, type Older, orRelease, type Stage, stageFor } from './sessions/stages.ts'
export type * from './setting.ts'
export { defineSetting, PROBLEM } from './setting.ts'
export { registerSetting } from './settings.ts'
export { folderCounts, generatedCounts } from './source.ts'
export { BETWEEN_RESULTS, type ReadCall, readCalls, withoutCalls, writeCall } from './tool-calls.ts'
