import { GdnError, type Place } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { hidePrivateKey } from '../core/quoted.ts'
import type { UserConfig } from './schema.ts'

/** Returns the names of all profiles, including the built-in profile `local`. */
export function profileNames({ profiles = {} }: UserConfig): string[] {
  return ['local', ...Object.keys(profiles).filter((name) => name !== 'local')]
}

/**
 * Rejects an unknown profile name and suggests the nearest known name.
 *
 * @param place the source of the name: a flag, a variable or a file
 */
export function refuseUnknownProfile(config: UserConfig, name: string, place: Place): void {
  const names = profileNames(config)
  if (names.includes(name)) return
  const near = nearest(name, names)
  throw new GdnError('usage', `there is no profile "${hidePrivateKey(name)}"`, {
    place,
    hint:
      near === undefined
        ? `Use one of ${names.join(', ')}, or run \`gdn config set\` to create one.`
        : `Did you mean ${near}?`,
  })
}

export function checkProfileName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return name
  throw new GdnError('usage', `"${hidePrivateKey(name)}" is not a valid profile name`, {
    place: { flag: '--profile' },
    hint: 'Use letters, digits, dots, dashes and underscores.',
  })
}
