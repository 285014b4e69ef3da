/**
 * Tools for environments in packages of their own: `import { RlError } from 'rlanything/kit'`. They are
 * errors, bounded reading, programs of this machine, registries of users' parts, and HTTP.
 */
export { inLine, printJson, printLine, wholeNumber } from '../command-line.ts'
export { explain, RlError, type RlErrorOptions } from '../errors.ts'
export { exactText, parseExact, reviveJson, rounded } from '../exact-json.ts'
export { itemAt } from '../item-at.ts'
export { ownValue } from '../own-value.ts'
export { type ControlGroup, createControlGroup, withDescendants } from '../platform/control-group.ts'
export { httpFetch } from '../platform/http.ts'
export { type HttpEnv, type Listening, type ListenOptions, listen } from '../platform/listen.ts'
export { installHint, isProgram, programFile, programFolders } from '../platform/programs.ts'
export { type Named, openRegistry, type Registry, type RegistryOptions, type UserPart } from '../registry.ts'
export { firstIssue, safeParse } from '../safe-parse.ts'
export { cutAtTags } from '../tagged.ts'
export { readText, readTextSync, textOf } from '../text-file.ts'
export { type CallLimit, type Check, callWithin, type UserCall } from '../user-code.ts'
export { flattened } from '../user-module.ts'
