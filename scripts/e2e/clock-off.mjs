/** Puts the clock of a process off by RL_E2E_CLOCK_MS milliseconds, if it is loaded first: NODE_OPTIONS=--import=<this file>. */
const offMs = Number(process.env.RL_E2E_CLOCK_MS ?? 0)
const RealDate = Date
const now = () => RealDate.now() + offMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, words, made) => Reflect.construct(target, words.length === 0 ? [now()] : words, made),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})
