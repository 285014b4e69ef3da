/** Builds src/models/local/kernels/kernels.wasm from kernels.as: `node scripts/kernels.ts`. */
import { readFile, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'

const folder = new URL('../src/models/local/kernels/', import.meta.url)

/** Compiles the source. The bytes are the same on every machine. */
export async function buildKernels(): Promise<Uint8Array> {
  const source = await readFile(new URL('kernels.as', folder), 'utf8')
  const { default: asc } = await import('assemblyscript/asc')
  const out = new Map<string, Uint8Array | string>()
  const flags = [
    '-O3',
    '--noAssert',
    '--converge',
    '--runtime',
    'stub',
    '--importMemory',
    '--enable',
    'simd,bulk-memory',
  ]
  const { error, stderr } = await asc.main(['kernels.ts', '--outFile', 'kernels.wasm', ...flags], {
    readFile: (name: string) => (name.endsWith('kernels.ts') ? source : null),
    writeFile: (name: string, contents: Uint8Array | string) => {
      out.set(name, contents)
    },
    listFiles: () => [],
  })
  const binary = out.get('kernels.wasm')
  if (error || !(binary instanceof Uint8Array)) throw new Error(`kernels.as: ${stderr.toString()}`)
  return binary
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const binary = await buildKernels()
  await writeFile(new URL('kernels.wasm', folder), binary)
  process.stdout.write(`kernels.wasm: ${binary.length} bytes\n`)
}
