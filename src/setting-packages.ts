/**
 * Packages that bring a setting. This list alone points from this package to others. A module that reads a
 * config must import it first.
 */
import { registerPackages, type SettingPackage } from './environments/settings.ts'

const packageOf = (name: string): SettingPackage => {
  const specifier = `@rlanything/environment-${name}`
  return {
    name,
    package: specifier,
    load: () => import(specifier),
    place: () => import.meta.resolve(specifier),
  }
}

registerPackages(['coding', 'web', 'desktop', 'tools'].map(packageOf))
