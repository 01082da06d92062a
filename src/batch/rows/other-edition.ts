import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { EDITION_FILE } from '../../manifest/edition-files.ts'
import type { SecondEdition } from '../types.ts'

/** Minimum number of edited rows that indicates another edition. Fewer edited rows are assumed to be manual edits. */
const MIN_EDITED = 3

/** Returns whether at least half of the sent rows have different content, as after an edition is generated again. */
export const seemsOtherEdition = ({ edited, sent }: { edited: number; sent: number }): boolean =>
  edited >= MIN_EDITED && edited * 2 >= sent

/** Returns whether `gdn art generate` created a manifest. */
export const isInEdition = async (manifest: string): Promise<boolean> =>
  (await stat(join(dirname(manifest), EDITION_FILE)).catch(() => null))?.isFile() === true

/** Describes the rows of a second edition in a sentence without a full stop. */
export const secondEditionText = ({ run, rows }: SecondEdition): string =>
  `${rows} rows have the IDs and titles of rows that the run ${run} minted, but different content: this manifest may be another edition, and the rows would be minted again`
