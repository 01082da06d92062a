import { createReadStream } from 'node:fs'
import { openCsv } from '../../manifest/csv.ts'
import { countMinted, numberedRows } from '../../state/claims.ts'
import { type Drop, isListDrop, isUnrevealed, listDrops } from '../../state/drops.ts'
import type { RowLocation } from '../../state/rows.ts'
import { isInEdition, seemsOtherEdition } from '../rows/other-edition.ts'
import { splitRowText } from '../rows/row-text.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { SecondEdition } from '../types.ts'
import { isAnotherDrop } from './claim.ts'

/** Number of rows that are read at a time. */
const PAGE_SIZE = 1_000
/** Index of the title in a stored text that is split into its parts. */
const TITLE = 2

/**
 * Returns the run whose rows a new run seems to mint as another edition, or null if there is none. `refuseClaimedRows`
 * permits rows with the IDs of another drop if their content differs. Unrelated drops often have the IDs 1, 2 and 3.
 * Therefore, rows with the same ID count only if they also have the same title. In addition, the title must contain the
 * ID, or `gdn art generate` must have created both manifests. At least half of the rows of either run must count.
 *
 * @param pending positions of the rows that the new run would send
 */
export async function findSecondEdition(
  run: StoredRun,
  rows: RowLocation,
  pending: Iterable<number>,
): Promise<SecondEdition | null> {
  const { drop } = run
  if (drop.setId !== null || drop.again || isListDrop(drop)) return null
  const otherDrops = await run.read((sql) => {
    const collections = new Set(run.collections(sql))
    return listDrops(sql).filter((other) => collections.has(other.collectionId) && isAnotherDrop(drop, other))
  })
  if (otherDrops.length === 0) return null
  const positionsToSend = new Set(pending)
  const isGenerated = await isGeneratedManifest(drop)
  const titles = await createTitleLookup(drop, isGenerated)
  for (const other of otherDrops) {
    const areBothGenerated = isGenerated && (await isGeneratedManifest(other))
    const otherTitles = await createTitleLookup(other, areBothGenerated)
    let count = 0
    for (let after = -1; ; ) {
      const page = await run.read((sql) => numberedRows(sql, other, rows, { after, limit: PAGE_SIZE }))
      for (const { position, key, body, otherBody } of page) {
        const id = key.slice('id:'.length)
        const title = titles(id, body)
        if (!positionsToSend.has(position) || title === undefined || title !== otherTitles(id, otherBody)) continue
        if (areBothGenerated || hasNumber(title, id)) count++
      }
      const last = page.at(-1)
      if (last === undefined) break
      after = last.position
    }
    const mintedCount = await run.read((sql) => countMinted(sql, other))
    if (seemsOtherEdition({ edited: count, sent: Math.min(mintedCount, positionsToSend.size) }))
      return { run: other.name, rows: count }
  }
  return null
}

/** Returns whether a title contains an ID as a whole number: `Harbor #7` contains 7, and `Harbor #70` doesn't. */
const hasNumber = (title: string, id: string): boolean => title.split(/\D+/).includes(id)

const isGeneratedManifest = async ({ manifest }: Drop): Promise<boolean> =>
  manifest !== null && (await isInEdition(manifest))

type FindTitle = (id: string, body: Uint8Array) => string | undefined

/**
 * Returns a function that looks up the title of a row. The stored rows of an unrevealed drop have the placeholder's
 * title. For such a drop, the titles come from the manifest if `gdn art generate` created it. Otherwise, they are
 * unknown.
 */
async function createTitleLookup(drop: Drop, isGenerated: boolean): Promise<FindTitle> {
  if (!isUnrevealed(drop)) return (_id, body) => splitRowText(body)[TITLE]
  const titles = isGenerated && drop.manifest !== null ? await readTitlesById(drop.manifest) : new Map<string, string>()
  return (id) => titles.get(id)
}

/** Returns the titles in a manifest by ID, or an empty map if the manifest can't be read. */
async function readTitlesById(path: string): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>()
  try {
    const { header, blocks } = await openCsv(createReadStream(path, 'utf8'), path, () => true)
    const [id, title] = [header.names.indexOf('id'), header.names.indexOf('title')]
    for await (const block of blocks()) {
      for (const record of block) if ('cells' in record) titles.set(record.cells[id] ?? '', record.cells[title] ?? '')
    }
    return titles
  } catch {
    return new Map()
  }
}
