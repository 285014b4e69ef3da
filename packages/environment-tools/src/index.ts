/**
 * Questions that are answered with tools, as a setting: `import { setting } from
 * '@rlanything/environment-tools'`.
 */
export { toolsEnvironment } from './environment.ts'
export { setting } from './setting.ts'
