import { GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import type { UserConfig } from './schema.ts'

/** The profiles there are; `local` is built in. */
export function profileNames({ profiles = {} }: UserConfig): string[] {
  return ['local', ...Object.keys(profiles).filter((name) => name !== 'local')]
}

/** Refuses a name that no profile has; the nearest one is suggested. */
export function refuseUnknownProfile(config: UserConfig, name: string, flag: string): void {
  const names = profileNames(config)
  if (names.includes(name)) return
  const near = nearest(name, names)
  throw new GdnError('usage', `there is no profile "${name}"`, {
    place: { flag },
    hint: near === undefined ? `profiles are ${names.join(', ')}; gdn config set makes one` : `did you mean ${near}?`,
  })
}

/** Refuses what can't name a profile. */
export function checkProfileName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return name
  throw new GdnError('usage', `"${name}" is no name of a profile`, {
    place: { flag: '--profile' },
    hint: 'letters, digits, dots, dashes and underscores',
  })
}
