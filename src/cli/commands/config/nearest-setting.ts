import { GdnError } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'

/**
 * Returns the setting with the exact name. Otherwise throws an error that suggests the nearest name.
 *
 * @param names the names to suggest. Default: the settings.
 * @throws GdnError `usage`
 */
export function nearestSetting<Name extends string>(
  typed: string,
  settings: readonly Name[],
  names: readonly string[] = settings,
): Name {
  const name = settings.find((setting) => setting === typed)
  if (name !== undefined) return name
  const near = nearest(typed, names)
  throw new GdnError('usage', `unknown setting "${typed}"`, {
    hint: near === undefined ? `Use one of ${names.join(', ')}.` : `Did you mean ${near}?`,
  })
}
