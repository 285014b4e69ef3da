/** `import { openLogReader } from 'rlanything'`: runs on this machine, their config, and the error that everything here throws. */

import './setting-packages.ts'

export { type BatchFile, decodeBatch } from './actors/learner/batch-file.ts'
export {
  type RunFolder,
  runAddress,
  runFolder,
  runsFolder,
} from './broker/connection.ts'
export { type Config, type ConfigSources, loadConfig, parseConfig } from './config.ts'
export { explain, RlError, type RlErrorOptions } from './errors.ts'
export { type LogReader, openLogReader, type ReadOptions } from './events/log-reader.ts'
