import { nearest } from '../core/nearest.ts'
import { KNOWN_NAMES, suggestKnownName } from './blockchains.ts'

/**
 * Returns the hint for an unknown blockchain name: the most similar known name, or all known names if there is no
 * similar one.
 */
export function blockchainHint(name: string): string {
  const near = suggestKnownName(name.toLowerCase()) ?? nearest(name, KNOWN_NAMES)
  return near === undefined ? `Use one of ${KNOWN_NAMES.join(', ')}.` : `Did you mean ${near}?`
}
