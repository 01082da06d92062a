import { expect, test } from 'vitest'
import { type ArchiveStore, COLLECTION_KEY } from '../../src/archive/archive-store.ts'
import { DEFAULT_LIMITS } from '../../src/archive/limits.ts'
import type { SourceReader } from '../../src/archive/read-source.ts'
import { readTokens } from '../../src/archive/read-tokens.ts'
import { numberKey } from '../../src/holders/number-key.ts'

test('counts the tokens, but not the metadata of the contract', async () => {
  const finished: string[] = []
  const store = {
    tokens: () =>
      [COLLECTION_KEY, numberKey(1n), numberKey(2n)].map((token) => ({ token, uri: null }))[Symbol.iterator](),
    finishToken: (token: string) => finished.push(token),
  }
  let tokens = 0
  await readTokens({
    store: store as unknown as ArchiveStore,
    reader: {} as SourceReader,
    limits: DEFAULT_LIMITS,
    standard: 'erc721',
    arweave: 'https://arweave.example',
    wholeDirectory: false,
    keepsFiles: true,
    signal: new AbortController().signal,
    onToken: () => tokens++,
  })
  expect([finished.length, tokens]).toEqual([3, 2])
})
