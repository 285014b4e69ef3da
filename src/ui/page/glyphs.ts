/** A glyph for each state of a run: no meaning is told by colour alone. */
export const GLYPHS: Readonly<Record<string, string>> = {
  running: '●',
  completed: '✓',
  paused: '‖',
  stopped: '◼',
  killed: '✗',
  failed: '✗',
  'never started': '○',
  unreadable: '⚠',
}
