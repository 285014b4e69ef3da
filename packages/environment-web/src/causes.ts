/** The vocabulary of a reward model for pages. Each complaint names a cause that task adaptation uses. */
import type { Causes } from 'rlanything/environments'

export const CAUSES: Causes = {
  praises: {
    opens: 'opens what the task needs',
    enters: 'enters what the task asks for',
    completes: 'brings the task forward',
  },
  complaints: {
    repeats: 'repeats what was done before',
    wastes: 'has no effect',
    undoes: 'undoes what was achieved',
    mistypes: 'enters the wrong text or option',
    misses: 'clicks the wrong element',
  },
  wordFor({ action, earlier, progress, label }) {
    const enters = /^(?:type|select) /.test(action)
    if (label === 1) {
      if (enters) return 'enters'
      return /"(?:dialog|open[^"]*|back|next)"/.test(action) ? 'opens' : 'completes'
    }
    if (/^(?:wait|scroll|hover)\b/.test(action)) return 'wastes'
    if (earlier.includes(action)) return 'repeats'
    if (progress < 0 && !enters && progress > -1) return 'undoes'
    return enters ? 'mistypes' : 'misses'
  },
}
