import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { writeNewFile } from '../../core/new-file.ts'
import { readPrivateText } from '../../core/private-file.ts'
import type { Store } from '../store/open-store.ts'
import { keepSecret } from '../store/secrets.ts'
import { StorageUnavailableError } from './adapter.ts'

const NAME = 'files-place'
const ASK_AGAIN_MS = 5_000

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
  'Configure one place for all processes: storage with kind: s3 or kind: ipfs in backend.yaml, or one shared directory as --data-dir. If that directory was moved here, move its file files-place too.'

/**
 * Opens the record of the data directory that has the files.
 *
 * @throws GdnError `invalid_config` if another data directory has the files of this database
 */
export async function openFilesPlace(store: Store, dataDir: string): Promise<FilesPlace> {
  const here = await placeOf(dataDir)
  const find = async () =>
    (await store.db.selectFrom('secrets').select('value').where('name', '=', NAME).executeTakeFirst())?.value ?? null
  const compare = (there: string | null): string | null =>
    there === null || there === here
      ? null
      : `files of this database are in ${withoutId(there)}, but this process would store its files in ${withoutId(here)}`

  // If the directory already has files, for example of an earlier database, record it now.
  const there = (await hasFiles(dataDir)) ? await keepSecret(store.db, NAME, () => here) : await find()
  let seen = compare(there)
  if (seen !== null) throw new GdnError('invalid_config', seen, { hint: HINT })
  let isOurs = there === here
  let askedAt = performance.now()
  return {
    async claim() {
      if (isOurs) return
      seen = compare(await keepSecret(store.db, NAME, () => here))
      if (seen !== null) throw new StorageUnavailableError(seen, { hint: HINT })
      isOurs = true
    },
    problem() {
      if (!isOurs && performance.now() - askedAt > ASK_AGAIN_MS) {
        askedAt = performance.now()
        find().then(
          (found) => {
            seen = compare(found)
          },
          () => {},
        )
      }
      return seen
    },
  }
}

/**
 * Returns the name of a data directory. The name is stored in a file in the directory, so that it stays the same
 * wherever the directory is mounted. Paths alone can be the same on different machines.
 */
async function placeOf(dataDir: string): Promise<string> {
  const path = join(dataDir, NAME)
  const read = () => readPrivateText(path, { code: 'data_dir' })?.trim() ?? null
  const known = read()
  if (known !== null) return known
  // If several processes start in one directory at the same time, only one of them creates the name.
  const name = `the data directory ${resolve(dataDir)} of ${hostname()} #${randomBytes(8).toString('hex')}`
  return (await writeNewFile(path, name)) ? name : (read() ?? name)
}

const withoutId = (place: string) => place.replace(/ #[0-9a-f]{16}$/, '')

async function hasFiles(dataDir: string): Promise<boolean> {
  const found = await readdir(join(dataDir, 'files')).catch(() => [])
  return found.some((name) => name !== 'tmp')
}
