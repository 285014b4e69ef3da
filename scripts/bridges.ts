/**
 * Plays environments from elsewhere through the whole loop: a short run each, its log verified and replayed.
 *
 * npm run -s bridges [-- --quick]    the last line is bridges=N episodes=N failed=N
 * npm run -s bridges -- --only mcp    those whose names begin with it
 * npm run -s bridges -- --hostile    servers that break each rule; the last line is attacks=N contained=N left_behind=N
 * npm run -s bridges -- --openenv-client    openenv's client plays games of ours; the last line is won=N sessions=N ratio=N
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { attackBridges } from './bridges/attacks.ts'
import { playByClient } from './bridges/client.ts'
import { playBridges } from './bridges/play.ts'

/** Python that may have the packages: of RL_BRIDGES_PYTHON, else the machine's. */
const PYTHON = process.env.RL_BRIDGES_PYTHON ?? 'python3'

/** Main file of server-everything: that of RL_BRIDGES_EVERYTHING, else of node_modules. */
const EVERYTHING =
  process.env.RL_BRIDGES_EVERYTHING ?? 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'

const has = (name: string) => spawnSync(PYTHON, ['-c', `import ${name}`]).status === 0

if (process.argv.includes('--hostile')) {
  const { attacks, contained, leftBehind } = await attackBridges()
  process.stdout.write(`attacks=${attacks} contained=${contained} left_behind=${leftBehind}\n`)
  process.exitCode = contained === attacks && leftBehind === 0 ? 0 : 1
} else if (process.argv.includes('--openenv-client')) {
  if (has('openenv')) {
    const { won, sessions, ratio } = await playByClient(PYTHON)
    process.stdout.write(`won=${won} sessions=${sessions} ratio=${ratio.toFixed(1)}\n`)
    process.exitCode = won === 20 && ratio >= 5 ? 0 : 1
  } else process.stdout.write(`SKIP openenv-client: ${PYTHON} has no openenv\n`)
} else {
  const echo = '../shared/data/bridges/openenv_echo.py'
  const { bridges, episodes, failed } = await playBridges({
    python: PYTHON,
    echo: existsSync(echo) ? echo : null,
    has,
    everything: existsSync(EVERYTHING) ? EVERYTHING : null,
    quick: process.argv.includes('--quick'),
    only: process.argv.includes('--only') ? (process.argv.at(-1) ?? '') : '',
  })
  process.stdout.write(`bridges=${bridges} episodes=${episodes} failed=${failed}\n`)
  process.exitCode = failed === 0 ? 0 : 1
}
