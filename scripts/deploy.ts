/**
 * `npm run -s deploy:check` checks every file of integrations/deploy, without a cluster: shapes, names, users, and each
 * command line against the command itself. Then it plants faults in a copy, and each has to be found. What a tool that is
 * missing would check is told by a line SKIP. The last line is `files=N faults=N`. Exits with status 1 if there is a fault.
 */
import { resolve } from 'node:path'
import { findNatsServer } from '../src/broker/find.ts'
import { answers, checkFolder, deployFiles, type Tools } from './deploy/check.ts'
import { openModels } from './deploy/models.ts'
import { findPlanted } from './deploy/planted.ts'
import { openRealCli } from './deploy/real-cli.ts'

const FOLDER = resolve('integrations/deploy')
const print = (line: string) => process.stdout.write(`${line}\n`)

async function findTools(): Promise<Tools> {
  const natsServer = await findNatsServer().then(
    ({ path }) => path,
    () => null,
  )
  return {
    bash: answers('bash', ['--version']),
    openssl: answers('openssl', ['version']),
    kubectl: answers('kubectl', ['kustomize', '--help']),
    systemd: answers('systemd-analyze', ['--version']),
    docker: answers('docker', ['compose', 'version']),
    natsServer,
    models: openModels(),
  }
}

const LACKING: Readonly<Record<keyof Tools, string>> = {
  bash: 'bash -n of scripts: there is no bash',
  openssl: 'certificates of secrets.sh: there is no openssl',
  kubectl: 'kustomize: there is no kubectl; manifests are checked as they lie there',
  systemd: 'systemd-analyze verify: it is not there',
  docker: 'docker compose config: it is not there; the schema here is checked',
  natsServer: 'nats-server -t: there is no nats-server',
  models: 'schemas of Kubernetes: they are not in the cache, and no registry answers',
}

const tools = await findTools()
const cli = openRealCli()
try {
  for (const [tool, what] of Object.entries(LACKING)) if (!tools[tool as keyof Tools]) print(`SKIP ${what}`)
  const faults = await checkFolder(FOLDER, tools, cli)
  for (const { file, text } of faults) print(`${file}: ${text}`)
  const results = await findPlanted(FOLDER, tools, cli)
  const missed = results.filter(({ found }) => !found)
  for (const { planted, said } of missed)
    print(
      `not found: ${JSON.stringify(planted.to)} in ${planted.file}; said: ${said.join(' | ') || 'nothing'}`,
    )
  print(`planted=${results.length} found=${results.length - missed.length}`)
  print(`files=${deployFiles(FOLDER).length} faults=${faults.length + missed.length}`)
  process.exitCode = faults.length + missed.length === 0 ? 0 : 1
} finally {
  cli.close()
}
