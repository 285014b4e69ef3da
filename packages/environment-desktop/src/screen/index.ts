/**
 * Actions on a screen, in the forms in which models write them: `import { parseAnswer } from
 * '@rlanything/environment-desktop/screen'`.
 */
export {
  actionError,
  type Button,
  type Point,
  type ScreenAction,
  type ScreenSize,
  withinReach,
} from './action.ts'
export { parseAnswer, seeingBy } from './answer.ts'
export type { Grammar } from './grammars/names.ts'
export { isKey, keyName, withShift } from './keys.ts'
export { pngSize } from './png.ts'
export { grammarKey } from './section.ts'
