/**
 * Programs against tests, as a setting: `import { setting } from '@rlanything/environment-coding'`. Also
 * exports the types for a sandbox of one's own.
 */
export { type CodingEnvironment, codingEnvironment } from './environment.ts'
export type { ProgramRun, Provider } from './provider.ts'
export type { SandboxOptions, SandboxProvider } from './providers/registry.ts'
export type { RunResult } from './run-result.ts'
export { setting } from './setting.ts'
