/** `import type { Environment } from 'rlanything/environments'`: what an environment is, for those who bring their own. */
export { type Rng, rng, type Seed, seedOf } from '../random.ts'
export { openEnvironment } from './open.ts'
export type * from './port.ts'
