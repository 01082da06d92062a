import { renameSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { chunksOf } from '../../core/chunks-of.ts'
import { syncDirectory } from '../../core/durable-file.ts'
import { flagError, systemCode } from '../../core/errors.ts'
import { withPathInErrors } from '../../core/file-error.ts'
import { joinInChunks, type ProofSet, proofMembers, treeJson } from './proof-set.ts'

/**
 * Number of hex digits in the name of a file with proofs. With up to 4,096 files, each file is small enough for a
 * browser.
 */
const PREFIX_DIGITS = 3
const ROOT_FILE = 'root.json'
const TREE_FILE = 'tree.json'
const PROOFS_FOLDER = 'proofs'
/** Matches the suffix that mkdtemp adds to a name. */
const DRAFT_SUFFIX = /^[A-Za-z0-9]{6}$/
const PROOF_FILE = /^[0-9a-f]{3}\.json$/

/** Number of files to sync concurrently, so that the file system can combine the syncs. */
const MAX_CONCURRENT_SYNCS = 64
/**
 * Age in milliseconds after which the draft of a killed process is removed. Writing a draft takes at most about a
 * minute.
 */
const ABANDONED_MS = 3_600_000

interface WriteOptions {
  /** Whether to replace an earlier folder of proofs. */
  replace: boolean
  signal: AbortSignal
}

/**
 * Writes a folder with the root, the tree and the proofs. The proofs are in files that are named after the first digits
 * of the addresses. Writes the folder under another name, syncs it and renames it, so that the folder is never
 * incomplete.
 *
 * @param summary the content of root.json
 * @throws GdnError `usage` if the folder contains other files or may not be replaced
 */
export async function writeProofs(path: string, set: ProofSet, summary: object, options: WriteOptions): Promise<void> {
  const { replace, signal } = options
  await refuseOtherFiles(path, replace)
  await withPathInErrors(path, async () => {
    await mkdir(dirname(path), { recursive: true })
    const draft = await mkdtemp(draftPrefix(path))
    try {
      const content = join(draft, 'new')
      await writeFolder(content, set, summary, signal)
      // Check again, because writing can take a minute.
      await refuseOtherFiles(path, replace)
      moveInto(content, path, join(draft, 'old'))
      await syncDirectory(dirname(path))
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    await removeAbandoned(path)
  })
}

const draftPrefix = (path: string) => join(dirname(path), `.${basename(path)}.`)

async function writeFolder(folder: string, set: ProofSet, summary: object, signal: AbortSignal): Promise<void> {
  await mkdir(join(folder, PROOFS_FOLDER), { recursive: true })
  const files: string[] = []
  const write = async (name: string, content: string | Iterable<string>) => {
    const file = join(folder, name)
    await writeFile(file, content, { signal })
    files.push(file)
  }
  await write(ROOT_FILE, `${JSON.stringify(summary, null, 2)}\n`)
  await write(TREE_FILE, treeJson(set))
  for (const [digits, indexes] of groupByPrefix(set)) {
    await write(join(PROOFS_FOLDER, `${digits}.json`), joinInChunks(proofMembers(set, indexes), '{', '}\n'))
  }
  for (const chunk of chunksOf(files, MAX_CONCURRENT_SYNCS)) {
    signal.throwIfAborted()
    await Promise.all(chunk.map(syncFile))
  }
  for (const synced of [join(folder, PROOFS_FOLDER), folder]) await syncDirectory(synced)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Renames a folder to a path. First moves an existing folder away, and moves it back if the rename fails. The renames
 * are synchronous, so that nothing runs between them.
 */
function moveInto(folder: string, path: string, old: string): void {
  const isReplaced = tryRename(path, old)
  try {
    renameSync(folder, path)
  } catch (error) {
    if (isReplaced) tryRename(old, path)
    if (systemCode(error) !== 'ENOTEMPTY') throw error
    throw flagError('--out', `another process wrote ${path}`, 'Run the command again.')
  }
}

/** Renames a path. Returns false if the path doesn't exist. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    if (systemCode(error) !== 'EBUSY') throw error
    throw flagError('--out', `${from} is in use, for example as a mount point`, 'Use the path of a new directory.')
  }
}

/** Removes the drafts of processes that were killed while they wrote the same folder. */
async function removeAbandoned(path: string): Promise<void> {
  const prefix = basename(draftPrefix(path))
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix) || !DRAFT_SUFFIX.test(name.slice(prefix.length))) continue
    const draft = join(dirname(path), name)
    const stats = await stat(draft).catch(() => null)
    if (stats?.isDirectory() && stats.mtimeMs < Date.now() - ABANDONED_MS) await rm(draft, { recursive: true })
  }
}

/** Groups the indexes of receivers by the digits in the name of their file. */
function groupByPrefix({ receivers }: ProofSet): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const [i, { address }] of receivers.entries()) {
    const digits = address.slice(2, 2 + PREFIX_DIGITS)
    const group = groups.get(digits)
    if (group === undefined) groups.set(digits, [i])
    else group.push(i)
  }
  return groups
}

/** Checks that the path is unused or may be replaced. Returns whether there is a folder at the path. */
export async function refuseOtherFiles(path: string, replace: boolean): Promise<boolean> {
  const stats = await lstat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (stats === null) return false
  if (!stats.isDirectory()) throw flagError('--out', `${path} is not a directory`, 'Use the path of a new directory.')
  const names = await readdir(path)
  if (names.length === 0) return true
  if (!(await hasOnlyProofs(path, names))) {
    throw flagError('--out', `${path} has files that are not proofs`, 'Use the path of a new directory.')
  }
  if (!replace) throw flagError('--out', `${path} already exists`, 'Use another directory, or add --force.')
  return true
}

async function hasOnlyProofs(path: string, names: readonly string[]): Promise<boolean> {
  if ([...names].sort().join() !== [PROOFS_FOLDER, ROOT_FILE, TREE_FILE].sort().join()) return false
  return (await readdir(join(path, PROOFS_FOLDER)).catch(() => [''])).every((name) => PROOF_FILE.test(name))
}
