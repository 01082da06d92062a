import type { ManifestChanges } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { safe } from '../../io/io.ts'

type ChangedCounts = Pick<ManifestChanges, 'added' | 'changed' | 'removed' | 'receivers'>

/**
 * Describes the differences between the manifest and the rows of the run, such as `1 row added, 2 edited, 0 removed`.
 * For a list of receivers, the text counts the receivers, and also the NFTs if their number differs.
 */
export function changesText({ added, changed, removed, receivers }: ChangedCounts): string {
  if (receivers === undefined) return `${count(added, 'row')} added, ${changed} edited, ${removed} removed`
  const isOne = receivers.added === 1
  const text = `${count(receivers.added, 'receiver')} ${isOne ? 'is' : 'are'} new, ${receivers.removed} ${receivers.removed === 1 ? 'is' : 'are'} no longer in the list`
  if (receivers.added === added && receivers.removed === removed) return text
  return `${text} (${count(added, 'NFT')} added, ${removed} removed)`
}

/** Describes a changed row, such as `edited: dawn (line 4)`. */
export const exampleText = ({ kind, key, line }: ManifestChanges['examples'][number]): string =>
  `${kind === 'changed' ? 'edited' : kind}: ${safe(key)} (line ${line})`
