import * as z from 'zod'
import { type Blockchain, isEvm } from './blockchains.ts'

export const MIN_RECEIVER_NAME_BYTES = 3
export const MAX_RECEIVER_NAME_BYTES = 255

/**
 * Matches control characters, white space, marks that change the direction of text, and "/". Normalized names don't
 * contain them.
 */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Bidi_Control}\s/]/u

/**
 * Returns why a text can't be a normalized ENS name; null if it can. Checks only the form, because the server doesn't
 * query ENS.
 */
export function receiverNameProblem(name: string): string | null {
  if (!name.isWellFormed()) return 'has an unpaired surrogate, which is not a valid character'
  const bytes = Buffer.byteLength(name)
  if (bytes < MIN_RECEIVER_NAME_BYTES || bytes > MAX_RECEIVER_NAME_BYTES)
    return `must be ${MIN_RECEIVER_NAME_BYTES} to ${MAX_RECEIVER_NAME_BYTES} bytes long in UTF-8`
  if (FORBIDDEN_CHARACTERS.test(name)) return 'has a control character, whitespace or a slash'
  return name.includes('.') ? null : 'must be an ENS name with a dot, such as alice.eth'
}

/** The normalized ENS name of the receiver's address. Extension of gdn backends. */
const receiverNameSchema = z
  .string()
  .check((context) => {
    const message = receiverNameProblem(context.value)
    if (message !== null) context.issues.push({ code: 'custom', message, input: context.value })
  })
  .meta({ minLength: 2, maxLength: MAX_RECEIVER_NAME_BYTES })

/** The field for the receiver's name, for requests that have a receiver. */
export const receiverNameFields = { receiver_name: receiverNameSchema.optional() }

/** Checks that a request with a receiver name is for an EVM blockchain. */
export function checkReceiverName({
  value: { blockchain, receiver_name },
  issues,
}: z.core.ParsePayload<{ blockchain?: Blockchain | undefined; receiver_name?: string | undefined }>): void {
  if (receiver_name === undefined || blockchain === undefined || isEvm(blockchain)) return
  issues.push({
    code: 'custom',
    path: ['receiver_name'],
    message: 'is unsupported on Solana: only addresses on EVM blockchains have ENS names',
    input: receiver_name,
  })
}
