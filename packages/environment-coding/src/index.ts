/** `import { setting } from '@rlanything/environment-coding'`: programs against tests, as a setting; types for a sandbox of one's own. */
export { type CodingEnvironment, codingEnvironment } from './environment.ts'
export type { ProgramRun, Provider, RunResult } from './executor.ts'
export type { SandboxOptions, SandboxProvider } from './providers/registry.ts'
export { setting } from './setting.ts'
