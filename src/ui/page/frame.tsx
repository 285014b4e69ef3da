/** The frame of every page: the bar above, the time machine below, and the screen between them. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import type { Fault, RunHead } from '../logic/answers.ts'
import { pathOf, type Route } from '../logic/route.ts'
import { type Answer, isGone, isStranger, mayAct, ofRun, useAnswer } from './answers.ts'
import { GLYPHS } from './glyphs.ts'
import { commandIsOpen, helpIsOpen, KEYS, paletteIsOpen } from './keys.ts'
import { useModal } from './parts/modal.ts'
import { CommandOfView, Palette } from './parts/palette.tsx'
import { PauseOrResume } from './parts/run-actions.tsx'
import { FaultBox, Loading } from './parts/states.tsx'
import { TellMe } from './parts/tell-me.tsx'
import { at, path, route } from './place.ts'
import { isReport } from './report.ts'
import { SCREENS } from './screens.ts'
import { TimeMachine } from './time-machine.tsx'

/** What a screen is given. `head` is null on pages that belong to no run. */
export type ScreenProps = { readonly route: Route; readonly head: RunHead | null }
export type Screen = ComponentType<ScreenProps>

const TABS: readonly (readonly [name: string, part: string, screens: readonly string[]])[] = [
  ['Overview', '', ['overview']],
  ['Iterations', 'i', ['iterations', 'iteration', 'group', 'trajectory', 'problem']],
  ['Tasks', 'tasks', ['tasks', 'task']],
  ['Versions', 'versions', ['versions', 'version']],
  ['Judge', 'judge', ['judge']],
  ['Actors', 'actors', ['actors']],
  ['Projections', 'projections', ['projections']],
  ['Events', 'events', ['events']],
]

/** Parts that a report does not hold. */
const OF_A_SERVER: readonly string[] = ['events', 'actors']

export function Frame() {
  const shown = route.value
  const run = shown?.run ?? null
  const head = useAnswer<RunHead>(
    () => (route.value?.run ? ofRun('/head') : null),
    () => true,
  )
  const own = run === null ? null : head.value.data
  mayAct.value = own?.actions ?? true
  return (
    <>
      <a class="skip" href="#content">
        to the content
      </a>
      <Bar run={run} head={own} />
      {isGone.value && (
        <p class="banner" role="alert">
          The page server does not answer. This is what was seen last. Start it again: <code>rl ui</code>
        </p>
      )}
      <main id="content" tabindex={-1} class={at.value === null ? 'live' : 'past'}>
        <Content shown={shown} head={own} answer={head.value} />
      </main>
      {own !== null && !isReport && <TimeMachine head={own} />}
      {helpIsOpen.value && <Help />}
      {paletteIsOpen.value && <Palette head={own} />}
      {commandIsOpen.value && <CommandOfView />}
    </>
  )
}

function Content({
  shown,
  head,
  answer,
}: {
  shown: Route | null
  head: RunHead | null
  answer: Answer<RunHead>
}) {
  if (isStranger.value)
    return (
      <FaultBox
        fault={{
          code: 'ui.no-session',
          message: 'This browser has no session here.',
          hint: 'make a new link: rl ui',
        }}
      />
    )
  const Shown = shown === null ? undefined : SCREENS[shown.screen]
  if (shown === null || Shown === undefined)
    return (
      <FaultBox
        fault={{
          code: 'ui.no-page',
          message: `There is no page ${path.value}.`,
          hint: null,
          near: { path: '/' },
        }}
      />
    )
  if (shown.run !== null && head === null && (answer.fault === null || isNowhere(answer.fault)))
    return answer.fault === null ? <Loading /> : <FaultBox fault={answer.fault} />
  return (
    <>
      {answer.fault !== null && head === null && shown.run !== null && <FaultBox fault={answer.fault} />}
      <Shown key={shown.run ?? ''} route={shown} head={head} />
    </>
  )
}

/** Returns whether there is nothing to show. Of a damaged log, some parts can still be read. */
function isNowhere({ code }: Fault): boolean {
  return /^(run|ui)\.|^log\.(not-a-log|unreadable)$/.test(code)
}

function Bar({ run, head }: { run: string | null; head: RunHead | null }) {
  const screen = route.value?.screen ?? ''
  return (
    <header class="bar">
      <a class="home" href="/" aria-label="all runs">
        rl
      </a>
      {run !== null && (
        <>
          <a class="run" href={pathOf(run)}>
            {head?.run ?? run}
          </a>
          {head !== null && <StateOf head={head} />}
          {head !== null && at.value === null && <PauseOrResume head={head} />}
          {head !== null && !isReport && (
            <TellMe
              key={head.run}
              run={head.run}
              isOpen={head.state === 'running' || head.state === 'paused'}
            />
          )}
          <nav aria-label="screens">
            {TABS.filter(([, part]) => !isReport || !OF_A_SERVER.includes(part)).map(
              ([name, part, screens]) => (
                <a
                  key={name}
                  href={part === '' ? pathOf(run) : pathOf(run, part)}
                  aria-current={screens.includes(screen) ? 'page' : undefined}
                >
                  {name}
                </a>
              ),
            )}
          </nav>
        </>
      )}
      <span class="space" />
      {run === null && (
        <nav aria-label="screens">
          <a href="/" aria-current={screen === 'runs' ? 'page' : undefined}>
            Runs
          </a>
        </nav>
      )}
      <button type="button" class="quiet" aria-label="go to" onClick={() => (paletteIsOpen.value = true)}>
        {PALETTE_KEYS}
      </button>
      <button type="button" class="quiet" aria-label="keys" onClick={() => (helpIsOpen.value = true)}>
        ?
      </button>
      <ThemeButton />
    </header>
  )
}

/** Keys of the palette on this machine. */
const PALETTE_KEYS = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'

function StateOf({ head }: { head: RunHead }) {
  const progress =
    head.iteration === null
      ? 'cold start'
      : `${head.iteration}${head.iterations === null ? '' : `/${head.iterations}`}`
  return (
    <span class={`state ${head.state.replace(' ', '-')}`} title={head.reason ?? undefined}>
      <span aria-hidden="true">{GLYPHS[head.state] ?? '·'} </span>
      {head.state} · {progress}
      {head.simulated ? ' · simulated' : ''}
      {at.value !== null && <strong> · past</strong>}
    </span>
  )
}

/** The theme: the system's, or the one that was chosen. */
function ThemeButton() {
  const theme = useSignal(document.documentElement.dataset.theme ?? 'auto')
  const next = theme.value === 'auto' ? 'dark' : theme.value === 'dark' ? 'light' : 'auto'
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`theme: ${theme.value}; change to ${next}`}
      onClick={() => {
        theme.value = next
        chooseTheme(next)
      }}
    >
      ◐
    </button>
  )
}

function chooseTheme(theme: string): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem('theme', theme)
  } catch {}
}

try {
  chooseTheme(localStorage.getItem('theme') ?? 'auto')
} catch {}

function Help() {
  const box = useModal()
  return (
    <dialog ref={box} class="help" aria-labelledby="keys-title" onClose={() => (helpIsOpen.value = false)}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {KEYS.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      {!isReport && (
        <>
          <p>These pages answer on this machine alone. From another one, bring the port there:</p>
          <pre class="command">
            ssh -L {location.port}:127.0.0.1:{location.port} USER@THIS-MACHINE
          </pre>
        </>
      )}
      <button type="button" onClick={() => box.current?.close()}>
        close
      </button>
    </dialog>
  )
}
