/**
 * What the scripts of pages share. They are no modules: each is a text that runs in a page, and they meet in `window.__rl`.
 * Checked by tsconfig.pages.json.
 */

/** An element as a page happens to have it. An oracle throws if it is missing, and then knows no action. */
// biome-ignore lint/suspicious/noExplicitAny: which elements a page has is known to no type
type Found = any

/** Gives the next action as `[verb, element, argument]`. `wait` has no element. */
type Oracle = (page: {
  readonly goal: string
  readonly fields: Record<string, string | undefined>
  readonly memory: Record<string, unknown>
}) => Found

type Place = { readonly x: number; readonly y: number; readonly hit: Element }

/** The page of a task, as the driver plays it. */
type TaskPage = {
  /** The page is not ours: what is told of it and done on it is as people see and do it. */
  readonly full?: boolean
  /** Ids of elements that are no part of the task. */
  readonly hidden?: readonly string[]
  readonly start: (seed: number, request: Found) => string | Promise<string>
  readonly state: () => { readonly done: boolean; readonly reward: number }
  readonly oracle?: () => Found
  readonly texts?: (() => readonly string[]) | null
}

/** Helpers of oracles, from src/miniwob/basic.js. */
type Help = {
  readonly $$: (selector: string) => Found[]
  readonly $1: (selector: string) => Found
  readonly text: (element: Found) => string
  readonly shown: (element: Found) => boolean
  readonly reached: (element: Found) => boolean
  readonly quoted: (goal: string) => string[]
  /** Matches a pattern. Throws if the text does not match, as the oracle was made for another form of the page. */
  readonly match: (pattern: RegExp, text: string) => RegExpExecArray
  readonly click: (element: Found) => Found
  readonly buttonNamed: (name: string) => Found
  readonly submit: () => Found
}

/** What the scripts of src/page know of each other. Times are in milliseconds. */
type Rl = {
  readonly START: number
  readonly now: () => number
  readonly elapsed: () => number
  readonly uniform: () => number
  readonly branch: () => number
  readonly seed: (value: number) => void
  readonly Table: MapConstructor
  readonly Unique: SetConstructor
  readonly realNow: () => number
  readonly nextFrame: (run: (time: number) => void) => number
  readonly pause: () => Promise<unknown>
  readonly add: (type: string, listener: (event: Found) => void, options?: Found) => void
  readonly later: (ms: number, run: () => void) => number
  readonly restart: (seed: number) => void
  readonly shift: (to: number) => void
  readonly advance: (ms: number) => Promise<void>

  // waiting.js
  readonly counted: <T>(promise: Promise<T>) => Promise<T>
  readonly turns: () => Promise<void>
  readonly painted: () => Promise<unknown>
  readonly settle: (ms: number) => Promise<void>

  // listeners.js
  readonly captor: () => Element | null
  readonly releasePointer: () => void
  readonly listensTo: (node: EventTarget, type: string) => boolean
  readonly shadowOf: (element: Element) => ShadowRoot | null

  // reach.js
  readonly placeOf: (element: Element) => Place | null
  readonly lookAgain: () => void
  readonly isReachable: (element: Element) => boolean
  readonly isSeen: (text: Text) => boolean
  readonly bringNear: (element: Element) => boolean
  readonly offsetsOf: (element: Element) => string

  // texts.js
  textsIn: (goal: string) => readonly string[]
  textsFound: (goal: string) => readonly string[]
  textsShown: (hidden?: readonly string[]) => readonly string[]

  // refused.js, sinks.js, clipboard.js
  readonly forget: () => Promise<void>
  readonly sink: (kind: string, text: string) => void
  readonly sinks: () => {
    readonly programs: readonly string[]
    readonly elements: readonly string[]
    readonly full: boolean
  }
  readonly forgetSinks: () => void
  clip: string

  // driver.js, asked from outside of the page
  goOn: (answer: unknown) => Promise<unknown>
  goals: (starts: readonly Found[]) => Promise<unknown>
  /** Not there before driver.js has run. */
  play?: (request: Found) => Promise<unknown>
  pass: (seconds: number) => Promise<unknown>
  over: () => boolean

  // src/own/frame.js or src/miniwob/adapter.js
  readonly page: TaskPage
  catalogue: () => unknown
  variables: () => unknown
  readonly solve: (pattern: RegExp, next: Oracle) => void
  readonly help: Help
}

