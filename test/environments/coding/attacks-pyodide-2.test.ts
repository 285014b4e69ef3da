import { test } from 'uvu'
import { contains } from './attack-trials.ts'

contains('pyodide', 1, 3)

test.run()
