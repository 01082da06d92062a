import { GdnError } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'

/**
 * The setting that a word names; the nearest one is suggested, never taken.
 *
 * @param names what may be suggested, where that is more
 */
export function nearestSetting<Name extends string>(
  word: string,
  settings: readonly Name[],
  names: readonly string[] = settings,
): Name {
  const name = settings.find((known) => known === word)
  if (name !== undefined) return name
  const near = nearest(word, names)
  throw new GdnError('usage', `there is no setting "${word}"`, {
    hint: near === undefined ? `settings are ${names.join(', ')}` : `did you mean ${near}?`,
  })
}
