import { shorten } from './shorten.ts'

const MAX_QUOTED_LENGTH = 60

/** Returns a user's text for use in a message, or `(hidden)` if it may be a private key. */
export const hidePrivateKey = (text: string): string => (/^(?:0x)?[0-9a-f]{64}$/i.test(text) ? '(hidden)' : text)

/** Returns the beginning of a user's text in quotes, for a message. Text that may be a private key is hidden. */
export function quoted(text: string): string {
  return JSON.stringify(shorten(hidePrivateKey(text), MAX_QUOTED_LENGTH))
}
