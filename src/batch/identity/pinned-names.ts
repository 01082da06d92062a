import { GdnError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { type Drop, isListDrop } from '../../state/drops.ts'
import { pinnedNames, renamedInList, renamedReceivers } from '../../state/pinned-names.ts'
import type { RowLocation } from '../../state/rows.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { formatKey } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchOptions } from '../types.ts'

type EnsAddresses = ReadonlyMap<string, string>

/** Passes the stored addresses of a run's ENS names to the manifest reader, and returns them. */
export async function pinStoredNames(
  run: StoredRun,
  { ensNames }: Pick<BatchOptions, 'ensNames'>,
): Promise<EnsAddresses> {
  const pinned = await run.read((sql) => pinnedNames(sql, run.id))
  ensNames?.pin(pinned)
  return pinned
}

/**
 * Returns the path of a run's list of receivers, or null if the run has no list or read the list from standard input.
 */
const listPath = ({ reading: { list } }: Drop): string | null =>
  isObject(list) && typeof list.path === 'string' ? list.path : null

/**
 * Refuses new rows that differ from a sent row only in the name or address of the same receiver or sender. Such a row
 * would be minted a second time, because a row with an ENS name is identified by the name.
 *
 * @param names the addresses of the names in the manifest
 * @throws GdnError `edited_rows`
 */
export async function refuseRenamedReceivers(run: StoredRun, rows: RowLocation, names: EnsAddresses): Promise<void> {
  const { drop } = run
  const pinned = await run.read((sql) => pinnedNames(sql, run.id))
  if (pinned.size === 0 && names.size === 0) return
  const renamed = isListDrop(drop)
    ? (await run.read((sql) => renamedInList(sql, drop, rows, new Map([...pinned, ...names])))).map(
        ({ sentText, ...row }) => ({ ...row, was: sentText }),
      )
    : (await run.read((sql) => renamedReceivers(sql, drop, rows))).map(({ key, ...row }) => ({
        ...row,
        text: formatKey(key),
        was: null,
      }))
  const [first] = renamed
  if (first === undefined) return
  const { line, sentLine, text, was } = first
  const problem =
    was === null
      ? `the row differs from line ${sentLine}, which the run has sent, only in the ENS name or address that it uses for the same wallet`
      : `receiver ${JSON.stringify(text)} has the same address as ${JSON.stringify(was)} on line ${sentLine}, which the run has sent`
  const more = renamed.length > 1 ? ` (and ${renamed.length - 1} more)` : ''
  throw new GdnError('edited_rows', `${problem}${more}`, {
    place: { file: listPath(drop) ?? drop.manifest ?? undefined, line, field: 'receiver' },
    hint: 'Nothing was sent. Restore the receivers as they were sent. Otherwise, gdn would mint the row a second time.',
    details: {
      run: drop.name,
      rows: renamed.slice(0, MAX_LISTED_ROWS).map(({ line, sentLine }) => ({ line, sent_line: sentLine })),
      count: renamed.length,
    },
  })
}
