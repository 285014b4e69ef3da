/** `import { setting } from '@rlanything/environment-tools'`: questions that are answered with tools, as a setting. */
export { toolsEnvironment } from './environment.ts'
export { setting } from './setting.ts'
