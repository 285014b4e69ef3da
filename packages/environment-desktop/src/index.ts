/** `import { setting } from '@rlanything/environment-desktop'`: programs on desktops, as a setting. */
export { setting } from './setting.ts'
