import { join } from 'node:path'
import type { Finding } from 'rlanything/environments'
import { explain, installHint, isProgram, programFolders } from 'rlanything/kit'
import { chooseExecutor } from './choose.ts'

/** Finds the sandbox of this machine, and advice for a better one. */
export async function sandboxFinding(): Promise<Finding> {
  try {
    const { executor, name, reason, passedOver } = await chooseExecutor({ warn: () => {} })
    await executor.close()
    const others = passedOver.map(({ name, reason }) => `no ${name}: ${reason}`).join('; ')
    return {
      check: 'sandbox',
      result: name === 'bwrap' ? 'ok' : 'warn',
      detail: `${name}, ${reason}${others ? `; ${others}` : ''}`,
      advice:
        name === 'bwrap'
          ? null
          : `coding tasks run slower; ${hasBwrap() ? 'bubblewrap needs user namespaces, or root' : installHint('bubblewrap')}`,
    }
  } catch (error) {
    return {
      check: 'sandbox',
      result: 'warn',
      detail: explain(error),
      advice: `coding tasks cannot be run; ${installHint('bubblewrap')}`,
    }
  }
}

/** Whether bwrap works. It may be installed and not be allowed to work. */
function hasBwrap(): boolean {
  return programFolders().some((folder) => isProgram(join(folder, 'bwrap')))
}
