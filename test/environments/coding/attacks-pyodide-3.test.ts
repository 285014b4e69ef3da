import { test } from 'uvu'
import { contains } from './attack-trials.ts'

contains('pyodide', 2, 3)

test.run()
