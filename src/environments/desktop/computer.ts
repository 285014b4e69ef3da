/** What every desktop can do, wherever it runs: on a display of this machine, or behind a server that speaks OSWorld's endpoints. */
import type { ScreenAction, ScreenSize } from '../screen/action.ts'

/** What a program said and how it ended; a signal is a negative number. */
export type Executed = { readonly output: string; readonly error: string; readonly returncode: number }

export type Command = string | readonly string[]

type CommandOptions = { readonly shell?: boolean; readonly timeoutMs?: number }

/** One element of the accessibility tree. */
export type AccessibleNode = {
  /** With spaces, e.g. `push button`. */
  readonly role: string
  readonly name: string
  readonly description: string
  /** e.g. `showing`, `focused`, `checked`. */
  readonly states: readonly string[]
  /** On the screen, in pixels; null where it is not shown. */
  readonly box: {
    readonly x: number
    readonly y: number
    readonly width: number
    readonly height: number
  } | null
  readonly text: string | null
  readonly value: number | null
  readonly children: readonly AccessibleNode[]
}

/** How a window is found: by a part of its title (whole where strict), or of its class. */
export type WindowQuery = { readonly name: string; readonly strict: boolean; readonly byClass: boolean }

/** Methods reject with `desktop.died` where the desktop is no more, and with `desktop.refused` where it says no. */
export interface Computer {
  size(): Promise<ScreenSize>
  /**
   * Does one after the other, each once the screen has come to rest. At `end` it waits longer: a program that saves a file may
   * stand still before it is done.
   */
  act(actions: readonly ScreenAction[]): Promise<void>
  /** A PNG. */
  screenshot(): Promise<Uint8Array>
  /** The tree below the desktop; null where there is none. */
  accessibility(): Promise<AccessibleNode | null>
  /** Runs a program and waits for it; default 120 s. */
  execute(command: Command, options?: CommandOptions): Promise<Executed>
  /** Starts a program. */
  launch(command: Command, options?: CommandOptions): Promise<void>
  /** A file's bytes; null where there is none. */
  readFile(path: string): Promise<Uint8Array | null>
  writeFile(path: string, bytes: Uint8Array): Promise<void>
  /** A folder's whole tree, as `{type, name, children}`. */
  listDirectory(path: string): Promise<unknown>
  /** Opens a file with its program, or starts a program; resolves once a window shows it. */
  openFile(path: string): Promise<void>
  /** Resolves once a window fits and the screen is at rest. Rejects with `desktop.refused` after a minute. */
  waitForWindow(window: WindowQuery): Promise<void>
  /** False where no window fits. */
  activateWindow(window: WindowQuery): Promise<boolean>
  closeWindow(window: WindowQuery): Promise<boolean>
  /** Makes everything as it was at the start. */
  reset(): Promise<void>
  close(): Promise<void>
}
