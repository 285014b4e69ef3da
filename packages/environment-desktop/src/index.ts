/** Programs on desktops, as a setting: `import { setting } from '@rlanything/environment-desktop'`. */
export { setting } from './setting.ts'
