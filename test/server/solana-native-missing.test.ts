/** @module-tag slow */
import { beforeAll, expect, it, vi } from 'vitest'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
} from '../helpers/backend.ts'

const looked = vi.hoisted(() => ({ times: 0 }))

vi.mock('../../src/server/chain/solana/embedded/load-litesvm.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/server/chain/solana/embedded/load-litesvm.ts')>()
  const require = (name: string) => {
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' })
  }
  const loadLiteSvm = () => {
    looked.times += 1
    return original.loadLiteSvm({ platform: 'linux', arch: 'x64', require })
  }
  return { ...original, loadLiteSvm }
})

const actual = await vi.importActual<typeof import('../../src/server/chain/solana/embedded/load-litesvm.ts')>(
  '../../src/server/chain/solana/embedded/load-litesvm.ts',
)

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const ADDRESS = '7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q'

it('rejects a request for Solana without litesvm with 503, naming the package and the command', async () => {
  const collection = {
    name: 'Test',
    blockchain: 'solana',
    wallet_address: ADDRESS,
    description: '',
    image: 'ipfs://bafkreidckq4slwf6wpcevf3oyvzy73hweo5j56gtsu6rtb25a5dktclloi',
  }
  const nft = {
    contract_address: ADDRESS,
    blockchain: 'solana',
    receiver_wallet_address: ADDRESS,
    metadata: plainMetadata(1),
  }
  const answer = await backend.post('/api/v1/createcollection', collection)
  expect([answer.status, answer.headers.get('request-accepted')]).toEqual([503, 'no'])
  // The package is loaded once per request.
  expect(looked.times).toBe(1)
  expect(answer.json.error).toEqual({
    title: 'Service Unavailable',
    message: expect.stringMatching(
      /package litesvm-linux-x64-gnu is not installed.*npm install litesvm-linux-x64-gnu@1\.5/,
    ),
  })
  // A missing collection is reported first.
  expect((await backend.post('/api/v1/createnft', nft)).status).toBe(400)
})

it('reports a machine without a litesvm build, or on which it does not start', () => {
  expect(() => actual.loadLiteSvm({ platform: 'win32', arch: 'x64' })).toThrow(/has no build for win32-x64/)
  const require = () => {
    throw Object.assign(new Error('GLIBC_2.99 not found'), { code: 'ERR_DLOPEN_FAILED' })
  }
  const start = () => actual.loadLiteSvm({ platform: 'linux', arch: 'arm64', require })
  expect(start).toThrow("litesvm can't run on this machine: GLIBC_2.99 not found")
})

it('serves everything else without litesvm', async () => {
  const collection = await createTestCollection(backend)
  const [minted] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  expect(minted?.status).toBe('deployed')
})
