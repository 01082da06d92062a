import { GdnError } from '../../core/errors.ts'
import { type ContentBlock, matchesCid, parseCid } from '../../ipfs/cid.ts'
import { openDatabase } from '../open-database.ts'
import type { DatabaseLocation } from '../settings/database.ts'
import { loadServerSettings } from '../settings/settings.ts'
import type { ServerSettings } from '../settings/types.ts'
import { repairBlocks } from '../store/block-table.ts'
import type { Store } from '../store/open-store.ts'
import { toDatabaseError } from '../store/postgres/gone.ts'
import { addPublications } from '../store/publications.ts'
import type { PublishTarget } from '../store/schema.ts'

const BYTES_PER_BATCH = 4 * 2 ** 20
const ROOTS_PER_BATCH = 500

export interface RestoreOptions {
  blocks: AsyncIterable<ContentBlock>
  /** The CIDs of complete files and directories. */
  roots: AsyncIterable<string>
}

/**
 * Stores blocks in the database of a backend, which may be running. Publishes the files and directories that the blocks
 * form, as the backend's configuration specifies. Creates the database if there is none. Checks each block against its
 * CID, and replaces stored blocks that don't match their CIDs. A complete file in the database is served instead of a
 * damaged copy in the file storage.
 */
export async function restoreBlocks(place: DatabaseLocation, options: RestoreOptions): Promise<{ publishes: boolean }> {
  const settings = await loadServerSettings(place.dataDir, place.settingsFile)
  const target = settings.storage.kind === 'ipfs' ? 'node' : settings.pinning === null ? null : 'pins'
  const store = await openDatabase(place, { createIfMissing: true })
  try {
    await storeBlocks(store, options.blocks)
    if (target !== null) {
      const root = await queuePublications(store, target, options.roots)
      if (root !== null) await checkTargets(settings, root)
    }
    return { publishes: target !== null }
  } catch (error) {
    throw toDatabaseError(error)
  } finally {
    await store.close()
  }
}

async function storeBlocks(store: Store, blocks: RestoreOptions['blocks']): Promise<void> {
  let batch: ContentBlock[] = []
  let bytes = 0
  const flush = async () => {
    await store.transaction((db) => repairBlocks(db, batch))
    batch = []
    bytes = 0
  }
  for await (const block of blocks) {
    const cid = parseCid(block.cid)
    if (cid === null || !matchesCid(cid, block.bytes)) {
      throw new GdnError('invalid_input', `block ${block.cid} changed while it was read`)
    }
    batch.push(block)
    bytes += block.bytes.length
    if (bytes >= BYTES_PER_BATCH) await flush()
  }
  await flush()
}

/** Queues complete files and directories for publication. Returns one of the CIDs; null if there are none. */
async function queuePublications(
  store: Store,
  target: PublishTarget,
  cids: RestoreOptions['roots'],
): Promise<string | null> {
  let last: string | null = null
  const roots = new Set<string>()
  const publish = async () => {
    await store.transaction((db) => addPublications(db, target, [...roots]))
    roots.clear()
  }
  for await (const root of cids) {
    roots.add(root)
    last = root
    if (roots.size >= ROOTS_PER_BATCH) await publish()
  }
  await publish()
  return last
}

/**
 * Queries the IPFS node and the pinning service once, so that a wrong configuration is reported now. The backend
 * publishes the content, and retries until it succeeds.
 */
async function checkTargets(
  { storage, pinning }: Pick<ServerSettings, 'storage' | 'pinning'>,
  root: string,
): Promise<void> {
  const { openPinning, openRemoteFiles } = await import('../storage/remote/open-remote.ts')
  const { env } = process
  const surroundings = { credentialsDirectory: env.CREDENTIALS_DIRECTORY, env, userAgent: 'gdn', now: Date.now }
  // The credential may be readable only by the service that runs the backend.
  const hasCredential = pinning?.token_credential !== undefined
  try {
    if (storage.kind === 'ipfs' && storage.auth_credential === undefined) {
      const node = await openRemoteFiles(storage, surroundings)
      await node?.check().finally(() => node.close())
    }
    const service = hasCredential ? null : openPinning(pinning, surroundings)
    await service?.find(root).finally(() => service.close())
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    const fix = error.hint === undefined ? 'Fix this problem.' : error.hint
    throw error.with({
      hint: `${fix} All blocks are stored, and the backend publishes them after you fix the problem.`,
    })
  }
}
