import { redactText } from './redact.ts'
import { containsDisguisedSecret, REDACTED } from './secret.ts'
import { shorten } from './shorten.ts'

const MAX_EXCERPT_LENGTH = 200

/** Returns a string unchanged, and any other value as JSON, because a server may send an object instead of a string. */
export const textOrJson = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')

/**
 * Returns the beginning of a server's text for a message, on one line and without secrets and control characters. If
 * the text contains a secret of this process in a disguised form, the whole text is redacted.
 */
export function excerpt(text: string): string {
  const clean = redactText(text)
  if (containsDisguisedSecret(clean)) return REDACTED
  return shorten(clean.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim(), MAX_EXCERPT_LENGTH)
}
