/** `import { given, testEnvironment } from 'rlanything/testing'`: for any test runner; what does not hold is thrown as an AssertionError. */
import '../cli/packages.ts'

export { type Given, given, type When } from './deciders.ts'
export { type EnvironmentTest, type EnvironmentTested, testEnvironment } from './environment.ts'
