/** Bugs of runs on several hosts, each as edits of the present code. A check of hosts must find each in a copy of the project. */
import { spawn } from 'node:child_process'
import { type Edit, plant } from '../../test/simulation/planted/planted.ts'

export type PlantedHosts = {
  readonly name: string
  readonly what: string
  readonly edits: readonly Edit[]
  /** Words behind `e2e -- hosts` of the check that finds it. */
  readonly check: readonly string[]
}

export const PLANTED_HOSTS: readonly PlantedHosts[] = [
  {
    name: 'no-digest-check',
    what: 'files of a checkpoint that were fetched are not compared with their digests',
    check: ['--damaged'],
    edits: [
      {
        file: 'src/events/blob-transfer.ts',
        from: '    if (sha256Of(content) !== sha256) throw damaged(sha256)\n',
        to: '',
      },
      {
        file: 'src/actors/learner/shared-files.ts',
        from: "  if (whole.digest('hex') !== sha256)\n",
        to: '  if (false)\n',
      },
      {
        file: 'src/actors/learner/checkpoints.ts',
        from: '  await checkFileDigests(folder)\n',
        to: '',
      },
      {
        file: 'src/actors/learner/checkpoints.ts',
        from: '  if ((await weightsDigest(await readModelFolder(folder))) !== checkpoint.sha256)\n',
        to: '  if (false)\n',
      },
    ],
  },
  {
    name: 'path-in-an-event',
    what: "an event names a checkpoint by its place on the trainer's host",
    check: [],
    edits: [
      {
        file: 'src/actors/learner/checkpoints.ts',
        from: '  syncFolder(folder)\n  return { path, sha256 }\n',
        to: '  syncFolder(folder)\n  return { path: folder, sha256 }\n',
      },
      {
        file: 'src/events/catalogue/definition.ts',
        from: '  .regex(/^(?!.*(^|\\/)\\.{1,2}(\\/|$))[A-Za-z0-9._-]+(\\/[A-Za-z0-9._-]+)*$/)\n',
        to: '',
      },
      {
        file: 'src/actors/learner/checkpoints.ts',
        from: "  const inner = join(folder, path)\n  if (isAbsolute(path) || relative(folder, inner).split(/[\\\\/]/)[0] === '..')\n",
        to: "  const inner = isAbsolute(path) ? path : join(folder, path)\n  if (relative(folder, folder) !== '')\n",
      },
    ],
  },
  {
    name: 'role-freed-by-host-name',
    what: 'a process of a host with the same name, whose number is free here, counts as ended',
    check: ['--faults', '--only', 'role-twice'],
    edits: [
      {
        file: 'src/actors/head/leases.ts',
        from: "  return holder !== null && lifeOf(holder) === 'ended'\n",
        to: "  return holder !== null && lifeOf({ ...holder, place: THIS_PROCESS.place }) === 'ended'\n",
      },
      {
        file: 'src/actors/head/leases.ts',
        from: "import { parseProcess } from '../../platform/process-id.ts'",
        to: "import { parseProcess, THIS_PROCESS } from '../../platform/process-id.ts'",
      },
    ],
  },
  {
    name: 'consumer-not-remade',
    what: "the broker's queues are made when the head starts, and never again",
    check: ['--faults', '--only', 'store-wiped'],
    edits: [
      {
        file: 'src/actors/head/log-service.ts',
        from: '    if (bus.connected()) await ensureQueues().catch(() => {})\n',
        to: '',
      },
    ],
  },
  {
    name: 'answer-before-the-stream',
    what: 'a head answers as soon as its own log has an event, before the brokers keep it',
    check: ['--faults', '--only', 'head-cut-off'],
    edits: [
      {
        file: 'src/actors/head/appender.ts',
        from: '    if (kept) kept().then(tell, (error) => refuse(batch, error))\n    else tell()\n',
        to: '    tell()\n',
      },
    ],
  },
]

/** Runs the check of a bug in a copy that has the bug. Resolves to what the check says if it does not end well, else to null. */
export async function findPlanted(
  bug: PlantedHosts,
  root: string,
  ending: AbortSignal,
): Promise<string | null> {
  const copy = plant({ ...bug, tests: [] }, root)
  try {
    const words = ['bin/launch.mjs', 'scripts/e2e.ts', 'hosts', ...bug.check]
    const child = spawn(process.execPath, words, { cwd: copy.root, stdio: ['ignore', 'pipe', 'pipe'] })
    const end = () => child.kill('SIGINT')
    ending.addEventListener('abort', end)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
    ending.removeEventListener('abort', end)
    return status === 0 || ending.aborted ? null : reason(output)
  } finally {
    copy.remove()
  }
}

/** The line that tells best what was found. */
function reason(output: string): string {
  const lines = output.trim().split('\n')
  const told = lines.find((line) =>
    /NOT COMPLETED|lost [1-9]|doubled [1-9]|^Error|digest=different/.test(line),
  )
  return (told ?? lines.at(-1) ?? '').slice(0, 300)
}
