/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createWriter, headerLength } from '@ipld/car/buffer-writer'
import { expect, test } from 'vitest'
import { INDEX_FORMAT, INDEX_VERSION } from '../../src/archive/index-lines.ts'
import { openArchive } from '../../src/archive/read-archive.ts'
import { rawCid } from '../../src/ipfs/cid.ts'
import { memoryInUse } from '../helpers/hostile.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const BLOCKS = 20_000
/** The text of a CID has 59 bytes. As a chain of single characters, it takes about 2,000. */
const MAX_BYTES_PER_BLOCK = 500

test('an open archive keeps few bytes for each of its blocks', async () => {
  const folder = await temporaryFolder('gdn-large-')
  const path = join(folder, 'large.car')
  const header = {
    format: INDEX_FORMAT,
    version: INDEX_VERSION,
    contract: `0x${'1'.repeat(40)}`,
    blockchain: 'polygon',
  }
  const index = Buffer.from(`${JSON.stringify({ ...header, tokens: 0, whole_directory: false })}\n`)
  const blocks = [index, ...Array.from({ length: BLOCKS }, (_, n) => Buffer.from(`block ${n}`))]
  const options = { roots: [rawCid(index)] }
  const writer = createWriter(new ArrayBuffer(headerLength(options) + blocks.length * 64), options)
  for (const bytes of blocks) writer.write({ cid: rawCid(bytes), bytes })
  await writeFile(path, writer.close({ resize: true }))

  const before = memoryInUse()
  const archive = await openArchive(path, { signal: new AbortController().signal })
  const kept = memoryInUse() - before
  expect(archive.blockCount).toBe(BLOCKS + 1)
  expect((kept * 2 ** 20) / BLOCKS).toBeLessThan(MAX_BYTES_PER_BLOCK)
  await archive.close()
})
