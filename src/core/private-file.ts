import { randomBytes } from 'node:crypto'
// As `promises`, Node loads it when it is used: most commands only read.
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  promises as fs,
  fstatSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { getuid, platform } from 'node:process'
import { syncFolder } from './durable-file.ts'
import { type ErrorCode, GdnError, systemCode } from './errors.ts'
import { namingFile } from './file-error.ts'

/** Everything that gdn keeps is its owner's alone: files 0600, folders 0700, whatever the umask. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
const OTHERS = 0o077
const GROUP_READS = 0o040
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
  // Node's recursive mkdir never ends where the file system answers ENOENT below a folder that exists, such as /proc.
  const parent = dirname(path)
  if (parent !== path && !existsSync(parent)) await makePrivateFolder(parent)
  try {
    await fs.mkdir(path, { mode: FOLDER_MODE })
  } catch (error) {
    const isThere = systemCode(error) === 'EEXIST' && (await fs.stat(path)).isDirectory()
    if (!isThere) throw error
  }
}

export interface Refusing {
  /** The code of the error by which it is refused. */
  code?: ErrorCode
}

/**
 * Refuses a folder of another user. What is above it isn't asked: volumes of containers often stand below a folder that
 * everybody in there may write to.
 */
export async function refuseForeignFolder(
  path: string,
  { code = 'invalid_config', uid = getuid?.() ?? 0 }: Refusing & { uid?: number } = {},
): Promise<void> {
  const found = await fs.stat(path)
  if (!HAS_MODES || !isForeign(found.uid, uid)) return
  throw new GdnError(code, `${path} belongs to another user`, {
    hint: 'choose a folder of your own',
    place: { file: path },
  })
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
  const real = await fs.realpath(given).catch(() => given)
  for (const folder of new Set([...upwards(given), ...upwards(real)])) {
    const found = await fs.lstat(folder).catch(() => null)
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
    const file = await fs.open(draft, 'wx', FILE_MODE)
    try {
      await namingFile(path, async () => {
        await file.writeFile(content)
        await file.sync()
      })
    } finally {
      await file.close()
    }
    await fs.rename(draft, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await fs.rm(draft, { force: true }).catch(() => {})
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

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "can't be read: permission denied",
  EPERM: "can't be read: permission denied",
  ENOTDIR: "can't be reached: a part of its path is no directory",
  ELOOP: 'is a symbolic link, and what it points to may be changed by others; name the file itself',
  EMLINK: 'is a symbolic link, and what it points to may be changed by others; name the file itself',
}

/**
 * The bytes of a file with a secret, or null where there is none. Refused are a link, what is no regular file, what
 * belongs to another user, and a file that others may read or write: its secret is told already. What is checked is
 * what is read: the same open file. Synchronous, as these files are small and read once.
 *
 * @throws GdnError with the command that mends it
 */
export function readPrivateFile(
  path: string,
  { maxBytes = MAX_BYTES, mayBeLink = false, code = 'invalid_config', looseCode = code }: ReadSecret = {},
): Buffer | null {
  const fail = (message: string, cause?: unknown) =>
    new GdnError(code, message, { place: { file: path }, ...(cause === undefined ? {} : { cause }) })
  let file: number
  try {
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    file = openSync(path, O_RDONLY | O_NONBLOCK | (mayBeLink ? 0 : O_NOFOLLOW))
  } catch (error) {
    const reason = systemCode(error) ?? 'unknown reason'
    if (reason === 'ENOENT') return null
    throw fail(REASONS[reason] ?? `can't be read (${reason})`, error)
  }
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw fail(found.isDirectory() ? 'is a directory, not a file' : 'is not a regular file')
    if (found.size > maxBytes) throw fail(`is larger than ${maxBytes} bytes`)
    if (HAS_MODES && isLoose(found)) throw loose(path, looseCode)
    if (HAS_MODES && !mayBeLink && isForeign(found.uid, getuid?.() ?? 0)) throw fail('belongs to another user')
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Whether others may read or change a file. What root lets a group read and nobody change is handed over: so the
 * configuration of a service lies in /etc, and so systemd and Kubernetes give one its secrets.
 */
export function isLoose({ mode, uid }: { mode: number; uid: number }, ours: number = getuid?.() ?? 0): boolean {
  if ((mode & OTHERS) === 0) return false
  return ours === 0 || uid !== 0 || (mode & OTHERS & ~GROUP_READS) !== 0
}

/** As readPrivateFile, as text. What is no UTF-8 is no secret of ours either: it is replaced, and fits nothing. */
export function readPrivateText(path: string, options: ReadSecret = {}): string | null {
  return readPrivateFile(path, options)?.toString('utf8') ?? null
}

/** A file with a secret that others may read. */
function loose(path: string, code: ErrorCode): GdnError {
  return new GdnError(code, 'may be read or changed by others, and holds a secret', {
    hint: `chmod 600 ${quoted(path)}`,
    place: { file: path },
  })
}

/** Refuses a file with a secret, or what a link to it leads to, that others may read. A missing one is none. */
export async function refuseLooseFile(path: string, { code = 'unauthorized' }: Refusing = {}): Promise<void> {
  const found = HAS_MODES ? await fs.stat(path).catch(() => null) : null
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

/** A path between quotes, as a shell takes it. */
export const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`
