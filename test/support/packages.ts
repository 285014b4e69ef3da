/** `import '../support/packages.ts'`: all settings are known, as after a config that names them was opened. */
import '../../src/setting-packages.ts'
import { loadInstalled } from '../../src/environments/settings.ts'

await loadInstalled()
