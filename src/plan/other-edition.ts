import { isFileField } from '../batch/rows/field-changes.ts'
import { isInEdition, seemsOtherEdition } from '../batch/rows/other-edition.ts'
import type { NftChange } from './compare.ts'

/** Returns whether a change replaces an NFT's content with that of its row. Doesn't count changes of files alone. */
export const isEdit = ({ want, action, fields }: NftChange): boolean =>
  want === 'update' && action !== 'drift' && fields.some(({ field }) => !isFileField(field))

/**
 * Returns a note if most minted rows have other content, and either some rows are new or `gdn art generate` created the
 * manifest. Returns null for any other plan.
 *
 * @param rows the numbers of minted rows, edited rows and rows that were never sent
 */
export async function noteOfOtherEdition(
  { sent, edited, added }: { sent: number; edited: number; added: number },
  manifest: string | null,
): Promise<string | null> {
  if (!seemsOtherEdition({ edited, sent })) return null
  if (added === 0 && !(manifest !== null && (await isInEdition(manifest)))) return null
  return `${edited} of the ${sent} minted rows have different content: this manifest may belong to another edition`
}
