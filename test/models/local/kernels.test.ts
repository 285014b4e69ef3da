import { readFile } from 'node:fs/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { buildKernels } from '../../../scripts/kernels.ts'

test('kernels.wasm is what kernels.as compiles to', async () => {
  const kept = await readFile(new URL('../../../src/models/local/kernels/kernels.wasm', import.meta.url))
  let built: Uint8Array
  try {
    built = await buildKernels()
  } catch (error) {
    if (!/assemblyscript/.test(String(error)) || !/Cannot find/.test(String(error))) throw error
    process.stdout.write('SKIP kernels: assemblyscript is not installed\n')
    return
  }
  assert.is(Buffer.compare(kept, built), 0, 'run `node scripts/kernels.ts`')
})

test.run()
