import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { writeNewFile } from '../../core/new-file.ts'
import { readPrivateText } from '../../core/private-file.ts'
import type { Store } from '../store/open-store.ts'
import { findOrCreateSecret } from '../store/secrets.ts'
import { StorageUnavailableError } from './adapter.ts'

const FILES_PLACE_NAME = 'files-place'
const RETRY_MS = 5_000

/**
 * Records which data directory has the larger files of a cluster's database. If a process used another directory, it
 * and the other processes couldn't read each other's files.
 */
export interface FilesPlace {
  /**
   * Records this data directory as the one with the files.
   *
   * @throws StorageUnavailableError if another data directory has the files
   */
  claim(): Promise<void>
  /**
   * Returns the problem that the last check found; null if it found none. Repeats the check if its result is too old.
   */
  problem(): string | null
}

const HINT =
  'Configure one place for all processes: storage with kind: s3 or kind: ipfs in backend.yaml, or one shared directory as --data-dir. If you moved the data directory, also move the file `files-place` in it.'

/**
 * Opens the record of the data directory that has the files.
 *
 * @throws GdnError `invalid_config` if another data directory has the files of this database
 */
export async function openFilesPlace(store: Store, dataDir: string): Promise<FilesPlace> {
  const ownPlace = await dataDirName(dataDir)
  const find = async () =>
    (await store.db.selectFrom('secrets').select('value').where('name', '=', FILES_PLACE_NAME).executeTakeFirst())
      ?.value ?? null
  const compare = (place: string | null): string | null =>
    place === null || place === ownPlace
      ? null
      : `files of this database are in ${stripId(place)}, but this process would store its files in ${stripId(ownPlace)}`

  // If the directory already has files, for example from an earlier database, record it now.
  const recordedPlace = (await hasFiles(dataDir))
    ? await findOrCreateSecret(store.db, FILES_PLACE_NAME, () => ownPlace)
    : await find()
  let conflict = compare(recordedPlace)
  if (conflict !== null) throw new GdnError('invalid_config', conflict, { hint: HINT })
  let isOurs = recordedPlace === ownPlace
  let askedAt = performance.now()
  return {
    async claim() {
      if (isOurs) return
      conflict = compare(await findOrCreateSecret(store.db, FILES_PLACE_NAME, () => ownPlace))
      if (conflict !== null) throw new StorageUnavailableError(conflict, { hint: HINT })
      isOurs = true
    },
    problem() {
      if (!isOurs && performance.now() - askedAt > RETRY_MS) {
        askedAt = performance.now()
        find().then(
          (place) => {
            conflict = compare(place)
          },
          () => {},
        )
      }
      return conflict
    },
  }
}

/**
 * Returns the name of a data directory. The name is stored in a file in the directory, so that it stays the same
 * wherever the directory is mounted. Paths alone can be the same on different machines.
 */
async function dataDirName(dataDir: string): Promise<string> {
  const path = join(dataDir, FILES_PLACE_NAME)
  const read = () => readPrivateText(path, { code: 'data_dir' })?.trim() ?? null
  const existing = read()
  if (existing !== null) return existing
  // If several processes start in one directory at the same time, only one of them creates the name.
  const name = `the data directory ${resolve(dataDir)} of ${hostname()} #${randomBytes(8).toString('hex')}`
  return (await writeNewFile(path, name)) ? name : (read() ?? name)
}

const stripId = (place: string) => place.replace(/ #[0-9a-f]{16}$/, '')

async function hasFiles(dataDir: string): Promise<boolean> {
  const names = await readdir(join(dataDir, 'files')).catch(() => [])
  return names.some((name) => name !== 'tmp')
}
