/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CarBufferWriter } from '@ipld/car'
import { encode, prepare } from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { INDEX_FORMAT } from '../../src/archive/index-lines.ts'
import { nodeCid, rawCid } from '../../src/ipfs/cid.ts'
import { cli, tempHome } from '../cli/harness.ts'
import { CONTRACT, drop } from './collection-world.ts'

const HEADER = {
  format: INDEX_FORMAT,
  version: 1,
  contract: CONTRACT,
  blockchain: 'polygon',
  chain_id: 137,
  standard: 'ERC-721',
  block: { number: 16, hash: `0x${'16'.repeat(32)}`, time: '2026-11-01T00:00:00.000Z' },
  tokens: 1,
  files: 1,
  unreadable: 0,
  whole_directory: false,
}
const METADATA = Buffer.from('{"name":"Tide"}')
const TOKEN = {
  token_id: '1',
  uri: `ipfs://${rawCid(METADATA)}`,
  files: [{ field: 'metadata', url: `ipfs://${rawCid(METADATA)}`, cid: String(rawCid(METADATA)), size: 15 }],
}

/** The blocks of a file that somebody writes by hand. */
class Blocks {
  readonly all: { cid: CID; bytes: Uint8Array }[] = []

  #put(cid: CID, bytes: Uint8Array): CID {
    this.all.push({ cid, bytes })
    return cid
  }

  raw = (content: Buffer | string): CID => {
    const bytes = Buffer.from(content)
    return this.#put(rawCid(bytes), bytes)
  }

  node(parts: readonly { cid: CID; size: number }[]): CID {
    const file = new UnixFS({ type: 'file', blockSizes: parts.map(({ size }) => BigInt(size)) })
    const Links = parts.map(({ cid, size }) => ({ Name: '', Hash: cid, Tsize: size }))
    const bytes = encode(prepare({ Data: file.marshal(), Links }))
    return this.#put(nodeCid(bytes), bytes)
  }
}

const lines = (...values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** Writes an archive with these blocks, and restores it. */
async function restore(root: CID, { all }: Blocks) {
  const { dir, env } = await tempHome()
  const file = join(dir, 'hostile.car')
  const buffer = new ArrayBuffer(1024 + all.reduce((sum, { bytes }) => sum + bytes.length + 128, 0))
  const writer = CarBufferWriter.createWriter(buffer, { roots: [root] })
  for (const block of all) writer.write(block)
  await writeFile(file, writer.close())
  const data = join(dir, 'data')
  const result = await cli(['collection', 'restore', file, '--data-dir', data, '--json'], { env })
  return { ...result, file, env }
}

describe('an archive whose index', () => {
  const index = (make: (blocks: Blocks) => CID) => async () => {
    const blocks = new Blocks()
    blocks.raw(METADATA)
    return await restore(make(blocks), blocks)
  }
  const of =
    (header: unknown, ...tokens: unknown[]) =>
    (blocks: Blocks) =>
      blocks.raw(lines(header, ...tokens))
  /** A tree in which each level names the one below twice. */
  const repeated = (text: string) => (blocks: Blocks) => {
    const first = lines(HEADER, TOKEN)
    let part = { cid: blocks.raw(text), size: text.length }
    for (let level = 0; level < 30; level++) part = { cid: blocks.node([part, part]), size: part.size * 2 }
    return blocks.node([{ cid: blocks.raw(first), size: first.length }, part])
  }

  test.each<[string, (blocks: Blocks) => CID]>([
    ['repeats a part 2³⁰ times', repeated(lines(TOKEN))],
    ['repeats a part of one character', repeated(' ')],
    [
      'repeats empty parts',
      (blocks) => {
        let part = { cid: blocks.raw(''), size: 1 }
        for (let level = 0; level < 30; level++) part = { cid: blocks.node([part, part]), size: part.size * 2 }
        const first = lines(HEADER, TOKEN)
        return blocks.node([{ cid: blocks.raw(first), size: first.length }, part])
      },
    ],
    [
      'lacks a part',
      (blocks) => {
        const first = lines(HEADER)
        return blocks.node([
          { cid: blocks.raw(first), size: first.length },
          { cid: rawCid(Buffer.from('lost')), size: 4 },
        ])
      },
    ],
    [
      'is deeper than any file',
      (blocks) => {
        const first = lines(HEADER, TOKEN)
        let part = { cid: blocks.raw(first), size: first.length }
        for (let level = 0; level < 40; level++) part = { cid: blocks.node([part]), size: part.size }
        return part.cid
      },
    ],
    ['has a token ID that is no number', of(HEADER, { ...TOKEN, token_id: 'one' })],
    ['has a token ID with more digits than any token', of(HEADER, { ...TOKEN, token_id: '9'.repeat(1000) })],
    ['has a number of tokens that is none', of({ ...HEADER, tokens: 'many' }, TOKEN)],
    ['has a version that is no text', of({ ...HEADER, version: { toString: 1 } }, TOKEN)],
    ['has no contract', of({ ...HEADER, contract: { toString: 1 } }, TOKEN)],
    ['has a blockchain that is no text', of({ ...HEADER, blockchain: 7 }, TOKEN)],
  ])(
    '%s is no archive',
    async (_name, make) => {
      const { code, stderr, file } = await index(make)()
      expect(stderr).toContain(file)
      expect(stderr).toMatch(/index/)
      expect(stderr).toContain('Use another copy, or archive the collection again')
      expect(code).toBe(2)
    },
    20_000,
  )

  test('names content that the archive lacks answers for none of it', async () => {
    const lost = rawCid(Buffer.from('lost')).toString()
    const file = { ...TOKEN.files[0], cid: lost, url: `ipfs://${lost}` }
    const second = { token_id: '2', uri: `ipfs://${lost}`, files: [file] }
    const directory = { ...TOKEN, token_id: '3', uri: `ipfs://${lost}/3.json` }
    const { code, stdout, stderr } = await index(of({ ...HEADER, tokens: 3 }, TOKEN, second, directory))()
    expect(JSON.parse(stdout)).toMatchObject({ tokens: 3, answering: 1 })
    expect(stderr).toContain('the archive lacks the metadata of 2 of 3 tokens')
    expect(code).toBe(7)
  })

  test('is good is restored', async () => {
    const { code, stdout } = await index(of(HEADER, TOKEN))()
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ tokens: 1, answering: 1, blocks: 2 })])
  })
})

test('a check refuses an archive with a token ID that is no number', async () => {
  const world = await drop(1)
  const blocks = new Blocks()
  const root = blocks.raw(lines(HEADER, { ...TOKEN, token_id: '0x1' }))
  const { file, env } = await restore(root, blocks)
  const { code, stderr } = await cli(['collection', 'check', ...world.flags, '--archive', file], { env })
  expect([code, stderr]).toEqual([2, expect.stringContaining('a line of the index does not describe a token')])
})
