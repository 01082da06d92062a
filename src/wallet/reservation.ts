import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync } from 'node:fs'
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../core/durable-file.ts'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { linkNew, NO_LINKS } from '../core/new-file.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from '../core/process-identity.ts'
import { shellWord } from '../core/shell-word.ts'
import { MAX_KEYSTORE_BYTES } from '../keystore/limits.ts'
import { parseKeystore } from '../keystore/parse.ts'
import { readSecretFile } from '../keystore/private-file.ts'
import { KEYSTORE_EXTENSION, makeWalletFolder } from './folder.ts'
import { nameTakenError, refuseKeystore } from './new-names.ts'

/**
 * Size of the draft in bytes. A draft is larger than a keystore, so that it reserves the disk space together with the
 * name.
 */
const RESERVED_BYTES = 4096
const MAX_COPIES = 100
const MAX_ATTEMPTS = 5

/** A reserved name for a future wallet, with disk space for its keystore. */
export interface NameReservation {
  readonly name: string
  /** The future path of the keystore. */
  readonly path: string
  /**
   * Writes, syncs and verifies the keystore, and then gives the file its final name. Until then, no file has the name
   * of a wallet. If the name was taken in the meantime, the keystore gets the next free name.
   *
   * @param prove reads the written file, and throws if it is invalid
   * @returns the path of the keystore
   */
  keep(text: string, prove: (file: string) => Promise<void>): Promise<string>
  /** Releases the name, unless the keystore was stored. */
  release(): Promise<void>
  /** Keeps the written draft. The next reservation of the same name finds and completes the draft. */
  keepDraft(): Promise<void>
}

const keystorePath = (folder: string, name: string) => join(folder, name + KEYSTORE_EXTENSION)
/**
 * Returns the path of the draft, which is a hidden file without the extension of a keystore. A leftover draft is
 * therefore never used as a wallet.
 */
const draftPath = (folder: string, name: string) => join(folder, `.${name}.part`)

/**
 * Reserves a name by creating an exclusive file with mode 0600 in the folder of the future keystore. A keystore gets
 * its final name only when it is complete and synced. The draft of a killed gdn process is removed, or completed if it
 * contains a keystore.
 *
 * @throws GdnError `invalid_input` if the name is taken or nothing can be written
 */
export async function reserve(folder: string, name: string): Promise<NameReservation> {
  makeWalletFolder(folder)
  const draft = draftPath(folder, name)
  refuseKeystore(folder, name)
  let file: FileHandle | null = await takeDraft(folder, name)
  const path = keystorePath(folder, name)
  const keepDraft = async () => {
    const open = file
    file = null
    await open?.close()
  }
  const release = async () => {
    if (file === null) return
    await keepDraft()
    await rm(draft, { force: true })
  }
  try {
    // Check again, because the earlier owner of the draft may have given the name to a keystore.
    refuseKeystore(folder, name)
    await syncDirectory(folder)
  } catch (error) {
    await release()
    throw error instanceof GdnError ? error : cantWriteError(draft, error)
  }

  return {
    name,
    path,
    async keep(text, prove) {
      if (file === null) throw new Error('this reservation is over')
      // Overwrite the draft in place to use the reserved disk space.
      await file.write(text.padEnd(RESERVED_BYTES), 0)
      await file.truncate(Buffer.byteLength(text))
      await file.sync()
      await prove(draft)
      for (let copy = 1; copy <= MAX_COPIES; copy++) {
        const at = copy === 1 ? path : keystorePath(folder, `${name}-${copy}`)
        if (!(await linkNew(draft, at, text))) continue
        await syncDirectory(folder)
        await release()
        return at
      }
      throw new Error(`all names like ${path} are in use`)
    },
    release,
    keepDraft,
  }
}

const cantWriteError = (path: string, error: unknown) =>
  new GdnError('invalid_input', `can't store a wallet: ${messageOf(error)}`, {
    place: { file: path },
    hint: 'Nothing was created. Free some space, or set XDG_DATA_HOME to another directory.',
    cause: error,
  })

/** Creates the draft together with the record of its owner, atomically. */
async function takeDraft(folder: string, name: string): Promise<FileHandle> {
  const draft = draftPath(folder, name)
  const temp = join(folder, `.${name}.${randomBytes(6).toString('hex')}`)
  let file: FileHandle | null = null
  try {
    file = await open(temp, 'wx', 0o600)
    await file.write(JSON.stringify({ reserved_by: await ownIdentity() }).padEnd(RESERVED_BYTES), 0)
    await file.sync()
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (await claimDraft(temp, draft)) return file
      await clearReservation(folder, name)
    }
    throw new Error(`${draft} reappears each time it is removed`)
  } catch (error) {
    await file?.close()
    throw error instanceof GdnError ? error : cantWriteError(draft, error)
  } finally {
    await rm(temp, { force: true })
  }
}

/**
 * Publishes a temporary file under the name of the draft. Returns false if the name is taken. Without hard links,
 * checks the name first and then renames the file.
 */
async function claimDraft(temp: string, draft: string): Promise<boolean> {
  try {
    await link(temp, draft)
    return true
  } catch (error) {
    const code = systemCode(error) ?? ''
    if (code === 'EEXIST' || existsSync(draft)) return false
    if (!NO_LINKS.has(code)) throw error
    await rename(temp, draft)
    return true
  }
}

/**
 * Removes the draft of a killed gdn process, or completes the draft if it contains a keystore.
 *
 * @throws GdnError `invalid_input` if another process has reserved the name, if a keystore now has the name, or if the
 * draft may contain a key
 */
export async function clearReservation(folder: string, name: string): Promise<void> {
  const draft = draftPath(folder, name)
  if (lstatSync(draft, { throwIfNoEntry: false }) === undefined) return
  const text = readSecretFile(draft, MAX_KEYSTORE_BYTES)
  const owner = parseOwner(text)
  if (owner !== null) {
    if (await isAlive(owner)) {
      throw new GdnError('invalid_input', `another gdn process is creating @${name} (pid ${owner.pid})`, {
        hint: 'Choose another name, or wait until that process ends.',
      })
    }
    return await rm(draft, { force: true })
  }
  const path = keystorePath(folder, name)
  if (isKeystore(text) && (await linkNew(draft, path, text))) {
    await syncDirectory(folder)
    await rm(draft, { force: true })
    throw nameTakenError(name, path)
  }
  throw new GdnError('invalid_input', 'was left by a gdn process that was stopped, and may contain a key', {
    place: { file: draft },
    hint: `Check the file. If you don't need it, run \`rm ${shellWord(draft)}\`.`,
  })
}

function parseOwner(text: string): ProcessIdentity | null {
  try {
    const { reserved_by } = JSON.parse(text) as { reserved_by?: Partial<ProcessIdentity> }
    const { pid, startedAt = null, bootId = null } = reserved_by ?? {}
    return typeof pid === 'number' ? { pid, startedAt, bootId } : null
  } catch {
    return null
  }
}

function isKeystore(text: string): boolean {
  try {
    parseKeystore(text, 'the draft')
    return true
  } catch {
    return false
  }
}
