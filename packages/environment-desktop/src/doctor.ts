/** Checks what desktops need of this machine. */
import type { Finding } from 'rlanything/environments'
import { missingParts } from './local/sandbox.ts'
import { programsHere } from './open.ts'

export function doctor(): Finding {
  const missing = missingParts()
  if (missing.length > 0)
    return {
      check: 'desktop',
      result: 'warn',
      detail: `no local desktops: ${missing.join(', ')} missing`,
      advice: `sudo apt-get install -y ${missing.join(' ')}`,
    }
  return {
    check: 'desktop',
    result: 'ok',
    detail: `programs: ${programsHere().join(', ') || 'none'}`,
    advice: null,
  }
}
