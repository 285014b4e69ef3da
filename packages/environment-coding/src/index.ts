/**
 * Programs against tests, as a setting: `import { setting } from '@rlanything/environment-coding'`. Also
 * exports the types for a sandbox of one's own.
 */
export { type CodingEnvironment, codingEnvironment } from './environment.ts'
export type { ProgramRun, Provider, RunResult } from './executor.ts'
export type { SandboxOptions, SandboxProvider } from './providers/registry.ts'
export { setting } from './setting.ts'
