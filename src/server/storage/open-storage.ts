import { GdnError, messageOf } from '../../core/errors.ts'
import { sleep } from '../../core/time.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import type { Log } from '../log.ts'
import type { ServerSettings } from '../settings/types.ts'
import { type BlockTable, blockTable } from '../store/block-table.ts'
import type { Store } from '../store/open-store.ts'
import { addPublications } from '../store/publications.ts'
import type { PublishTarget } from '../store/schema.ts'
import { countFilesIn, createStoredFiles, movePlace, placesOfFiles } from '../store/stored-files.ts'
import { type FileStorage, StorageUnavailableError } from './adapter.ts'
import { createFileStorage } from './files.ts'
import type { FilesPlace } from './files-place.ts'
import type { RemoteSurroundings } from './remote/open-remote.ts'
import type { PinningService } from './remote/pinning-service.ts'
import type { NodeBlocks, RemoteFiles } from './remote/remote-files.ts'

export interface OpenStorageOptions extends RemoteSurroundings {
  settings: Pick<ServerSettings, 'storage' | 'pinning'>
  dataDir: string
  store: Store
  log: Log
}

/** Intervals in milliseconds between reachability checks while they fail and while they succeed. */
const ASK_AGAIN_MS = 2000
const ASK_NOW_AND_THEN_MS = 30_000
/** Timeout for the first check in milliseconds. Configuration errors are usually detected sooner. */
const FIRST_RESPONSE_WITHIN_MS = 5000
const DAY_MS = 24 * 3600_000
const SEND_AGAIN_MS = 60_000

/** The places where stored metadata is published: an IPFS node, a pinning service, or both in this order. */
export interface PublishPlaces {
  /** The first destination of stored metadata. */
  first: PublishTarget
  /** The table that contains the blocks to publish. */
  blocks: BlockTable
  node: NodeBlocks | null
  pinning: {
    service: PinningService
    /** Returns the multiaddresses from which the service can fetch content. */
    origins: () => Promise<readonly string[]>
  } | null
}

export interface OpenedStorage {
  files: FileStorage
  /**
   * Returns the problems that currently prevent storing, one sentence each. The checks are repeated, so a recovery is
   * detected.
   */
  problems(): string[]
  /** The places where stored metadata is published; null if it isn't published. */
  publishing: PublishPlaces | null
  /** Starts sending files from the data directory and aborting unfinished uploads. */
  startUpkeep(): void
  close(): Promise<void>
}

/**
 * Opens the configured storage. If the storage is unreachable, logs an error, and uses the storage when it is reachable
 * again.
 *
 * @throws GdnError if the configuration is wrong, or if files of the database are stored elsewhere
 */
