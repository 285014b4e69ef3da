/**
 * Tests for users, with any test runner: `import { given, testEnvironment } from 'rlanything/testing'`. A
 * broken rule is thrown as an AssertionError.
 */
import '../setting-packages.ts'

export { type Given, given, type When } from './deciders.ts'
export { type EnvironmentTest, type EnvironmentTested, testEnvironment } from './environment.ts'
