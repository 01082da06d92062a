import { existsSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findRunningBackend, isDataDirectory } from '../../../config/local-backend.ts'
import { localBackendId } from '../../../config/local-backend-id.ts'
import { localDataDirectory, stateDirectory } from '../../../config/paths.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { toBackendOrigin } from '../../../operations/run-origin.ts'
import { forgetCollections } from '../../../state/known-collections.ts'
import { statePath, withState } from '../../../state/open-state.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { type Io, safe } from '../../io/io.ts'
import { askText } from '../../prompt/ask-missing.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'

/** The text that the user types to confirm: the name of the local backend's profile. */
const CONFIRMATION_TEXT = 'local'

const VIEW: View = { fields: ['data_dir', 'deleted'], columns: ['data_dir', 'deleted'], id: 'data_dir' }

export interface ResetFlags extends OutputFlags {
  yes?: boolean
}

export function command(deps: Deps, run = reset): GdnCommand {
  return new GdnCommand({
    about:
      'The command permanently deletes the collections, NFTs, files, chains and key of the local backend. It does not delete a PostgreSQL database. Stop the backend first. The command lists the data before it deletes anything. To confirm, type the name "local".',
    examples: [
      ['Start from scratch', 'gdn local stop', 'gdn local reset', 'gdn local start'],
      ['Reset from a script', 'gdn local reset --yes'],
    ],
  })
    .switchFlag('-y, --yes', "Don't prompt")
    .with(addOutputFlags)
    .action(async (flags: ResetFlags) => await run(deps, flags))
}

export async function reset({ io, env }: Deps, flags: ResetFlags): Promise<void> {
  const output = createOutput(io, flags, VIEW)
  const dataDir = localDataDirectory(env)
  const tell = async (deleted: boolean) => {
    if (isOutputRequested(flags)) await output.one({ data_dir: dataDir, deleted })
  }
  const running = await findRunningBackend(dataDir)
  if (running !== null) {
    throw new GdnError('data_dir_busy', `the local backend is running (pid ${running.pid})`, {
      hint: 'Run `gdn local stop` first.',
    })
  }
  if (!(await stat(dataDir).catch(() => null))) {
    io.note('There is nothing to delete.')
    return await tell(false)
  }
  if (!(await isDataDirectory(dataDir))) {
    throw new GdnError('data_dir', `nothing was deleted: ${dataDir} does not look like a gdn data directory`, {
      hint: 'Check the contents of the directory, and delete it yourself.',
    })
  }
  if (!flags.yes) await confirmDeletion(io, dataDir)
  const id = await localBackendId(dataDir)
  // After the reset, the backend in this directory gets a new ID, unless its database is elsewhere.
  if (id !== null && existsSync(toDatabasePath(dataDir))) await forgetCollectionsOf(stateDirectory(env), id)
  await rm(dataDir, { recursive: true, force: true, maxRetries: 3 })
  io.note(`Deleted ${safe(dataDir)}.`)
  await tell(true)
}

async function confirmDeletion(io: Io, dataDir: string): Promise<void> {
  const loss = `this deletes ${await describeContent(dataDir)}`
  if (!io.isInteractive) {
    throw new GdnError('not_confirmed', `confirmation required: ${loss}`, { hint: 'Add --yes to confirm.' })
  }
  io.warn(`${loss.replace('t', 'T')}. This can't be undone.`)
  const typed = await askText(io, { message: `Type "${CONFIRMATION_TEXT}" to delete ${dataDir}:`, flag: '--yes' })
  if (typed.trim() !== CONFIRMATION_TEXT)
    throw new GdnError('not_confirmed', 'nothing was deleted: the name does not match')
}

const toDatabasePath = (dataDir: string) => join(dataDir, 'gdn.db')

/** Describes the content to delete. With PostgreSQL, the database isn't in the directory. */
async function describeContent(dataDir: string): Promise<string> {
  if (!existsSync(toDatabasePath(dataDir))) {
    return 'the files and API key of the local backend, but not its database, which is stored elsewhere'
  }
  return `${await describeCounts(toDatabasePath(dataDir))} of the local backend, with its chains, files and API key`
}

/**
 * Returns the numbers of collections and NFTs as text. If the database can't be read, returns a text without numbers,
 * so that the user can still delete the database.
 */
async function describeCounts(path: string): Promise<string> {
  const { openStore } = await import('../../../server/store/open-store.ts')
  const store = await openStore(path, { unchecked: true }).catch(() => null)
  try {
    if (store === null) return 'all collections and NFTs'
    const rowsIn = async (table: 'collections' | 'nfts') => {
      const counted = store.db.selectFrom(table).select(({ fn }) => fn.countAll<number>().as('rows'))
      return (await counted.executeTakeFirstOrThrow()).rows
    }
    return `${count(await rowsIn('collections'), 'collection')} and ${count(await rowsIn('nfts'), 'NFT')}`
  } catch {
    return 'all collections and NFTs'
  } finally {
    await store?.close()
  }
}

async function forgetCollectionsOf(stateDir: string, backendId: string): Promise<void> {
  if (!existsSync(statePath(stateDir))) return
  await withState(stateDir, (state) => state.write((sql) => forgetCollections(sql, toBackendOrigin(backendId))))
}
