import { GdnError } from '../../core/errors.ts'
import type { ContentBlock } from '../../ipfs/block.ts'
import { matchesCid, parseCid } from '../../ipfs/cid.ts'
import { openDatabase } from '../open-database.ts'
import type { DatabasePlace } from '../settings/database.ts'
import { loadServerSettings } from '../settings/settings.ts'
import { putBlocks } from '../store/block-table.ts'
import type { Store } from '../store/open-store.ts'
import { toldOfDatabase } from '../store/postgres/gone.ts'
import { addPublications } from '../store/publications.ts'
import type { PublishTarget } from '../store/schema.ts'

const BYTES_AT_ONCE = 4 * 2 ** 20
const ROOTS_AT_ONCE = 500

export interface RestoreOptions {
  blocks: AsyncIterable<ContentBlock>
  /** The CIDs of complete files and directories. */
  roots: AsyncIterable<string>
}

/**
 * Stores blocks in the database of a backend, which may be running, and publishes what they belong to as its
 * configuration says. Creates the database if there is none. Blocks that the backend has stay unchanged. Checks each
 * block against its CID.
 */
export async function restoreBlocks(place: DatabasePlace, options: RestoreOptions): Promise<{ publishes: boolean }> {
  const { storage, pinning } = await loadServerSettings(place.dataDir, place.settingsFile)
  const target = storage.kind === 'ipfs' ? 'node' : pinning === null ? null : 'pins'
  const store = await openDatabase(place, { make: true })
  try {
    await putAll(store, options.blocks)
    if (target !== null) await publishAll(store, target, options.roots)
    return { publishes: target !== null }
  } catch (error) {
    throw toldOfDatabase(error)
  } finally {
    await store.close()
  }
}

async function putAll(store: Store, blocks: RestoreOptions['blocks']): Promise<void> {
  let waiting: ContentBlock[] = []
  let bytes = 0
  const flush = async () => {
    await store.transaction((db) => putBlocks(db, waiting))
    waiting = []
    bytes = 0
  }
  for await (const block of blocks) {
    const cid = parseCid(block.cid)
    if (cid === null || !matchesCid(cid, block.bytes)) {
      throw new GdnError('invalid_input', `block ${block.cid} changed while it was read`)
    }
    waiting.push(block)
    bytes += block.bytes.length
    if (bytes >= BYTES_AT_ONCE) await flush()
  }
  await flush()
}

async function publishAll(store: Store, target: PublishTarget, cids: RestoreOptions['roots']): Promise<void> {
  const roots = new Set<string>()
  const publish = async () => {
    await store.transaction((db) => addPublications(db, target, [...roots]))
    roots.clear()
  }
  for await (const root of cids) {
    roots.add(root)
    if (roots.size >= ROOTS_AT_ONCE) await publish()
  }
  await publish()
}
