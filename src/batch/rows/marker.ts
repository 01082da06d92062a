import { hash } from 'node:crypto'
import { countMetadataItems, extraKeys, MAX_METADATA_ITEMS, nftMetadataSchema } from '../../api/metadata.ts'
import { GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Drop } from '../../state/drops.ts'
import type { Items } from '../types.ts'
import type { RowKey } from './row-key.ts'

const MARKER_DIGITS = 24

/**
 * Returns the marker of a row: a text that is unique in the drop, is the same in every command, and identifies the NFT.
 * Returns null if the run has no markers.
 */
export type MarkerFactory = (key: RowKey) => { key: string; value: string } | null

export function createMarkerFactory({
  marker,
  family,
  generation,
}: Pick<Drop, 'marker' | 'family' | 'generation'>): MarkerFactory {
  if (marker === null) return () => null
  return (key) => ({
    key: marker,
    value: hash('sha256', JSON.stringify([family, generation, key]), 'hex').slice(0, MARKER_DIGITS),
  })
}

/**
 * Checks a marker's key.
 *
 * @throws GdnError `usage` if metadata can't have this key
 */
export function checkMarkerKey(key: string | undefined): void {
  if (key === undefined) return
  const parsed = nftMetadataSchema.safeParse({ title: 'x', description: '', file_fields: [], [key]: 'x' })
  if (parsed.success && extraKeys(parsed.data).includes(key)) return
  const problem = parsed.error?.issues[0]?.message ?? 'is a reserved key'
  throw new GdnError('usage', `the marker key ${quoted(key)} ${problem}`, { place: { flag: '--marker-key' } })
}

/**
 * Yields the rows of a manifest. Reports a problem for each row that already uses the marker's key or has no room for
 * the marker.
 */
export function checkMarkerRoom(items: Items, marker: string | undefined): Items {
  return marker === undefined ? items : checkMarkers(items, marker)
}

async function* checkMarkers(items: Items, marker: string): AsyncGenerator<ManifestItem> {
  for await (const item of items) yield ('row' in item ? markerFault(item.row, marker) : null) ?? item
}

function markerFault({ line, metadata }: ManifestRow, marker: string): ManifestItem | null {
  const field = `extra:${marker}`
  if (Object.hasOwn(metadata, marker) || metadata.file_fields.some(({ key }) => key === marker)) {
    const message = `${JSON.stringify(marker)} is the marker key, but the manifest already uses it`
    return {
      issue: {
        place: { line, field },
        message,
        hint: 'Rename the key in the manifest, or run `gdn batch mint` with another --marker-key.',
      },
    }
  }
  const items = countMetadataItems(metadata)
  if (items < MAX_METADATA_ITEMS) return null
  const message = `has ${items} metadata items, which leaves no room for the marker: at most ${MAX_METADATA_ITEMS} are allowed`
  return {
    issue: { place: { line, field }, message, hint: 'Remove an item, or run `gdn batch mint` without --marker-key.' },
  }
}
