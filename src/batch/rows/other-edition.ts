import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { SecondEdition } from '../types.ts'

/** The file that `gdn art generate` writes beside the manifest. */
const EDITION_FILE = 'edition.json'

/** Minimum number of edited rows that indicates another edition. Fewer rows are edits by hand. */
const MIN_EDITED = 3

/** Returns whether at least half of the sent rows have other content, which happens if an edition is drawn again. */
export const seemsOtherEdition = ({ edited, sent }: { edited: number; sent: number }): boolean =>
  edited >= MIN_EDITED && edited * 2 >= sent

/** Returns whether `gdn art generate` made a manifest. */
export const isInEdition = async (manifest: string): Promise<boolean> =>
  (await stat(join(dirname(manifest), EDITION_FILE)).catch(() => null))?.isFile() === true

/** Describes the rows of a second edition, as a sentence without a full stop. */
export const secondEditionText = ({ run, rows }: SecondEdition): string =>
  `${rows} rows have the IDs and titles of rows that the run ${run} minted in this collection, but other content: this manifest may be another edition, and these rows would be minted a second time`
