import { randomBytes } from 'node:crypto'
import { closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { getuid, platform } from 'node:process'
import { syncFolder } from './durable-file.ts'
import { type ErrorCode, GdnError, systemCode } from './errors.ts'

/** Everything that gdn keeps is its owner's alone: files 0600, folders 0700, whatever the umask. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
const OTHERS = 0o077
const WORLD_WRITABLE = 0o002
const STICKY = 0o1000
const MAX_BYTES = 64 * 1024
/** Who owns what belongs to nobody inside a user namespace, such as the root folder of a container. */
const OVERFLOW_UID = 65_534

// Windows has neither; there the folder of a user is the user's by its access list.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_APPEND, O_CREAT, O_WRONLY } = constants
const HAS_MODES = platform !== 'win32'

/** Makes a folder of ours, and those above it that are missing, for its owner alone. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: FOLDER_MODE })
}

export interface Refusing {
  /** The code of the error by which it is refused. */
  code?: ErrorCode
}

/**
 * Refuses a folder for secrets that somebody else could put another in the place of: one that is another user's, or
 * below one that is another user's or that everybody may write to. What isn't there yet is passed over.
 *
 * @param uid the user whose secrets they are
 * @throws GdnError with the command that mends it
 */
export async function refuseOpenFolder(
  path: string,
  { code = 'invalid_config', uid = getuid?.() ?? 0 }: Refusing & { uid?: number } = {},
): Promise<void> {
  if (!HAS_MODES) return
  const given = resolve(path)
  const real = await realpath(given).catch(() => given)
  for (const folder of new Set([...upwards(given), ...upwards(real)])) {
    const found = await lstat(folder).catch(() => null)
    if (found === null) continue
    if (isForeign(found.uid, uid)) {
      throw new GdnError(code, `${folder} belongs to another user, who could put another ${path} in place`, {
        hint: 'choose a folder of your own',
        place: { file: path },
      })
    }
    if (!found.isDirectory() || (found.mode & WORLD_WRITABLE) === 0 || (found.mode & STICKY) !== 0) continue
    throw new GdnError(code, `everybody may write to ${folder}, and put another ${path} in place`, {
      hint: `chmod o-w ${quoted(folder)}`,
      place: { file: path },
    })
  }
}

function upwards(path: string): string[] {
  const above = dirname(path)
  return above === path ? [path] : [path, ...upwards(above)]
}

/** Root may use what is anybody's: it has nobody to fear, and often works in folders of others. */
function isForeign(owner: number, uid: number): boolean {
  return uid !== 0 && owner !== uid && owner !== 0 && owner !== OVERFLOW_UID
}

/**
 * Writes a file that only its owner may read from its first byte on: there whole or not at all, synced when it
 * resolves, and made exclusively, so that nothing that lies in wait is written through. The folder is made where needed.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array): Promise<void> {
  await makePrivateFolder(dirname(path))
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(draft, 'wx', FILE_MODE)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw error
  }
}

export interface ReadSecret extends Refusing {
  /** The code of the error for a file that others may read, where it is another one. */
  looseCode?: ErrorCode
  /** 64 KiB, unless told otherwise. */
  maxBytes?: number
  /** A file of our own is never a link; one that the user names may be one, as mounted secrets are. */
  mayBeLink?: boolean
}

/**
 * The bytes of a file with a secret, or null where there is none. Refused are a link, what is no regular file, and a
 * file that others may read or write: its secret is told already.
 *
 * @throws GdnError with the command that mends it
 */
export async function readPrivateFile(
  path: string,
  { maxBytes = MAX_BYTES, mayBeLink = false, code = 'invalid_config', looseCode = code }: ReadSecret = {},
): Promise<Buffer | null> {
  const fail = (message: string, hint?: string, cause?: unknown) =>
    new GdnError(code, message, { place: { file: path }, ...(hint === undefined ? {} : { hint }), cause })
  const file = await openToRead(path, mayBeLink).catch((error: unknown) => {
    const reason = systemCode(error)
    if (reason === 'ENOENT') return null
    if (reason === 'ELOOP' || reason === 'EMLINK') {
      throw fail('is a symbolic link: no secret is read through one', 'put the file itself there', error)
    }
    if (reason === 'EACCES' || reason === 'EPERM') throw fail("can't be read: permission denied", undefined, error)
    if (reason === 'ENOTDIR') throw fail("can't be reached: a part of its path is no directory", undefined, error)
    throw fail(`can't be read (${reason ?? 'unknown reason'})`, undefined, error)
  })
  if (file === null) return null
  try {
    const found = await file.stat()
    if (found.isDirectory()) throw fail('is a directory, not a file')
    if (!found.isFile()) throw fail('is not a regular file')
    if (HAS_MODES && (found.mode & OTHERS) !== 0) throw loose(path, looseCode)
    if (found.size > maxBytes) throw fail(`is larger than ${maxBytes} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** As readPrivateFile, as text. What is no UTF-8 is no secret of ours either: it is replaced, and fits nothing. */
export async function readPrivateText(path: string, options: ReadSecret = {}): Promise<string | null> {
  return (await readPrivateFile(path, options))?.toString('utf8') ?? null
}

// O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
const openToRead = (path: string, mayBeLink: boolean): Promise<FileHandle> =>
  open(path, O_RDONLY | O_NONBLOCK | (mayBeLink ? 0 : O_NOFOLLOW))

/** A file with a secret that others may read. */
function loose(path: string, code: ErrorCode): GdnError {
  return new GdnError(code, 'others may read this file, which holds a secret', {
    hint: `chmod 600 ${quoted(path)}`,
    place: { file: path },
  })
}

/** Refuses a file with a secret, or what a link to it leads to, that others may read. A missing one is none. */
export async function refuseLooseFile(path: string, { code = 'unauthorized' }: Refusing = {}): Promise<void> {
  const found = HAS_MODES ? await stat(path).catch(() => null) : null
  if (found?.isFile() && (found.mode & OTHERS) !== 0) throw loose(path, code)
}

/**
 * Opens a file of ours to add to it, such as a log: made 0600 where there is none, narrowed to that where it was wider.
 * A link in its place is refused.
 *
 * @returns a descriptor, which the caller closes
 */
export function openToAppend(path: string): number {
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, FILE_MODE)
  try {
    if (HAS_MODES && (fstatSync(file).mode & OTHERS) !== 0) fchmodSync(file, FILE_MODE)
    return file
  } catch (error) {
    closeSync(file)
    throw error
  }
}

/** Makes a file that another library will write to, before that can make it for everybody to read. */
export function ensurePrivateFile(path: string): void {
  closeSync(openToAppend(path))
}

/** As a shell takes it. */
const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`
