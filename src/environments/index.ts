/** `import { defineSetting } from 'rlanything/environments'`: what an environment is, for those who bring their own (docs/environments.md). */
export { type Rng, rng, type Seed, seedOf } from '../random.ts'
export { type Causes, PLAIN_CAUSES } from './causes.ts'
export { defineCommand, type SettingCommand } from './command.ts'
export { openSetting } from './open.ts'
export type * from './port.ts'
export type * from './setting.ts'
export { defineSetting } from './setting.ts'
