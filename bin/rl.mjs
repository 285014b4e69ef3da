#!/usr/bin/env node
import { launch } from './launch.mjs'

await launch('src/rl.ts', process.argv.slice(2))
