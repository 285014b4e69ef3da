/**
 * Operations of every desktop: on a display of this machine, or behind a server that speaks OSWorld's
 * endpoints.
 */
import type { ScreenAction, ScreenSize } from './screen/action.ts'

/** Outputs of a program and its exit status. A signal is a negative number. */
export type Executed = { readonly output: string; readonly error: string; readonly returncode: number }

export type Command = string | readonly string[]

type CommandOptions = { readonly shell?: boolean; readonly timeoutMs?: number }

/** One element of the accessibility tree. */
export type AccessibleNode = {
  /** Role with spaces, e.g. `push button`. */
  readonly role: string
  readonly name: string
  readonly description: string
  /** e.g. `showing`, `focused`, `checked`. */
  readonly states: readonly string[]
  /** Box on the screen, in pixels. Null if the element is not shown. */
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

/** Search for a window by a part of its title (by the whole title if strict), or of its class. */
export type WindowQuery = { readonly name: string; readonly strict: boolean; readonly byClass: boolean }

/** Methods reject with `desktop.died` if the desktop is gone, and with `desktop.refused` if it refuses. */
export interface Computer {
  size(): Promise<ScreenSize>
  /**
   * Does the actions in order, each once the screen is at rest. At `end` it waits longer: a program that
   * saves a file may stand still before it is done.
   */
  act(actions: readonly ScreenAction[]): Promise<void>
  /** A PNG. */
  screenshot(): Promise<Uint8Array>
  /** Resolves to the tree below the desktop, or null if there is none. */
  accessibility(): Promise<AccessibleNode | null>
  /** Runs a program and waits for it. Default limit: 120 s. */
  execute(command: Command, options?: CommandOptions): Promise<Executed>
  /** Starts a program. */
  launch(command: Command, options?: CommandOptions): Promise<void>
  /** Resolves to a file's bytes, or null if there is no such file. */
  readFile(path: string): Promise<Uint8Array | null>
  writeFile(path: string, bytes: Uint8Array): Promise<void>
  /** A folder's whole tree, as `{type, name, children}`. */
  listDirectory(path: string): Promise<unknown>
  /** Opens a file with its program, or starts a program. Resolves once a window shows it. */
  openFile(path: string): Promise<void>
  /** Resolves once a window fits and the screen is at rest. Rejects with `desktop.refused` after a minute. */
  waitForWindow(window: WindowQuery): Promise<void>
  /** Resolves to false if no window matches. */
  activateWindow(window: WindowQuery): Promise<boolean>
  closeWindow(window: WindowQuery): Promise<boolean>
  /** Makes everything as it was at the start. */
  reset(): Promise<void>
  close(): Promise<void>
}
