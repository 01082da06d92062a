import * as z from 'zod'

export const MAX_REFERENCE_ID_LENGTH = 200

/**
 * A client's own name for an operation, which the server stores permanently: printable ASCII without spaces. Extension
 * of gdn's backend.
 */
export const referenceId = z.string().regex(new RegExp(`^[!-~]{1,${MAX_REFERENCE_ID_LENGTH}}$`), {
  error: `must have 1 to ${MAX_REFERENCE_ID_LENGTH} characters of printable ASCII without spaces`,
})

/** A reference ID for each NFT of a request. A single one becomes a list, as with `metadata`. */
export const referenceIds = z
  .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(referenceId))
  .optional()

/** An object-level check that a request has as many reference IDs as NFTs, or none. */
export function checkReferenceIds(
  context: z.core.ParsePayload<{ metadata: readonly unknown[]; reference_ids?: readonly string[] | undefined }>,
): void {
  const { metadata, reference_ids: ids } = context.value
  if (ids === undefined || ids.length === metadata.length) return
  const message = `must have one entry for each of the ${metadata.length} NFTs, but has ${ids.length}`
  context.issues.push({ code: 'custom', path: ['reference_ids'], message, input: ids })
}

/** The fields of a response about an operation that had a reference ID. */
export const referenceFields = {
  reference_id: referenceId.optional(),
  /** False: it existed before this request. */
  created: z.boolean().optional(),
}
