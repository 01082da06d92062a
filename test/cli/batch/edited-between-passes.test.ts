import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { BatchOptions } from '../../../src/batch/types.ts'
import type { BatchMintFlags } from '../../../src/cli/batch/options/flags.ts'
import { openUnrevealed } from '../../../src/cli/batch/reveal/unrevealed.ts'
import type { Connection, Deps } from '../../../src/cli/deps.ts'
import type { ManifestItem } from '../../../src/manifest/read.ts'
import { readManifest } from '../../../src/manifest/read.ts'
import { OWNER } from '../fake-api.ts'
import { folder } from './drop.ts'

const HEADER = 'title,description,receiver\n'
const [VALID, INVALID] = [`${HEADER}Dawn,x,${OWNER}\n`, `${HEADER}Dawn,x,\n`]

/** Opens a drop whose manifest is invalid in the first pass, and calls `between` before the next one. */
async function open(flags: Partial<BatchMintFlags>, signal = new AbortController().signal) {
  const { path } = await folder({
    'drop.csv': INVALID,
    'hidden.json': JSON.stringify({ title: 'H', description: 'W' }),
  })
  const deps = { io: { progress: async () => ({ update() {}, stop() {} }) }, signals: { signal }, cwd: path('.') }
  const options = {
    ...{ stateDir: path('state'), origin: 'http://127.0.0.1:9', blockchain: 'polygon', contractAddress: '0x1' },
    ...{ manifestPath: path('drop.csv'), reading: {}, backend: null, label: null },
  } as unknown as BatchOptions
  const target = { blockchain: 'polygon' as const, contractAddress: '0x1', receiver: null, sender: null }
  let passes = 0
  const read = () => {
    passes += 1
    return readManifest({ path: path('drop.csv') }, target as never)
  }
  const unrevealed = flags.unrevealed && path(flags.unrevealed)
  const opened = await openUnrevealed(deps as unknown as Deps, { options, read }, { unrevealed } as BatchMintFlags)
  return { ...opened, passes: () => passes, correct: () => writeFile(path('drop.csv'), VALID) }
}

/** The rows that planning would get. */
async function rowsOf(items: AsyncIterable<ManifestItem>): Promise<ManifestItem[]> {
  const rows: ManifestItem[] = []
  for await (const item of items) rows.push(item)
  return rows
}

/** A server that can't be asked for commitments. */
const away = {
  client: {
    async learnCapabilities() {
      throw new Error('away')
    },
  },
} as unknown as Connection

describe('rows that are corrected between two passes', () => {
  const edited = { code: 'refused', message: 'the manifest was edited while it was read' }

  test('are not minted revealed because the pass for the commitment found one invalid', async () => {
    const { read, correct } = await open({ unrevealed: 'hidden.json' })
    expect(await rowsOf(read())).toEqual([expect.objectContaining({ issue: expect.anything() })])
    await correct()
    await expect(rowsOf(read())).rejects.toMatchObject(edited)
  })

  test('are not minted without a look for a commitment', async () => {
    const { read, check, correct } = await open({})
    await check?.(away)
    await correct()
    await expect(rowsOf(read())).rejects.toMatchObject(edited)
  })
})

test('an interrupted look for a commitment reads no manifest', async () => {
  const interrupted = new AbortController()
  const { check, passes } = await open({}, interrupted.signal)
  interrupted.abort()
  await expect(check?.(away)).rejects.toThrow('away')
  expect(passes()).toBe(0)
})
