#!/usr/bin/env node
/** `rl`: from the sources in a checkout, compiled in an installed package, which has no sources. */
import { existsSync } from 'node:fs'
import { launch } from './launch.mjs'

const source = new URL('../src/rl.ts', import.meta.url)
await launch(existsSync(source) ? 'src/rl.ts' : 'dist/rl.js', process.argv.slice(2))
