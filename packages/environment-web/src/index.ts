/** `import { setting } from '@rlanything/environment-web'`: web pages in a real browser, as a setting. */
export { type WebEnvironment, webEnvironment } from './environment.ts'
export { setting } from './setting.ts'
