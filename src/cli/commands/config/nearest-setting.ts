import { type ProfileSettings, SETTING_NAMES } from '../../../config/schema.ts'
import { GdnError } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'

/** The setting of a profile that a word names; the nearest one is suggested, never taken. */
export function nearestSetting(word: string, names: readonly string[]): keyof ProfileSettings {
  const name = SETTING_NAMES.find((known) => known === word)
  if (name !== undefined) return name
  const near = nearest(word, names)
  throw new GdnError('usage', `there is no setting "${word}"`, {
    hint: near === undefined ? `settings are ${names.join(', ')}` : `did you mean ${near}?`,
  })
}
