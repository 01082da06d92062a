import { normalize } from 'viem/ens'
import { GdnError, messageOf, type Place } from '../core/errors.ts'
import { shorten } from '../core/shorten.ts'

const MAX_NAME_LENGTH = 255
const MAX_SHOWN_LENGTH = 80

/**
 * Matches names in which ENSIP-15 changes only capital letters. For the first name that doesn't match, the
 * initialization of the ENSIP-15 tables takes half a second of CPU time.
 */
const PLAIN_NAME = /^[a-z\d]+(?:-[a-z\d]+)*(?:\.[a-z\d]+(?:-[a-z\d]+)*)*$/i

/**
 * Returns an ENS name in the ENSIP-15 form, which the registry stores. For example, `Alice.ETH` becomes `alice.eth`.
 *
 * @throws GdnError `usage` for a name that ENSIP-15 rejects, such as one that mixes scripts
 */
export function normalizeName(name: string, place: Place): string {
  const invalidNameError = (why: string, hint: string) => {
    const shownName = shorten(name, MAX_SHOWN_LENGTH)
    return new GdnError('usage', `${JSON.stringify(shownName)} is not a valid ENS name: ${why}`, { place, hint })
  }
  if (name.length > MAX_NAME_LENGTH)
    throw invalidNameError(`it has more than ${MAX_NAME_LENGTH} characters`, 'Use a shorter name, or the address.')
  if (PLAIN_NAME.test(name)) return name.toLowerCase()
  try {
    return normalize(name)
  } catch (error) {
    throw invalidNameError(
      normalizationReason(messageOf(error)),
      'Check the spelling, or use the address. Names with look-alike letters are rejected.',
    )
  }
}

/**
 * Returns the reason from an error message of the normalization, without the label and the invisible marks around it.
 */
function normalizationReason(message: string): string {
  const [, reason = message] = /^Invalid label .*?\u200e?: (.*)$/su.exec(message) ?? []
  return reason.replaceAll('\u200e', '')
}
