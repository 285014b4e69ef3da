import { test } from 'uvu'
import { contains } from './attack-trials.ts'

contains('pyodide', 0, 3)

test.run()
