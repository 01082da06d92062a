import { randomBytes } from 'node:crypto'
// Import node:fs instead of node:fs/promises, because node:fs loads its `promises` only on first use, and most commands
// only read.
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
import { syncDirectory } from './durable-file.ts'
import { type ErrorCode, GdnError, systemCode } from './errors.ts'
import { withPathInErrors } from './file-error.ts'
import { shellWord } from './shell-word.ts'

/** Modes of gdn's files and directories, which are private to their owner regardless of the umask. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
const OTHERS = 0o077
const GROUP_READS = 0o040
const WORLD_WRITABLE = 0o002
const STICKY = 0o1000
const MAX_SECRET_BYTES = 64 * 1024
/** The UID of files whose owner isn't mapped in a user namespace, such as the root directory in a container. */
const OVERFLOW_UID = 65_534

// Windows has neither these flags nor file modes. There, the access control list keeps a user's directory private.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_APPEND, O_CREAT, O_WRONLY } = constants
const HAS_MODES = platform !== 'win32'

/** Creates a directory and its missing parents, with access for the owner only. */
export async function makePrivateDirectory(path: string): Promise<void> {
  // The recursive mkdir of Node.js never ends if the file system returns ENOENT below an existing directory, such as
  // /proc.
  const parent = dirname(path)
  if (parent !== path && !existsSync(parent)) await makePrivateDirectory(parent)
  try {
    await fs.mkdir(path, { mode: FOLDER_MODE })
  } catch (error) {
    const isExistingDirectory = systemCode(error) === 'EEXIST' && (await fs.stat(path)).isDirectory()
    if (!isExistingDirectory) throw error
  }
}

export interface RefusalOptions {
  code?: ErrorCode
}

/**
 * Refuses a directory that belongs to another user. Parent directories aren't checked, because container volumes are
 * often mounted below a directory that is world-writable in the container.
 */
export async function refuseForeignDirectory(
  path: string,
  { code = 'invalid_config', uid = getuid?.() ?? 0 }: RefusalOptions & { uid?: number } = {},
): Promise<void> {
  const stats = await fs.stat(path)
  if (!HAS_MODES || !isForeign(stats.uid, uid)) return
  throw new GdnError(code, `${path} belongs to another user`, {
    hint: 'Choose a directory that you own.',
    place: { file: path },
  })
}

/**
 * Refuses a directory for secrets if another user could replace it. This is the case if the directory, or a directory
 * above it, belongs to another user or is world-writable without the sticky bit. Missing directories are ignored.
 *
 * @param uid the user who owns the secrets
 * @throws GdnError with the command that fixes it
 */
export async function refuseOpenDirectory(
  path: string,
  { code = 'invalid_config', uid = getuid?.() ?? 0 }: RefusalOptions & { uid?: number } = {},
): Promise<void> {
  if (!HAS_MODES) return
  const fullPath = resolve(path)
  const real = await fs.realpath(fullPath).catch(() => fullPath)
  for (const directory of new Set([...directoriesUpwards(fullPath), ...directoriesUpwards(real)])) {
    const stats = await fs.lstat(directory).catch(() => null)
    if (stats === null) continue
    if (isForeign(stats.uid, uid)) {
      throw new GdnError(code, `${directory} belongs to another user, who could replace ${path}`, {
        hint: 'Choose a directory that you own.',
        place: { file: path },
      })
    }
    if (!stats.isDirectory() || (stats.mode & WORLD_WRITABLE) === 0 || (stats.mode & STICKY) !== 0) continue
    throw new GdnError(code, `${directory} is world-writable, so others could replace ${path}`, {
      hint: `Run \`chmod o-w ${shellWord(directory)}\`.`,
      place: { file: path },
    })
  }
}

function directoriesUpwards(path: string): string[] {
  const above = dirname(path)
  return above === path ? [path] : [path, ...directoriesUpwards(above)]
}

/**
 * Returns whether a directory belongs to another user who isn't root. Returns false if this process runs as root, which
 * may use any user's directory.
 */
function isForeign(owner: number, uid: number): boolean {
  return uid !== 0 && owner !== uid && owner !== 0 && owner !== OVERFLOW_UID
}

/**
 * Writes a file that only its owner can read, from the first byte on. Creates missing directories. The write is atomic,
 * and the file is synced when the promise resolves. The draft file is created exclusively, so that a link that another
 * user prepared is never followed.
 */
export async function writePrivateFile(path: string, content: string | Uint8Array): Promise<void> {
  await makePrivateDirectory(dirname(path))
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await fs.open(draft, 'wx', FILE_MODE)
    try {
      await withPathInErrors(path, async () => {
        await file.writeFile(content)
        await file.sync()
      })
    } finally {
      await file.close()
    }
    await fs.rename(draft, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await fs.rm(draft, { force: true }).catch(() => {})
    throw error
  }
}