export async function openStorage(options: OpenStorageOptions): Promise<OpenedStorage> {
  const { settings, dataDir, store, now, log, userAgent } = options
  const blocks = blockTable(store.db, store.transaction)
  const { kind } = settings.storage
  const { openPinning, openRemoteFiles } =
    kind === 'files' && settings.pinning === null ? NOTHING : await import('./remote/open-remote.ts')
  const remote = await openRemoteFiles(settings.storage, options)
  let pinning: PinningService | null = null
  let ownPlace: FilesPlace | null = null
  /** The problem that the last check found. */
  let refusal: string | null = null
  const close = async () => {
    await Promise.all([remote?.close(), pinning?.close()])
  }
  try {
    await refuseLostFiles(store, remote?.place ?? null, settings.storage)
    if (kind === 'files' && store.postgres !== null) ownPlace = await placeInDataDir(store, dataDir)
    pinning = openPinning(settings.pinning, { ...options, userAgent })
    await checkSoon(remote).catch((error) => {
      if (!(error instanceof StorageUnavailableError)) throw error
      refusal = messageOf(error)
      log.error({ error: messageOf(error) }, 'the file storage is unreachable, and work that needs it is delayed')
    })
  } catch (error) {
    await close()
    throw error
  }
  const nodeBlocks = remote?.nodeBlocks
  const origins = settings.pinning?.origins ?? []
  const pins = pinning && {
    service: pinning,
    origins: async () => (origins.length > 0 || nodeBlocks === undefined ? origins : await nodeBlocks.addresses()),
  }
  const afterNode = pins === null ? undefined : ('pins' as const)
  const publishTo = nodeBlocks === undefined ? afterNode : ('node' as const)

  const files = await createFileStorage({
    dataDir,
    blocks,
    alone: store.postgres === null,
    beforeLarge: ownPlace?.claim,
    remote:
      remote === null
        ? undefined
        : { files: remote, stored: createStoredFiles(store.db, store.transaction, remote.place) },
    onAdded: async (cid, where) => {
      // Don't publish a larger file to the node again, because the node already has it.
      const target = where === 'files' ? afterNode : publishTo
      if (target !== undefined) await store.transaction((db) => addPublications(db, target, [cid]))
    },
  }).catch(async (error: unknown) => {
    await close()
    throw error
  })

  let askedAt = now()
  const askWhetherThere = async () => {
    askedAt = now()
    refusal = await (remote?.check() ?? Promise.resolve()).then(
      () => null,
      (error: unknown) => messageOf(error),
    )
  }

  const tidy = () => {
    remote?.tidy?.end(new Date(now() - DAY_MS)).then(
      (ended) => {
        if (ended !== null && ended > 0) log.info({ ended }, 'unfinished uploads were aborted')
      },
      (error) => log.warn({ error: messageOf(error) }, 'unfinished uploads could not be listed'),
    )
  }
  let tidying: NodeJS.Timeout | undefined
  const closing = new AbortController()
  /**
   * Sends local files to the remote storage. Other processes of this database can read files only if they are in a
   * place that all processes can access.
   */
  const sendLocal = async () => {
    if (remote === null || store.postgres === null) return
    const { sendLocalFiles } = await import('./remote/send-local.ts')
    const stored = createStoredFiles(store.db, store.transaction, remote.place)
    while (!closing.signal.aborted) {
      try {
        const sent = await sendLocalFiles({ dataDir, remote, stored, signal: closing.signal })
        if (sent > 0) log.info({ sent }, `uploaded files of the data directory to ${remote.name}`)
        return
      } catch (error) {
        if (closing.signal.aborted) return
        log.warn(
          { error: messageOf(error) },
          `could not upload files of the data directory to ${remote.name}; gdn will retry`,
        )
        await sleep(SEND_AGAIN_MS, closing.signal).catch(() => {})
      }
    }
  }
  let sending = Promise.resolve()

  return {
    files,
    publishing: publishTo === undefined ? null : { first: publishTo, blocks, node: nodeBlocks ?? null, pinning: pins },
    problems() {
      const misplaced = ownPlace?.problem() ?? null
      if (misplaced !== null) return [misplaced]
      if (remote === null) return []
      const problem = remote.problem() ?? refusal
      const age = now() - askedAt
      if (age < 0 || age > (problem === null ? ASK_NOW_AND_THEN_MS : ASK_AGAIN_MS)) void askWhetherThere()
      return problem === null ? [] : [problem]
    },

    startUpkeep() {
      sending = sendLocal()
      tidy()
      tidying = setInterval(tidy, DAY_MS).unref()
    },

    async close() {
      clearInterval(tidying)
      closing.abort(new Error('the storage is closed'))
      await close()
      await sending
    },
  }
}

/** Checks the storage. If it doesn't respond in time, it counts as unreachable even before all retries have failed. */
async function checkSoon(remote: RemoteFiles | null): Promise<void> {
  if (remote === null) return
  const responded = await withTimeout(
    remote.check().then(() => true),
    FIRST_RESPONSE_WITHIN_MS,
  )
  // Don't wait longer, because later checks detect a late response.
  if (responded === null) throw new StorageUnavailableError(`${remote.name} does not respond`)
}

const placeInDataDir = async (store: Store, dataDir: string) =>
  await (await import('./files-place.ts')).openFilesPlace(store, dataDir)

const NOTHING = { openRemoteFiles: async (): Promise<RemoteFiles | null> => null, openPinning: () => null }

/**
 * Rejects a storage change that would make stored files unavailable.
 *
 * @param current the configured place; null for the data directory
 */
async function refuseLostFiles(
  { db, transaction }: Store,
  current: string | null,
  storage: ServerSettings['storage'],
): Promise<void> {
  const replaces = storage.kind === 'files' ? undefined : storage.replaces
  for (const place of await placesOfFiles(db)) {
    if (place === current) continue
    if (current !== null && place === replaces) {
      await transaction((tx) => movePlace(tx, place, current))
      continue
    }
    const files = await countFilesIn(db, place)
    const currentName = current ?? 'the data directory'
    throw new GdnError(
      'invalid_config',
      `files of the database (${files}) are in ${place}, but the configured storage is ${currentName}`,
      {
        hint:
          current === null
            ? `Configure ${place} as the storage again.`
            : `Configure ${place} again, or copy all of its content to ${current} and set storage.replaces to ${place}.`,
      },
    )
  }
}
