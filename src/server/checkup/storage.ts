import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError, messageOf } from '../../core/errors.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { rawCid } from '../../ipfs/cid.ts'
import type { StorageEntry } from '../settings/storage-schema.ts'
import type { RemoteContext } from '../storage/remote/open-remote.ts'
import type { RemoteFiles } from '../storage/remote/remote-files.ts'
import { type CheckResult, examine, msSince } from './check-result.ts'

/** The content of the test file. It is always the same, so that repeated checks store only one small file. */
const CONTENT = Buffer.from('gdn doctor writes this file, and reads it back.\n')
const LITTLE_BYTES = 1024 ** 3

/** Checks that a file can be written and read back, in the data directory and in remote storage. */
export async function examineStorage(
  entry: StorageEntry,
  dataDir: string,
  context: RemoteContext,
): Promise<CheckResult[]> {
  const examined = [await examine('data dir', () => inDataDir(dataDir))]
  if (entry.kind === 'files') return examined
  const { openRemoteFiles } = await import('../storage/remote/open-remote.ts')
  return [
    ...examined,
    await examine('storage', async () => {
      const remote = await openRemoteFiles(entry, context)
      if (remote === null) return { message: 'the data directory' }
      try {
        return { message: await writeAndRead(remote) }
      } finally {
        await remote.close()
      }
    }),
  ]
}

async function writeAndRead(remote: RemoteFiles): Promise<string> {
  await remote.check()
  const cid = rawCid(CONTENT)
  const since = performance.now()
  await remote.put(cid, {
    size: CONTENT.length,
    sha256: sha256Hex(CONTENT),
    async *read(start, end) {
      yield CONTENT.subarray(start, end)
    },
  })
  const written = msSince(since)
  const parts: Uint8Array[] = []
  for await (const part of remote.read(cid, 0, CONTENT.length)) parts.push(part)
  if (Buffer.concat(parts).equals(CONTENT)) {
    return `${remote.name} stores a file in ${written} ms and returns it in ${msSince(since) - written} ms`
  }
  throw new GdnError('bad_answer', `${remote.name} returns bytes that differ from the stored bytes`, {
    hint: 'Check whether a proxy alters data between this machine and the storage.',
  })
}

async function inDataDir(dataDir: string): Promise<{ message: string; fix?: string }> {
  const path = join(dataDir, `.doctor-${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(CONTENT)
      await file.sync()
    } finally {
      await file.close()
    }
    if (!(await readFile(path)).equals(CONTENT)) throw new Error('it returns bytes that differ from the written bytes')
  } catch (cause) {
    throw new GdnError('data_dir', `${dataDir} can't be used: ${messageOf(cause)}`, {
      hint: 'Free disk space and check the write permission, or choose another directory with --data-dir.',
      cause,
    })
  } finally {
    await rm(path, { force: true }).catch(() => {})
  }
  const { bavail, bsize } = await statfs(dataDir)
  const free = bavail * bsize
  const message = `${dataDir} is writable, ${(free / 1024 ** 3).toFixed(1)} GiB free`
  return free < LITTLE_BYTES ? { message, fix: 'Free disk space: a full disk stops the backend.' } : { message }
}