export interface ReadSecretOptions extends RefusalOptions {
  /** Error code for a file that other users may read. Default: `code`. */
  looseCode?: ErrorCode
  /** Maximum size of the file in bytes. Default: 64 KiB. */
  maxBytes?: number
  /**
   * Whether the file may be a link. gdn's own files are never links. A file that the user specifies, such as a mounted
   * secret, may be a link.
   */
  mayBeLink?: boolean
}

const REASONS_BY_CODE: Readonly<Record<string, string>> = {
  EACCES: "can't be read: permission denied",
  EPERM: "can't be read: permission denied",
  ENOTDIR: "can't be reached: a part of its path is not a directory",
  ELOOP: 'is a symbolic link, whose target others may change: use the path of the file itself',
  EMLINK: 'is a symbolic link, whose target others may change: use the path of the file itself',
}

/**
 * Returns the bytes of a file with a secret, or null if it doesn't exist. Refuses links, anything but regular files,
 * and files of other users. Also refuses a file that others may read or write, because its content isn't secret. Checks
 * and reads the same open file, so that the file can't be replaced in between. The function is synchronous, because
 * these files are small and read only once.
 *
 * @throws GdnError with the command that fixes it
 */
export function readPrivateFile(
  path: string,
  { maxBytes = MAX_SECRET_BYTES, mayBeLink = false, code = 'invalid_config', looseCode = code }: ReadSecretOptions = {},
): Buffer | null {
  const privateFileError = (message: string, cause?: unknown) =>
    new GdnError(code, message, { place: { file: path }, cause })
  let file: number
  try {
    // Use O_NONBLOCK, because opening a pipe without a writer would block indefinitely.
    file = openSync(path, O_RDONLY | O_NONBLOCK | (mayBeLink ? 0 : O_NOFOLLOW))
  } catch (error) {
    const reason = systemCode(error) ?? 'unknown reason'
    if (reason === 'ENOENT') return null
    throw privateFileError(REASONS_BY_CODE[reason] ?? `can't be read (${reason})`, error)
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile())
      throw privateFileError(stats.isDirectory() ? 'is a directory, not a file' : 'is not a regular file')
    if (stats.size > maxBytes) throw privateFileError(`is larger than ${maxBytes} bytes`)
    if (HAS_MODES && isLoose(stats)) throw looseFileError(path, looseCode)
    if (HAS_MODES && !mayBeLink && isForeign(stats.uid, getuid?.() ?? 0))
      throw privateFileError('belongs to another user')
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Returns whether others may read or change a file. Unless this process runs as root, returns false for a file of root
 * that only root can change and that only root and the file's group can read. For example, service configuration in
 * /etc and secrets from systemd and Kubernetes have such modes.
 */
export function isLoose({ mode, uid }: { mode: number; uid: number }, ours: number = getuid?.() ?? 0): boolean {
  if ((mode & OTHERS) === 0) return false
  return ours === 0 || uid !== 0 || (mode & OTHERS & ~GROUP_READS) !== 0
}

/** Like readPrivateFile, but returns text. Replaces invalid UTF-8, because no secret of gdn contains it. */
export function readPrivateText(path: string, options: ReadSecretOptions = {}): string | null {
  return readPrivateFile(path, options)?.toString('utf8') ?? null
}

/** Returns the error for a file with a secret that others may read. */
function looseFileError(path: string, code: ErrorCode): GdnError {
  return new GdnError(code, 'contains a secret, but others can read or change it', {
    hint: `Run \`chmod 600 ${shellWord(path)}\`.`,
    place: { file: path },
  })
}

/**
 * Refuses a file with a secret that others may read. If the path is a link, checks the link's target. Accepts a missing
 * file.
 */
export async function refuseLooseFile(path: string, { code = 'unauthorized' }: RefusalOptions = {}): Promise<void> {
  const stats = HAS_MODES ? await fs.stat(path).catch(() => null) : null
  if (stats?.isFile() && (stats.mode & OTHERS) !== 0) throw looseFileError(path, code)
}

/**
 * Opens a file, such as a log, for appending. Creates the file with mode 0600, or restricts its mode to 0600. Refuses a
 * link.
 *
 * @returns a file descriptor, which the caller closes
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

/**
 * Creates a private file that a library then writes to, because the library itself would create a file that every user
 * can read.
 */
export function ensurePrivateFile(path: string): void {
  closeSync(openToAppend(path))
}
