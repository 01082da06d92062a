import { redactText } from './redact.ts'
import { hidesSecret, REDACTED } from './secret.ts'

const MAX_LENGTH = 200

/** Returns text as it is, and anything else as JSON: a server may send an object that has no text of its own. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/**
 * Returns the beginning of a server's text on one line, without secrets and control characters, for a message. A text
 * that hides a secret of this process is redacted as a whole.
 */
export function excerpt(text: string): string {
  const clean = redactText(text)
  if (hidesSecret(clean)) return REDACTED
  const line = clean.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH).toWellFormed()}…` : line
}
