import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CarBufferReader } from '@ipld/car/buffer-reader'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCompletenessCheck, rootsWithoutIndex } from '../../src/archive/complete-content.ts'
import { openDamagedArchive } from '../../src/archive/read-archive.ts'
import type { GdnError } from '../../src/core/errors.ts'
import { parseCid } from '../../src/ipfs/cid.ts'
import { cli, tempHome } from '../cli/harness.ts'
import { freshDataDir } from '../helpers/backend.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { drop, pixels } from './collection-world.ts'

const { signal } = new AbortController()

/** Archives a collection. Returns the file, and where its blocks begin and end. */
async function archived(tokens: number) {
  const world = await drop(tokens)
  const { dir, env } = await tempHome()
  const path = join(dir, 'whole.car')
  expect((await cli(['collection', 'archive', ...world.flags, '--to', path], { env })).code).toBe(0)
  const bytes = await readFile(path)
  const sections: { cid: string; start: number; end: number }[] = []
  for (const block of CarBufferReader.fromBytes(bytes).blocks()) {
    const body = bytes.indexOf(Buffer.concat([block.cid.bytes, block.bytes]))
    const length = block.cid.bytes.length + block.bytes.length
    const start = body - (length < 0x80 ? 1 : length < 0x4000 ? 2 : 3)
    sections.push({ cid: String(parseCid(block.cid.toString())), start, end: body + length })
  }
  return { world, path, bytes, sections, env }
}

/** Writes bytes to a file of its own. */
async function fileOf(bytes: Buffer): Promise<string> {
  const dir = await temporaryFolder('gdn-intact-')
  const path = join(dir, 'damaged.car')
  await writeFile(path, bytes)
  return path
}

test('every block that the damage does not touch is found, and no other', { timeout: 120_000 }, async () => {
  const { bytes, sections } = await archived(8)
  const at = fc.nat(bytes.length - 1)
  const damage = fc.record({
    at,
    length: fc.integer({ min: 1, max: 3000 }),
    kind: fc.constantFrom('overwrite', 'remove', 'insert', 'zero', 'cut'),
    noise: fc.uint8Array({ minLength: 3000, maxLength: 3000 }),
  })
  const path = await fileOf(bytes)
  await fc.assert(
    fc.asyncProperty(damage, async ({ at, length, kind, noise }) => {
      const end = kind === 'cut' ? bytes.length : kind === 'insert' ? at : Math.min(bytes.length, at + length)
      const put = kind === 'overwrite' ? noise.slice(0, end - at) : kind === 'insert' ? noise.slice(0, length) : []
      const filler = kind === 'zero' ? Buffer.alloc(end - at) : Buffer.from(put)
      await writeFile(path, Buffer.concat([bytes.subarray(0, at), filler, bytes.subarray(end)]))
      const isTouched = (section: { start: number; end: number }) =>
        kind === 'insert' ? section.start < at && at < section.end : section.start < end && section.end > at
      const intact = sections.filter((section) => !isTouched(section)).map(({ cid }) => cid)
      if (intact.length === 0) return
      const damages: GdnError[] = []
      const archive = await openDamagedArchive(path, { signal, onDamage: (error) => damages.push(error) })
      try {
        const found = [...archive.cids()]
        expect(found).toEqual(expect.arrayContaining(intact))
        const known = new Set(sections.map(({ cid }) => cid))
        expect(found.filter((cid) => !known.has(cid))).toEqual([])
        expect(found.length).toBeLessThanOrEqual(sections.length)
      } finally {
        await archive.close()
      }
    }),
    { numRuns: process.env.GDN_SOAK === '1' ? 2000 : 150 },
  )
})

test('a damaged index loses no other block, and complete files are found without it', async () => {
  const { bytes, sections, world, env } = await archived(3)
  const [index] = sections
  if (index === undefined) throw new Error('no index')
  bytes.writeUInt8(bytes.readUInt8(index.end - 5) ^ 1, index.end - 5)
  const path = await fileOf(bytes)
  const archive = await openDamagedArchive(path, { signal, onDamage: () => {} })
  const isComplete = createCompletenessCheck(archive)
  const roots: string[] = []
  for await (const root of rootsWithoutIndex(archive)) roots.push(root)
  expect(archive.index).toBeNull()
  for (const uri of world.uris.values()) {
    const [cid = ''] = uri.slice('ipfs://'.length).split('/')
    const root = parseCid(cid)
    expect(root !== null && (await isComplete(root))).toBe(true)
    expect(roots).toContain(String(root))
  }
  await archive.close()

  const dataDir = await freshDataDir()
  whenTestDone(() => dataDir.remove())
  const restore = ['collection', 'restore', path, '--data-dir', dataDir.path, '--intact', '--json']
  const { code, stdout, stderr } = await cli(restore, { env })
  expect(code).toBe(7)
  expect(JSON.parse(stdout)).toMatchObject({ contract_address: null, tokens: null, blocks: sections.length - 1 })
  expect(stderr).toContain('the archive has a damaged index, so the lost files are unknown')
})

test('an archive whose first bytes are lost is restored without its index', async () => {
  const { bytes, sections } = await archived(3)
  const archive = await openDamagedArchive(await fileOf(bytes.subarray(20)), { signal, onDamage: () => {} })
  expect(archive.blockCount).toBe(sections.length)
  expect(archive.index).toBeNull()
  await archive.close()
})

test.each([
  ['the format', 3],
  ['the CID of the index', 50],
])('an archive whose header has other bytes in %s is restored completely', async (_name, at) => {
  const { bytes, sections, env } = await archived(3)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  const path = await fileOf(bytes)
  const dataDir = await freshDataDir()
  whenTestDone(() => dataDir.remove())
  const restore = ['collection', 'restore', path, '--data-dir', dataDir.path, '--json']
  const refused = await cli(restore, { env })
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('restore --intact')])
  const { code, stdout, stderr } = await cli([...restore, '--intact'], { env })
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ tokens: 3, answering: 3, unreadable: 0, blocks: sections.length })
})

test('a file without an intact block is refused', async () => {
  const path = await fileOf(Buffer.from(pixels(7)))
  await expect(openDamagedArchive(path, { signal, onDamage: () => {} })).rejects.toThrow(
    'the file has no intact blocks',
  )
})

test('a file that names a large block at each of its bytes ends the search', async () => {
  const head = Buffer.concat([Buffer.from([0xff, 0xff, 0x7f, 1, 0x55, 0x12, 0x20]), Buffer.alloc(25)])
  const hostile = Buffer.concat(Array.from({ length: 200_000 }, () => head))
  const path = await fileOf(hostile)
  await expect(openDamagedArchive(path, { signal, onDamage: () => {} })).rejects.toThrow(
    'the file has no intact blocks',
  )
})
