const MAX_LENGTH = 60

/** Replaces a user's text that may be a private key, for a message. */
export const withoutKey = (text: string): string => (/^(?:0x)?[0-9a-f]{64}$/i.test(text) ? '(hidden)' : text)

/** Returns the beginning of a user's text in quotes, for a message. Never returns what may be a private key. */
export function quoted(text: string): string {
  const shown = withoutKey(text)
  return JSON.stringify(shown.length > MAX_LENGTH ? `${shown.slice(0, MAX_LENGTH)}…` : shown)
}
