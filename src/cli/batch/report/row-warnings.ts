import { secondEditionText, seemsOtherEdition } from '../../../batch/rows/other-edition.ts'
import type { DuplicateRow, Duplicates, PlannedEvent } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ManifestIssue } from '../../../manifest/row.ts'
import type { Deps } from '../../deps.ts'
import { printWarning } from '../check-files.ts'

const MAX_SHOWN_DUPLICATES = 10
const NO_DUPLICATES: Duplicates = { count: 0, rows: [] }

const toDuplicateWarning = (file = 'manifest', { line, equals }: DuplicateRow): ManifestIssue => ({
  place: { file, line },
  message: `is identical to line ${equals}`,
})

/** Returns a warning for each listed duplicate row, and one warning that counts the others. */
export function duplicateWarnings(file: string, { count: all, rows }: Duplicates = NO_DUPLICATES): ManifestIssue[] {
  const warnings = rows.map((row) => toDuplicateWarning(file, row))
  const unlisted = all - rows.length
  const last = {
    place: { file },
    message: `${count(unlisted, 'more row')} ${unlisted === 1 ? 'is' : 'are'} identical to an earlier row`,
  }
  return unlisted > 0 ? [...warnings, last] : warnings
}

const MAX_BRIEF = 3

/** Prints the first warnings of a planned manifest, without their hints. */
export function printWarningsBriefly({ io }: Pick<Deps, 'io'>, warnings: readonly ManifestIssue[]): void {
  if (io.settings.quiet) return
  for (const warning of warnings.slice(0, MAX_BRIEF)) printWarning(io, warning)
  const unlisted = warnings.length - MAX_BRIEF
  if (unlisted > 0) io.warn(`  … and ${count(unlisted, 'more warning')}; \`gdn batch validate\` lists them`)
}

/**
 * Refuses identical rows if gdn can't prompt.
 *
 * @throws GdnError `not_confirmed`
 */
export function refuseDuplicates(
  { io }: Pick<Deps, 'io'>,
  allowed: boolean | undefined,
  { count: all, rows }: Duplicates = NO_DUPLICATES,
  file?: string,
): void {
  const [first] = rows
  if (first === undefined || allowed || io.isInteractive) return
  const { place, message } = toDuplicateWarning(file, first)
  throw new GdnError('not_confirmed', message + (all > 1 ? ` (and ${all - 1} more)` : ''), {
    place,
    hint: 'Nothing was sent. Remove the identical rows. To mint an NFT for each of them, add --allow-duplicates.',
    details: { duplicates: rows, count: all },
  })
}

/**
 * Lists identical rows and prompts before they are minted. Without a terminal, only --allow-duplicates permits them.
 *
 * @throws GdnError `not_confirmed`
 */
export async function confirmDuplicates(
  { io }: Pick<Deps, 'io'>,
  allowed: boolean | undefined,
  duplicates: Duplicates = NO_DUPLICATES,
  file?: string,
): Promise<void> {
  const { count: all } = duplicates
  if (all === 0) return
  refuseDuplicates({ io }, allowed, duplicates, file)
  printDuplicates({ io }, duplicates, file)
  if (allowed) return
  const [first] = duplicates.rows
  // With --json or --quiet, the rows weren't printed.
  const isHidden = io.settings.machine || io.settings.quiet
  const which = isHidden && first !== undefined ? `Line ${first.line} is identical to line ${first.equals}. ` : ''
  const question = `${which}If you answer no, nothing is sent. Mint ${all === 1 ? 'a second NFT for this row' : `another NFT for each of these ${all} rows`}?`
  const row = all === 1 && first !== undefined ? `Remove line ${first.line}` : 'Remove the identical rows'
  await io.confirm(question, '--allow-duplicates', {
    hint: `${row}, or give each row a unique ID. Then run the same command again.`,
  })
}

export function printDuplicates({ io }: Pick<Deps, 'io'>, { count: all, rows }: Duplicates, file?: string): void {
  for (const row of rows.slice(0, MAX_SHOWN_DUPLICATES)) printWarning(io, toDuplicateWarning(file, row))
  if (all > MAX_SHOWN_DUPLICATES) io.warn(`  … and ${count(all - MAX_SHOWN_DUPLICATES, 'more identical row')}`)
}

/**
 * Returns a warning if at least half of the sent rows have different content in the manifest, and the run would send
 * more rows. This happens if an edition is generated again, or if another run has minted these rows. Returns null for
 * any other plan.
 */
export function otherEditionText({ rows, changes, secondEdition }: PlannedEvent): string | null {
  if (secondEdition) return `${secondEditionText(secondEdition)}.`
  const sentRows = rows.accepted + rows.deployed + rows.unknown
  const edited = changes.keptAccepted
  if (rows.pending === 0 || !seemsOtherEdition({ edited, sent: sentRows })) return null
  return `${edited} of the ${sentRows} rows that were sent ${edited === 1 ? 'has' : 'have'} different content in this manifest, so the unsent rows may belong to another edition. \`gdn plan <manifest>\` shows the differences.`
}

/**
 * Asks the user to confirm a manifest in which most of the sent rows have different content.
 *
 * @param text the reason; null if no confirmation is needed
 * @param effect what happens next, such as `Mint the other 10 rows`
 * @throws GdnError `not_confirmed`
 */
export async function confirmOtherEdition(
  { io }: Pick<Deps, 'io'>,
  yes: boolean | undefined,
  { text, effect }: { text: string | null; effect: string },
): Promise<void> {
  if (text === null) return
  if (yes) return io.warn(text)
  await io.confirm(`${text} ${effect}?`, '--yes', { hint: ORIGINAL_MANIFEST_HINT })
}

/** The hint for a drop whose manifest may have been replaced by another edition. */
export const ORIGINAL_MANIFEST_HINT = 'To continue the drop, use the manifest that it began with.'
