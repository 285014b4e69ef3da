import { Worker } from 'node:worker_threads'

/**
 * A worker thread that runs a TypeScript module. Node 20 does not apply `--import tsx` of `execArgv` to a thread's entry point,
 * so the entry is a line of JavaScript that registers tsx and then imports the module.
 */
export function startThread(module: URL, workerData: unknown): Worker {
  const register = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  const entry = `import { register } from ${register}; register(); await import(${JSON.stringify(module.href)})`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(entry)}`), {
    workerData,
    execArgv: [],
  })
}