/** Draws of a part of our own pages. */
type Draws = {
  readonly uniform: () => number
  /** Integer in [0, n). */
  readonly below: (n: number) => number
  readonly between: (least: number, most: number) => number
  readonly shuffle: <T>(list: readonly T[]) => T[]
  readonly pick: (list: readonly unknown[]) => Found
  readonly some: (list: readonly unknown[], count: number) => Found[]
}

/** What a type of our own pages builds with. */
type Builder = {
  readonly root: Element
  readonly element: (
    tag: string,
    attributes?: Record<string, unknown>,
    ...children: (Node | string)[]
  ) => Found
  /** Ends the part, done well or not. */
  readonly finish: (ok: boolean) => void
  readonly add: (made: Node) => Found
  readonly title: (text: string) => Found
  readonly text: (text: string) => Found
  readonly button: (name: string, click: (event: Event) => void) => Found
  readonly link: (name: string, click: (event: Event) => void) => Found
  readonly field: (name: string) => Found
  readonly check: (name: string, checked?: boolean, change?: (event: Event) => void) => Found
  readonly radio: (group: string, name: string) => Found
  readonly select: (name: string, options: readonly string[]) => Found
  readonly table: (head: readonly string[], rows: readonly (readonly (Node | string)[])[]) => Found
  readonly box: (...children: (Node | string)[]) => Found
  readonly clear: () => void
  readonly show: (made: HTMLElement, shown: boolean) => void
}

type PageType = {
  readonly name: string
  readonly family: string
  /** Least and most value of each parameter. */
  readonly params: Readonly<Record<string, readonly number[]>>
  readonly make: (random: Draws, values: Record<string, number>, page: Builder) => Part
}

/** A part that has been built. */
type Part = {
  readonly goal: string
  readonly oracle: () => Found
  readonly texts?: readonly string[]
}

type Own = {
  readonly types: Record<string, PageType>
  readonly define: (
    name: PageType['name'],
    family: PageType['family'],
    params: PageType['params'],
    make: PageType['make'],
  ) => void
}

declare var __rl: Rl
// Not in every browser, and not in the DOM of the compiler.
declare var Temporal: Found
declare var scheduler: Found
declare var trustedTypes: Found

interface Window {
  readonly __rl: Rl
  readonly __own: Own
  /** Words by the name of their pool, from src/own/words.ts. */
  readonly __pools: Record<string, readonly string[]>
  readonly navigation: {
    readonly currentEntry: unknown
    readonly entries: () => Found[]
  }

  // Globals of MiniWoB++'s pages.
  readonly core: Found
  readonly $: Found
  readonly WOB_TASK_READY?: boolean
  readonly WOB_DONE_GLOBAL?: boolean
  readonly WOB_RAW_REWARD_GLOBAL?: unknown
  readonly buttonsPushed: readonly unknown[]
  readonly currentTime: number
  readonly SYNONYMS?: readonly (readonly string[])[]
  readonly gameState: readonly number[]
  readonly ACTIONS: Readonly<Record<string, string>>
  readonly shapes: Found
  readonly currentFiles: readonly string[]
  readonly ui_utils: { readonly COUNTRIES: readonly string[] }
  readonly DOMESTIC_FLIGHTS: string | readonly string[]
  readonly smallBoxContained: () => boolean
  readonly insideContainer: (shape: Element, x?: number, y?: number) => boolean
}

interface Math {
  /** Of MiniWoB++'s pages. */
  seedrandom(seed: unknown): void
}
