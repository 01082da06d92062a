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
 * Whose data dir holds the larger files of a database that several processes share. One that stored its files elsewhere
 * would store what the others never see, and miss what they have.
 */
export interface FilesPlace {
  /** This data dir holds them from now on. @throws StorageUnavailableError where another one does */
  claim(): Promise<void>
  /** What is in the way as it was seen last; asks again from time to time. */
  problem(): string | null
}

const HINT =
  'have all processes share one place: storage: { kind: s3, … } or { kind: ipfs, … } in backend.yaml, or one folder as --data-dir; where that folder was moved here, move its file files-place along'

/** @throws GdnError `invalid_config` where another data dir holds the files of this database */
export async function openFilesPlace(store: Store, dataDir: string): Promise<FilesPlace> {
  const here = await placeOf(dataDir)
  const find = async () =>
    (await store.db.selectFrom('secrets').select('value').where('name', '=', NAME).executeTakeFirst())?.value ?? null
  const compare = (there: string | null): string | null =>
    there === null || there === here
      ? null
      : `files of this database are in ${withoutId(there)}, and this process has its own in ${withoutId(here)}: neither would see what the other stores`

  // Those of a data dir that moved to this database.
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

/** The name of a data dir, which it keeps wherever it is mounted; paths alone are the same on every machine. */
async function placeOf(dataDir: string): Promise<string> {
  const path = join(dataDir, NAME)
  const read = () => readPrivateText(path, { code: 'data_dir' })?.trim() ?? null
  const known = read()
  if (known !== null) return known
  // Of several processes that start in one folder at once, one gives the name.
  const name = `the data dir ${resolve(dataDir)} of ${hostname()} #${randomBytes(8).toString('hex')}`
  return (await writeNewFile(path, name)) ? name : (read() ?? name)
}

const withoutId = (place: string) => place.replace(/ #[0-9a-f]{16}$/, '')

async function hasFiles(dataDir: string): Promise<boolean> {
  const found = await readdir(join(dataDir, 'files')).catch(() => [])
  return found.some((name) => name !== 'tmp')
}
