/**
 * Programs of a task that judge others: checkers and interactors. Both are Python and untrusted, so they run in a sandbox. They have limits
 * of their own, and a judge that fails has given no verdict on the program: it raises an exception, reaches a limit or is no program.
 */
import { DEFAULT_LIMITS, type Limits, type RunResult } from './executor.ts'

/** What a judge may use. A busy machine may need long, which is nobody's fault. */
export const JUDGE_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  cpuMs: 10_000,
  wallMs: 60_000,
  memoryMB: 1024,
  processes: 16,
}

export type Judgement = 'accepts' | 'refuses' | 'failed' | 'raised'

/** The exit code of a judge that raised an exception. */
const RAISED = 113
/** It could not write its last words; or its interpreter broke down. */
const BROKEN = [120, 134]

/** What the end of a judge says. An assertion that does not hold is its word against the program. */
export function judgementOf({ verdict, exitCode }: RunResult): Judgement {
  if (verdict === 'ok') return 'accepts'
  if (verdict !== 'runtime_error' || exitCode === null || BROKEN.includes(exitCode)) return 'failed'
  return exitCode === RAISED ? 'raised' : 'refuses'
}

/** Why a judge failed, for people. */
export const failureOf = (judge: string, { verdict, stderrTail }: RunResult): string =>
  `the ${judge} failed, which is no verdict on the program: ${stderrTail.trim().split('\n').at(-1) || verdict}`

const JUDGE = `
def _rl_judge(source, refusing):
    import sys
    scope = sys.modules['__main__'].__dict__
    scope.pop('_rl_judge')
    try:
        exec(compile(source, '/tmp/judge.py', 'exec', dont_inherit=True), scope)
    except SystemExit:
        raise
    except BaseException as error:
        import traceback
        traceback.print_exc()
        sys.exit(1 if isinstance(error, refusing) else ${RAISED})
`

/** A checker as it is run. */
export const checkerProgram = (source: string): string =>
  `${JUDGE}_rl_judge(${JSON.stringify(source)}, AssertionError)\n`

/** How much a program may tell its interactor is the interactor's to bound: a line without end would take all its memory. */
const LISTENING = `
def _rl_listen(most):
    import io, os, sys
    class Flood(BaseException):
        pass
    class Heard(io.RawIOBase):
        heard = 0
        def readable(self):
            return True
        def fileno(self):
            return 0
        def readinto(self, buffer):
            got = os.readv(0, [buffer])
            self.heard += got
            if self.heard > most:
                raise Flood('the program wrote more than ' + str(most) + ' bytes')
            return got
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(Heard(), 1 << 16), encoding='utf-8', errors='replace')
    del sys.modules['__main__']._rl_listen
    return Flood
`

/**
 * An interactor as it is run. It refuses a program that has ended before its time, and one that says more than `most` bytes.
 * @param most bytes that it reads, its own first line among them
 */
export const interactorProgram = (source: string, most: number): string =>
  `${JUDGE}${LISTENING}_rl_judge(${JSON.stringify(source)}, (AssertionError, EOFError, BrokenPipeError, _rl_listen(${most})))\n`
