/**
 * Loaded by Node before a program. Output to a pipe waits in the engine otherwise, and process.exit() loses what waits: it is written at
 * once, as to a file. The streams are opened when the program wants them, as ever.
 */
for (const name of ['stdout', 'stderr']) {
  const { get } = /** @type {Required<PropertyDescriptor>} */ (Object.getOwnPropertyDescriptor(process, name))
  Object.defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get() {
      const stream = get.call(process)
      stream._handle?.setBlocking?.(true)
      return stream
    },
  })
}
