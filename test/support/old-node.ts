import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isRecent } from '../../bin/node.mjs'

/** A Node of this machine that is too old for the project; undefined if there is none. */
export const OLD_NODE = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => {
  if (!existsSync(path)) return false
  const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
  return !isRecent(version)
})
