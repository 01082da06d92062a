import * as z from 'zod'
import { textProblem } from './text.ts'

export const MAX_REFERENCE_ID_LENGTH = 200

/**
 * An ID that a client chose for an operation, in printable ASCII without spaces. The server stores the ID permanently.
 * Extension of gdn backends.
 */
export const referenceIdSchema = z.string().regex(new RegExp(`^[!-~]{1,${MAX_REFERENCE_ID_LENGTH}}$`), {
  error: `must have 1 to ${MAX_REFERENCE_ID_LENGTH} printable ASCII characters, without spaces`,
})

/** A reference ID for each NFT of a request. A single ID becomes a list, as with `metadata`. */
export const referenceIdsSchema = z
  .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(referenceIdSchema))
  .optional()

export const MAX_REFERENCE_LABEL_LENGTH = 500

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** Returns why a text can't be a label of reference IDs; null if it can. */
export function labelProblem(label: string): string | null {
  if (label === '') return 'must not be empty'
  if (label.length > MAX_REFERENCE_LABEL_LENGTH) return `must have at most ${MAX_REFERENCE_LABEL_LENGTH} characters`
  return UNPRINTABLE.test(label) ? 'has a control character' : textProblem(label)
}

/**
 * The drop to which a request's reference IDs belong, such as the path of a manifest. If the IDs already have another
 * label, the server rejects the request. Extension of gdn backends.
 */
export const referenceLabelSchema = z
  .string()
  .check((context) => {
    const message = labelProblem(context.value)
    if (message !== null) context.issues.push({ code: 'custom', message, input: context.value })
  })
  .meta({ minLength: 1, maxLength: MAX_REFERENCE_LABEL_LENGTH })

/** The source of a reference ID: the row's ID or the row's content. */
export const referenceKindSchema = z.enum(['id', 'content'])
export type ReferenceKind = z.output<typeof referenceKindSchema>

/** A kind for each reference ID of a request. A single kind becomes a list, as with `reference_ids`. */
const referenceKindsSchema = z
  .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(referenceKindSchema))
  .optional()

/** The fields with which a request identifies the NFTs that it creates. */
export const referenceRequestFields = {
  reference_ids: referenceIdsSchema,
  reference_label: referenceLabelSchema.optional(),
  reference_kinds: referenceKindsSchema,
}

interface ReferencedNfts {
  metadata: readonly unknown[]
  reference_ids?: readonly string[] | undefined
  reference_label?: string | undefined
  reference_kinds?: readonly string[] | undefined
}

/**
 * Checks that the reference IDs and the kinds of a request have one entry for each NFT. Both are optional, but a label
 * or kinds need reference IDs.
 */
export function checkReferenceIds(context: z.core.ParsePayload<ReferencedNfts>): void {
  const { metadata, reference_ids: ids, reference_label: label, reference_kinds: kinds } = context.value
  const add = (path: string, message: string, input: unknown) =>
    context.issues.push({ code: 'custom', path: [path], message, input })
  for (const [path, list] of Object.entries({ reference_ids: ids, reference_kinds: kinds })) {
    if (list === undefined || list.length === metadata.length) continue
    add(path, `must have one entry for each of the ${metadata.length} NFTs, but has ${list.length}`, list)
  }
  if (ids !== undefined) return
  if (label !== undefined) add('reference_label', 'needs reference_ids', label)
  if (kinds !== undefined) add('reference_kinds', 'needs reference_ids', kinds)
}

/** The response fields of an operation that has a reference ID. */
export const referenceResponseFields = {
  reference_id: referenceIdSchema.optional(),
  /** Whether this request created the object. False if the object already existed. */
  created: z.boolean().optional(),
}
