import { test } from 'uvu'
import { contains } from './attack-trials.ts'

contains('pyodide', 6)

test.run()
