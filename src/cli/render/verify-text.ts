import { shorten } from '../../core/shorten.ts'
import type { Verification } from '../../verify/verify.ts'

/**
 * Describes the differences that a verification found, or the reason why the NFT couldn't be read. Returns null if the
 * NFT matches its request.
 */
export function verifyText(verification: Verification): string | null {
  if (verification.verified === true) return null
  if (verification.verified === null) return `can't be read: ${verification.reason}`
  return verification.differences
    .map(
      ({ what, expected, found }) =>
        `${what} is ${found === null ? 'missing' : shortenValue(found)}, not ${shortenValue(expected)}`,
    )
    .join('; ')
}

const MAX_SHOWN_CHARACTERS = 200

const shortenValue = (text: string): string => shorten(text, MAX_SHOWN_CHARACTERS)
