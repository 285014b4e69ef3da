/** Web pages in a real browser, as a setting: `import { setting } from '@rlanything/environment-web'`. */
export { type WebEnvironment, webEnvironment } from './environment.ts'
export { setting } from './setting.ts'
