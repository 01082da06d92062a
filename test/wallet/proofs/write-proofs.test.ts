import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { fileError } from '../../../src/core/file-error.ts'
import { buildProofs } from '../../../src/wallet/proofs/build-proofs.ts'
import { writeProofs } from '../../../src/wallet/proofs/write-proofs.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

/** What the code did, in order: the names of synced files, and of renamed folders. */
const done: string[] = []
/** Fails an operation with a system error that has no path, as those of file handles. */
let fail: (operation: string, path: string) => string | undefined = () => undefined

function failing(operation: string, path: string): void {
  const code = fail(operation, path)
  if (code !== undefined) throw Object.assign(new Error(code), { code, errno: -1, syscall: operation })
}

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const renameSync: typeof fs.renameSync = (from, to) => {
    failing('rename', String(to))
    fs.renameSync(from, to)
    done.push(`rename ${basename(String(from))} ${basename(String(to))}`)
  }
  return { ...fs, default: fs, renameSync }
})

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>()
  const open: typeof fs.open = async (path, ...rest) => {
    const file = await fs.open(path, ...rest)
    const { sync } = file
    file.sync = async () => {
      done.push(`sync ${basename(String(path))}`)
      await sync.call(file)
    }
    return file
  }
  const mocked: typeof fs.writeFile = async (path, ...rest) => {
    failing('write', String(path))
    await fs.writeFile(path, ...rest)
  }
  return { ...fs, default: fs, open, writeFile: mocked }
})

beforeEach(() => {
  done.length = 0
  fail = () => undefined
})

async function folder() {
  const dir = await temporaryFolder('gdn-proofs-')
  return { dir, claim: join(dir, 'claim') }
}

const { signal } = new AbortController()

async function write(claim: string, receivers: number, replace = true) {
  const list = Array.from({ length: receivers }, (_, i) => `0x${String(i + 1).padStart(40, '0')}\n`).join('')
  const file = `${claim}.csv`
  await writeFile(file, list)
  const { set } = await buildProofs({ path: file }, 'oz', { params: null, signal, onProgress: () => {} })
  done.length = 0
  await writeProofs(claim, set, { receivers }, { replace, signal })
}

const receiversIn = async (claim: string) => JSON.parse(await readFile(join(claim, 'root.json'), 'utf8')).receivers

test('syncs each file before the folder gets its name', async () => {
  const { claim } = await folder()
  await write(claim, 3)
  // The files are written at the same time.
  const renamed = done.pop()
  expect(done.sort()).toEqual(['sync 000.json', 'sync root.json', 'sync tree.json'])
  expect(renamed).toBe('rename new claim')
})

test('moves an earlier folder away only when the new one is complete', async () => {
  const { dir, claim } = await folder()
  await write(claim, 3)
  await write(claim, 4)
  expect(done.slice(-2)).toEqual(['rename claim old', 'rename new claim'])
  expect(await receiversIn(claim)).toBe(4)
  expect((await readdir(dir)).sort()).toEqual(['claim', 'claim.csv'])
})

test('keeps the earlier folder if the new one can not get its name', async () => {
  const { dir, claim } = await folder()
  await write(claim, 3)
  let isFirst = true
  fail = (operation, path) => {
    if (operation !== 'rename' || path !== claim || !isFirst) return undefined
    isFirst = false
    return 'EIO'
  }
  await expect(write(claim, 4)).rejects.toMatchObject({ code: 'EIO' })
  expect(await receiversIn(claim)).toBe(3)
  expect((await readdir(dir)).sort()).toEqual(['claim', 'claim.csv'])
})

test('names the folder if the disk is full', async () => {
  const { claim } = await folder()
  fail = (_operation, path) => (path.endsWith('.csv') ? undefined : 'ENOSPC')
  const error = await write(claim, 3).catch((thrown: unknown) => thrown)
  expect(fileError(error)).toMatchObject({ code: 'file_error', place: { file: claim } })
  expect(existsSync(claim)).toBe(false)
})

test('names the flag if the folder is a mount point', async () => {
  const { claim } = await folder()
  await mkdir(claim)
  fail = (operation) => (operation === 'rename' ? 'EBUSY' : undefined)
  await expect(write(claim, 3)).rejects.toMatchObject({ code: 'usage', place: { flag: '--out' } })
  expect(existsSync(claim)).toBe(true)
})

test('removes what killed processes left behind, but nothing new and nothing of others', async () => {
  const { dir, claim } = await folder()
  for (const name of ['.claim.aB3dE6', '.claim.new123', '.claim.backup-of-mine', '.other.aB3dE6']) {
    await mkdir(join(dir, name, 'old'), { recursive: true })
    if (name !== '.claim.new123') await utimes(join(dir, name), 1, 1)
  }
  await write(claim, 3)
  expect((await readdir(dir)).filter((name) => name.startsWith('.')).sort()).toEqual([
    '.claim.backup-of-mine',
    '.claim.new123',
    '.other.aB3dE6',
  ])
})
