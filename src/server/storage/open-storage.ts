import { GdnError, messageOf } from '../../core/errors.ts'
import { sleep } from '../../core/time.ts'
import { within } from '../../core/within.ts'
import type { Log } from '../log.ts'
import type { Settings } from '../settings/types.ts'
import { type BlockTable, blockTable } from '../store/block-table.ts'
import type { Store } from '../store/open-store.ts'
import { addPublications } from '../store/publications.ts'
import type { PublishTarget } from '../store/schema.ts'
import { countFilesIn, movePlace, placesOfFiles, storedFiles } from '../store/stored-files.ts'
import { type FileStorage, StorageUnavailableError } from './adapter.ts'
import { createFileStorage } from './files.ts'
import type { FilesPlace } from './files-place.ts'
import type { PinningService } from './remote/pinning-service.ts'
import type { NodeBlocks, RemoteFiles } from './remote/remote-files.ts'

export interface OpenStorageOptions {
  settings: Pick<Settings, 'storage' | 'pinning'>
  dataDir: string
  store: Store
  /** Where systemd puts a service's credentials (CREDENTIALS_DIRECTORY). */
  credentialsDirectory: string | undefined
  /** Holds AWS_* variables, perhaps. */
  env: NodeJS.ProcessEnv
  userAgent: string
  now: () => number
  log: Log
}

/** Whether it can be reached is found out anew after so long: while it can't, and while it can. */
const ASK_AGAIN_MS = 2000
const ASK_NOW_AND_THEN_MS = 30_000
/** For the first check; a wrong configuration is found out in less. */
const FIRST_ANSWER_WITHIN_MS = 5000
const DAY_MS = 24 * 3600_000
const SEND_AGAIN_MS = 60_000

/** Where stored metadata is published: an IPFS node, a pinning service, or first the one and then the other. */
export interface PublishPlaces {
  /** Where stored metadata goes first. */
  first: PublishTarget
  /** Holds what is published. */
  blocks: BlockTable
  node: NodeBlocks | null
  pinning: {
    service: PinningService
    /** Multiaddresses from which the service can fetch content. */
    origins: () => Promise<readonly string[]>
  } | null
}

export interface OpenedStorage {
  files: FileStorage
  /** What is in the way of storing now, a sentence each. What passes is noticed by asking again. */
  problems(): string[]
  /** Where the metadata that is stored is published; null for nowhere. */
  publishing: PublishPlaces | null
  /** Starts to send files that wait in the data dir, and to end unfinished uploads. */
  startUpkeep(): void
  close(): Promise<void>
}

/**
 * Opens the storage of the settings. One that is away now is told and used when it is back; one that is configured
 * wrong, or that lacks files which were stored elsewhere, keeps the backend from starting.
 *
 * @throws GdnError
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
  /** What was said the last time that it was asked whether it can be used. */
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
      log.error({ error: messageOf(error) }, 'the storage of files is away: what needs it waits')
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
      remote === null ? undefined : { files: remote, stored: storedFiles(store.db, store.transaction, remote.place) },
    onAdded: async (cid, where) => {
      // A larger file is in the node already.
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
        if (ended !== null && ended > 0) log.info({ ended }, 'uploads that nobody finished were given up')
      },
      (error) => log.warn({ error: messageOf(error) }, 'unfinished uploads could not be looked for'),
    )
  }
  let tidying: NodeJS.Timeout | undefined
  const closing = new AbortController()
  /** Others of this database see only what is where all of them reach it. */
  const sendLocal = async () => {
    if (remote === null || store.postgres === null) return
    const { sendLocalFiles } = await import('./remote/send-local.ts')
    const stored = storedFiles(store.db, store.transaction, remote.place)
    while (!closing.signal.aborted) {
      try {
        const sent = await sendLocalFiles({ dataDir, remote, stored, signal: closing.signal })
        if (sent > 0) log.info({ sent }, `files of the data dir were put into ${remote.name}`)
        return
      } catch (error) {
        if (closing.signal.aborted) return
        log.warn({ error: messageOf(error) }, `files of the data dir could not be put into ${remote.name}; tried again`)
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

/** A storage that takes a request and gives no answer is away too: nobody waits for it until all tries have failed. */
async function checkSoon(remote: RemoteFiles | null): Promise<void> {
  if (remote === null) return
  const answered = await within(
    remote.check().then(() => true),
    FIRST_ANSWER_WITHIN_MS,
  )
  // What it says afterwards is asked for again.
  if (answered === null) throw new StorageUnavailableError(`${remote.name} gives no answer`)
}

const placeInDataDir = async (store: Store, dataDir: string) =>
  await (await import('./files-place.ts')).openFilesPlace(store, dataDir)

const NOTHING = { openRemoteFiles: async (): Promise<RemoteFiles | null> => null, openPinning: () => null }

/**
 * Files in a place that nobody asks any more would be lost to everybody who looks for them.
 *
 * @param here the place of the settings; null for the data dir
 */
async function refuseLostFiles(
  { db, transaction }: Store,
  here: string | null,
  storage: Settings['storage'],
): Promise<void> {
  const replaces = storage.kind === 'files' ? undefined : storage.replaces
  for (const place of await placesOfFiles(db)) {
    if (place === here) continue
    if (here !== null && place === replaces) {
      await transaction((tx) => movePlace(tx, place, here))
      continue
    }
    const files = await countFilesIn(db, place)
    const now = here ?? 'the data dir'
    throw new GdnError(
      'invalid_config',
      `files of this data (${files}) are in ${place}, and the settings name ${now}`,
      {
        hint:
          here === null
            ? `name ${place} as the storage again`
            : `name ${place} again, or copy all of its content to ${here} and set storage.replaces to ${place}`,
      },
    )
  }
}
