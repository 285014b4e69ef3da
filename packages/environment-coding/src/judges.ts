/**
 * Programs of a task that judge others: checkers and interactors. They are Python and untrusted, so they run
 * in a sandbox with their own limits. A judge that raises an exception, reaches a limit or is no program has
 * failed, and gives no verdict.
 */
import { DEFAULT_LIMITS, type Limits } from './provider.ts'
import type { RunResult } from './run-result.ts'

/** Limits of a judge. A busy machine may need long, which is nobody's fault. */
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
/** Exit codes of a Python that could not write its last words, or whose interpreter broke down. */
const BROKEN = [120, 134]

/** Reads the end of a judge. A failed assertion is a judgement against the program. */
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

/** Bounds the bytes that a program may tell its interactor. A line without end would take all its memory. */
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
 * Returns an interactor ready to run. It refuses a program that ended too early, or that says more than
 * `most` bytes.
 * @param most most bytes that it reads, with its own first line
 */
export const interactorProgram = (source: string, most: number): string =>
  `${JUDGE}${LISTENING}_rl_judge(${JSON.stringify(source)}, (AssertionError, EOFError, BrokenPipeError, _rl_listen(${most})))\n`
