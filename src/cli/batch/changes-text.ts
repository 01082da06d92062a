import type { ManifestChanges } from '../../batch/types.ts'
import { count } from '../../core/count.ts'
import { safe } from '../io/io.ts'

/** Returns the number of rows that differ from what the run read, such as `1 row added, 2 edited, 0 removed`. */
export const changesText = ({ added, changed, removed }: Pick<ManifestChanges, 'added' | 'changed' | 'removed'>) =>
  `${count(added, 'row')} added, ${changed} edited, ${removed} removed`

/** Describes a changed row: `edited: dawn (line 4)`. */
export const exampleText = ({ kind, key, line }: ManifestChanges['examples'][number]): string =>
  `${kind === 'changed' ? 'edited' : kind}: ${safe(key)} (line ${line})`
