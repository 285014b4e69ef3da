/** Faults that are put into a copy of the files. A check that does not find them is worth nothing. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkFolder, type Tools } from './check.ts'
import type { RealCli } from './real-cli.ts'

export type Planted = {
  readonly file: string
  readonly from: string
  readonly to: string
  /** The part of the fault's text by which it is known. */
  readonly found: RegExp
  /** A tool without which it cannot be found. */
  readonly needs?: keyof Tools
}

const HEAD = 'kubernetes/base/head.yaml'
const WORKER = 'kubernetes/base/worker.yaml'
const SCALE = 'kubernetes/base/scale.yaml'
const COMPOSE = 'compose/compose.yaml'
const UNIT = 'systemd/rlanything-head.service'

export const PLANTED: readonly Planted[] = [
  { file: HEAD, from: 'replicas: 1', to: 'replicas: two', found: /replicas/ },
  { file: HEAD, from: 'replicas: 1', to: 'replicas: 2', found: /a run has one head/ },
  { file: HEAD, from: 'type: Recreate', to: 'type: RollingUpdate', found: /the next head/ },
  {
    file: HEAD,
    from: 'automountServiceAccountToken',
    to: 'automountServiceAccountTokens',
    found: /automountServiceAccountToken/,
  },
  { file: HEAD, from: 'claimName: runs', to: 'claim: runs', found: /claim/, needs: 'models' },
  {
    file: HEAD,
    from: '- {name: tmp, mountPath: /tmp}',
    to: '- {name: temp, mountPath: /tmp}',
    found: /no volume temp/,
  },
  { file: HEAD, from: 'args: [start, --role', to: 'args: [start, --rolle', found: /no flag --rolle/ },
  { file: HEAD, from: 'fsGroup: 1000', to: 'fsGroup: [1000]', found: /fsGroup/, needs: 'models' },
  { file: HEAD, from: '--run, $(RUN)', to: '--run, $(RUNS)', found: /nothing sets RUNS/, needs: 'kubectl' },
  { file: WORKER, from: 'runAsUser: 1000', to: 'runAsUser: 0', found: /it runs as root/ },
  {
    file: WORKER,
    from: 'readOnlyRootFilesystem: true',
    to: 'readOnlyRootFilesystem: false',
    found: /readOnlyRootFilesystem/,
  },
  { file: WORKER, from: '--role environment', to: '--role enviroment', found: /'enviroment' is no role/ },
  { file: WORKER, from: 'rl alive "$RUN"', to: 'rl live "$RUN"', found: /no command 'live'/ },
  { file: WORKER, from: '--worker, --nats', to: '--further, --nats', found: /no flag --further/ },
  { file: 'compose/join.yaml', from: '--cluster', to: '--clusters', found: /no flag --clusters/ },
  {
    file: 'kubernetes/join/kustomization.yaml',
    from: '--monitor,',
    to: '--monitors,',
    found: /no flag --monitors/,
    needs: 'kubectl',
  },
  { file: 'compose/join.yaml', from: '--join,', to: '--joins,', found: /no flag --joins/ },
  { file: SCALE, from: '  scaleTargetRef:\n    name: environment-worker\n', to: '', found: /scaleTargetRef/ },
  {
    file: SCALE,
    from: 'scaleTargetRef:\n    name: environment-worker',
    to: 'scaleTargetRef:\n    name: worker',
    found: /no Deployment here/,
  },
  {
    file: SCALE,
    from: 'consumer: workers',
    to: 'consumer: worker',
    found: /consumer of a queue is 'workers'/,
  },
  { file: SCALE, from: 'RolloutRequested', to: 'RolloutsRequested', found: /no run has a queue/ },
  { file: SCALE, from: 'cooldownPeriod', to: 'coolDownPeriod', found: /no such key/, needs: 'models' },
  {
    file: 'kubernetes/base/disruption.yaml',
    from: 'name: environment-worker}',
    to: 'name: workers}',
    found: /selects no pod/,
  },
  {
    file: 'kubernetes/base/network.yaml',
    from: 'podSelector',
    to: 'podSelectors',
    found: /podSelector/,
    needs: 'models',
  },
  { file: 'kubernetes/base/kustomization.yaml', from: 'resources:', to: 'resource:', found: /resource/ },
  {
    file: 'kubernetes/join/kustomization.yaml',
    from: '--join, /join/env.join',
    to: '--joins, /join/env.join',
    found: /no flag --joins/,
    needs: 'kubectl',
  },
  {
    file: 'kubernetes/vllm/vllm.yaml',
    from: 'vllm-openai:v0.11.0',
    to: 'vllm-openai:latest',
    found: /has no version/,
  },
  { file: 'kubernetes/nats-values.yaml', from: 'replicas: 3', to: 'replicas: 2', found: /replicas/ },
  { file: 'kubernetes/base/run.env', from: 'RUN=main', to: 'RUN: main', found: /NAME=VALUE/ },
  { file: UNIT, from: 'Restart=on-failure', to: 'Restart=allways', found: /Restart/ },
  { file: UNIT, from: 'PrivateTmp=true', to: 'PrivateTemp=true', found: /PrivateTemp/, needs: 'systemd' },
  { file: UNIT, from: 'DynamicUser=true\n', to: '', found: /run as root/ },
  { file: UNIT, from: '--no-ui', to: '--no-pages', found: /no flag --no-pages/ },
  {
    file: 'systemd/rlanything-trainer@.service',
    from: '--base',
    to: '--model',
    found: /rlanything-trainer has no flag --model/,
  },
  { file: COMPOSE, from: 'user: "1000:1000"', to: 'user: "0:0"', found: /not root/ },
  { file: COMPOSE, from: 'read_only: true', to: 'readonly: true', found: /readonly/ },
  {
    file: COMPOSE,
    from: 'image: docker.io/library/nats:2.11.6-alpine',
    to: 'image: docker.io/library/nats',
    found: /has no version/,
  },
  {
    file: COMPOSE,
    from: 'secrets: [tls.crt, tls.key]',
    to: 'secrets: [tls.crt, tls.pem]',
    found: /secret tls.pem/,
  },
  { file: COMPOSE, from: 'interval: 30s', to: 'interval: 30', found: /healthcheck/ },
  { file: 'compose/vllm.yaml', from: 'policy.baseUrl', to: 'policy.baseURI', found: /baseURI/ },
  { file: 'compose/nats.conf', from: 'authorization {', to: 'authorisation {', found: /authorization/ },
  {
    file: 'compose/nats.conf',
    from: 'max_payload: 8MB',
    to: 'max_payload: {',
    found: /nats.conf|Parse|parse/,
    needs: 'natsServer',
  },
  { file: 'Containerfile', from: 'USER 1000:1000', to: 'USER root', found: /not root/ },
  { file: 'Containerfile', from: 'VOLUME', to: 'VOLUMES', found: /no instruction/ },
  { file: 'slurm/workers.sh', from: '--join', to: '--jion', found: /no flag --jion/ },
  { file: 'slurm/workers.sh', from: '--signal=TERM@120', to: '--signals=TERM@120', found: /#SBATCH/ },
  {
    file: 'slurm/trainer.sh',
    from: '-m -- rlanything_trainer',
    to: '-m -- rlanything_trainer --gpus 8',
    found: /no flag --gpus/,
  },
  {
    file: 'slurm/vllm.sh',
    from: 'set -euo pipefail\n',
    to: 'if true\n',
    found: /syntax error|end of file/,
    needs: 'bash',
  },
  { file: 'secrets.sh', from: 'umask 077', to: 'umask 022', found: /others can read/, needs: 'openssl' },
  { file: 'skypilot/worker.yaml', from: 'use_spot', to: 'spot', found: /spot/ },
  { file: 'README.md', from: 'rl -- join', to: 'rl -- joins', found: /no command 'joins'/ },
  {
    file: 'README.md',
    from: 'slurm/workers.sh',
    to: 'slurm/worker.sh',
    found: /there is no slurm\/worker.sh/,
  },
]

export type PlantedResult = {
  readonly planted: Planted
  readonly said: readonly string[]
  readonly found: boolean
}

/** Plants each fault that these tools can find, and checks the copy. */
export async function findPlanted(
  folder: string,
  tools: Tools,
  cli: RealCli,
): Promise<readonly PlantedResult[]> {
  const results: PlantedResult[] = []
  for (const planted of PLANTED.filter(({ needs }) => needs === undefined || tools[needs])) {
    const copy = mkdtempSync(join(tmpdir(), 'rl-deploy-planted-'))
    try {
      cpSync(folder, copy, { recursive: true })
      const path = join(copy, planted.file)
      const text = readFileSync(path, 'utf8')
      if (!text.includes(planted.from))
        throw new Error(`${planted.file} has no ${JSON.stringify(planted.from)}`)
      writeFileSync(
        path,
        text.replace(planted.from, () => planted.to),
      )
      const said = (await checkFolder(copy, tools, cli, planted.file)).map(({ text: fault }) => fault)
      results.push({ planted, said, found: said.some((fault) => planted.found.test(fault)) })
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }
  return results
}
