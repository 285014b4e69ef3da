import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, runAll } from '../src/executor.ts'
import { DEFAULT_LIMITS } from '../src/provider.ts'
import { openProvider } from './sandboxes.ts'

/** Asks for huge pages, for which no process's resident memory and no control group's answers; and for timers, which the kernel keeps. */
const PROGRAM = `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap(None, ctypes.c_size_t(1 << 21), 3, 0x40022, -1, ctypes.c_long(0))
print(os.strerror(ctypes.get_errno()))
timer = ctypes.c_void_p()
made = 0
while made < 5000 and libc.timer_create(0, None, ctypes.byref(timer)) == 0:
    made += 1
print(100 < made < 5000)
`

test('memory that nobody sees is refused', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const [[{ stdout, stderrTail }]] = await runAll(executor, [
    { program: PROGRAM, stdins: [''], limits: DEFAULT_LIMITS },
  ])
  await executor.close()
  assert.is(stdout, 'Operation not permitted\nTrue\n', stderrTail)
})

test.run()
