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
import type { RemoteContext } from './remote/open-remote.ts'
import type { PinningService } from './remote/pinning-service.ts'
import type { NodeBlocks, RemoteFiles } from './remote/remote-files.ts'

export interface OpenStorageOptions extends RemoteContext {
  settings: Pick<ServerSettings, 'storage' | 'pinning'>
  dataDir: string
  store: Store
  log: Log
}

/** Intervals in milliseconds between reachability checks while they fail and while they succeed. */
const FAILING_CHECK_MS = 2000
const WORKING_CHECK_MS = 30_000
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
  const { settings, dataDir, store, now, log } = options
  const blocks = blockTable(store.db, store.transaction)
  const { kind } = settings.storage
  const { openPinning, openRemoteFiles } =
    kind === 'files' && settings.pinning === null ? WITHOUT_REMOTE_STORAGE : await import('./remote/open-remote.ts')
  const remote = await openRemoteFiles(settings.storage, options)
  let pinning: PinningService | null = null
  const close = async () => {
    await Promise.all([remote?.close(), pinning?.close()])
  }
  try {
    await refuseLostFiles(store, remote?.place ?? null, settings.storage)
    const ownPlace = kind === 'files' && store.postgres !== null ? await placeInDataDir(store, dataDir) : null
    pinning = openPinning(settings.pinning, options)
    const refusal = await findFirstProblem(remote, log)
    const nodeBlocks = remote?.nodeBlocks
    const pins = pinning && { service: pinning, origins: createOriginsReader(settings.pinning, nodeBlocks) }
    const afterNode = pins === null ? undefined : ('pins' as const)
    const publishTo = nodeBlocks === undefined ? afterNode : ('node' as const)

    const files = await createFileStorage({
      dataDir,
      blocks,
      alone: store.postgres === null,
      beforeLarge: ownPlace?.claim,
      remote: remote === null ? undefined : { files: remote, stored: openStoredFiles(remote, store) },
      onAdded: async (cid, where) => {
        // Don't publish a larger file to the node again, because the node already has it.
        const target = where === 'files' ? afterNode : publishTo
        if (target !== undefined) await store.transaction((db) => addPublications(db, target, [cid]))
      },
    })
    const remoteProblem = remote === null ? () => null : createProblemCheck(remote, refusal, now)
    const upkeep = createUpkeep(remote, options)

    return {
      files,
      publishing:
        publishTo === undefined ? null : { first: publishTo, blocks, node: nodeBlocks ?? null, pinning: pins },
      problems() {
        const problem = ownPlace?.problem() ?? remoteProblem()
        return problem === null ? [] : [problem]
      },
      startUpkeep: upkeep.start,
      async close() {
        const ended = upkeep.end()
        await close()
        await ended
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

const openStoredFiles = ({ place }: RemoteFiles, { db, transaction }: Store) =>
  createStoredFiles(db, transaction, place)

/** Returns a function that returns the multiaddresses from which a pinning service can fetch content. */
function createOriginsReader(pinning: ServerSettings['pinning'], node: NodeBlocks | undefined) {
  const origins = pinning?.origins ?? []
  return async () => (origins.length > 0 || node === undefined ? origins : await node.addresses())
}

/** Returns why the storage is unreachable; null if it isn't. */
async function findFirstProblem(remote: RemoteFiles | null, log: Log): Promise<string | null> {
  try {
    await checkSoon(remote)
    return null
  } catch (error) {
    if (!(error instanceof StorageUnavailableError)) throw error
    log.error({ error: messageOf(error) }, 'the file storage is unreachable, and work that needs it is delayed')
    return messageOf(error)
  }
}

/**
 * Returns a function that returns why the storage can't be used; null if it can. The function repeats the check.
 *
 * @param refusal the problem that the last check found
 */
function createProblemCheck(remote: RemoteFiles, refusal: string | null, now: () => number): () => string | null {
  let lastProblem = refusal
  let askedAt = now()
  const recheck = async () => {
    askedAt = now()
    lastProblem = await remote.check().then(
      () => null,
      (error: unknown) => messageOf(error),
    )
  }
  return () => {
    const problem = remote.problem() ?? lastProblem
    const age = now() - askedAt
    if (age < 0 || age > (problem === null ? WORKING_CHECK_MS : FAILING_CHECK_MS)) void recheck()
    return problem
  }
}

/** Creates the background task that sends files from the data directory and aborts unfinished uploads. */
function createUpkeep(remote: RemoteFiles | null, options: OpenStorageOptions) {
  const { now, log } = options
  const closing = new AbortController()
  let tidying: NodeJS.Timeout | undefined
  let sending = Promise.resolve()
  const tidy = () => {
    remote?.uploadCleanup?.end(new Date(now() - DAY_MS)).then(
      (ended) => {
        if (ended !== null && ended > 0) log.info({ ended }, 'unfinished uploads were aborted')
      },
      (error) => log.warn({ error: messageOf(error) }, 'unfinished uploads could not be listed'),
    )
  }
  return {
    start() {
      sending = sendLocal(remote, options, closing.signal)
      tidy()
      tidying = setInterval(tidy, DAY_MS).unref()
    },

    async end() {
      clearInterval(tidying)
      closing.abort(new Error('the storage is closed'))
      await sending
    },
  }
}

/**
 * Sends local files to the remote storage. Other processes of this database can read files only if they are in a place
 * that all processes can access.
 */
async function sendLocal(
  remote: RemoteFiles | null,
  { dataDir, store, log }: OpenStorageOptions,
  signal: AbortSignal,
): Promise<void> {
  if (remote === null || store.postgres === null) return
  const { sendLocalFiles } = await import('./remote/send-local.ts')
  const stored = openStoredFiles(remote, store)
  while (!signal.aborted) {
    try {
      const sent = await sendLocalFiles({ dataDir, remote, stored, signal })
      if (sent > 0) log.info({ sent }, `uploaded files of the data directory to ${remote.name}`)
      return
    } catch (error) {
      if (signal.aborted) return
      log.warn(
        { error: messageOf(error) },
        `could not upload files of the data directory to ${remote.name}; gdn will retry`,
      )
      await sleep(SEND_AGAIN_MS, signal).catch(() => {})
    }
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

const WITHOUT_REMOTE_STORAGE = {
  openRemoteFiles: async (): Promise<RemoteFiles | null> => null,
  openPinning: () => null,
}

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
