/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completeValues } from '../../src/cli/completion/known-values.ts'
import { localDataDirectory, walletsDirectory } from '../../src/config/paths.ts'
import type { KnownCollectionOfServer } from '../../src/state/known-collections.ts'
import { enterDrop, type KnownDrop } from '../helpers/drops.ts'
import { enterCollections } from '../helpers/known-collections.ts'
import { saveAddresses } from '../helpers/saved-addresses.ts'
import { tempHome } from './harness.ts'

const ADDRESS = '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811'
const HOSTILE = 'x$(touch ran)`id`\'";|&\n\r\t\u001b]52;c;Zm9v\u0007\u202e'

async function home() {
  const { dir, env } = await tempHome()
  const state = join(dir, '.local', 'state', 'gdn')
  await mkdir(state, { recursive: true })
  await mkdir(join(dir, '.config', 'gdn'), { recursive: true })
  return {
    env,
    state,
    config: (value: unknown) => writeFile(join(dir, '.config', 'gdn', 'config.json'), JSON.stringify(value)),
    collections: (...all: Partial<KnownCollectionOfServer>[]) => enterCollections(state, ...all),
    run: (drop: KnownDrop, folder = state) => enterDrop(folder, ADDRESS, drop),
    values: async (kind: string, ...words: string[]) =>
      (await completeValues([kind, ...words], env))
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [line.split('\t')])),
  }
}

const BACKEND = '0197a1f2-7a10-4d55-8f2e-51c0d2e3f4a5'

const collection = (more: Partial<KnownCollectionOfServer>) => ({
  origin: `backend:${BACKEND}`,
  url: 'http://127.0.0.1:4000',
  contract_address: ADDRESS,
  ...more,
})

describe('values that completions read from this machine', () => {
  test('include profiles with their servers', async () => {
    const { config, values } = await home()
    expect(await values('profiles')).toEqual([['local', 'Use the local backend (gdn local start)']])
    await config({ profiles: { main: { base_url: 'https://api.example' }, empty: {} } })
    expect(await values('profiles')).toEqual([
      ['local', expect.any(String)],
      ['main', 'https://api.example'],
      ['empty', ''],
    ])
  })

  test('include runs with manifest, blockchain and day, and names of --run', async () => {
    const { run, values } = await home()
    await run({ id: '0123456789abcdef', name: 'drop-0123' })
    await run({ id: 'fedcba9876543210', name: 'spring-fedc', runName: 'spring', manifest: null })
    expect((await values('runs')).sort()).toEqual([
      ['drop-0123', 'drop.csv on polygon, 2026-11-03'],
      ['spring-fedc', 'spring on polygon, 2026-11-03'],
    ])
    expect(await values('run-names')).toEqual([['spring', 'spring on polygon, 2026-11-03']])
  })

  test('include collections with their names, filtered by the server and blockchain on the command line', async () => {
    const { collections, config, values, env } = await home()
    const [second, third] = [ADDRESS.replace('0xa', '0xb'), ADDRESS.replace('0xa', '0xc')]
    await config({ profiles: { main: { base_url: 'https://api.example/' } } })
    await mkdir(localDataDirectory(env), { recursive: true })
    await writeFile(join(localDataDirectory(env), 'backend-id'), BACKEND)
    await collections(
      collection({}),
      collection({
        transaction_gdn_id: 't-2',
        contract_address: second,
        name: 'Two',
        origin: 'https://api.example',
        url: null,
      }),
      collection({ transaction_gdn_id: 't-3', contract_address: third, name: 'Three', blockchain: 'astar' }),
      collection({ transaction_gdn_id: 't-4', contract_address: null }),
    )
    const found = async (...words: string[]) => (await values('collections', ...words)).map(([value]) => value)
    expect(await values('collections', '--local', '-b', 'polygon')).toEqual([[ADDRESS, 'Tidal Hours, polygon']])
    expect(await found()).toEqual([third, second, ADDRESS])
    expect(await found('nft', 'list', '--base-url=https://api.example')).toEqual([second])
    expect(await found('nft', 'list', '--profile', 'main')).toEqual([second])
    expect(await found('nft', 'list', '--profile', 'local')).toEqual([third, ADDRESS])
    expect(await found('nft', 'list', '--base-url', 'http://127.0.0.1:4000')).toEqual([third, ADDRESS])
    await collections(collection({ transaction_gdn_id: 't-5', name: 'Next', origin: 'backend:another' }))
    expect(await found('nft', 'list', '--base-url', 'http://127.0.0.1:4000')).toEqual([ADDRESS])
    expect(await values('collections', '--base-url', 'http://127.0.0.1:4000')).toEqual([[ADDRESS, 'Next, polygon']])
  })

  test('come from the state directory on the command line or in the environment', async () => {
    const { run, values, state } = await home()
    await mkdir(join(state, 'other', 'runs'), { recursive: true })
    await run({ id: '0123456789abcdef', name: 'elsewhere-0123' }, join(state, 'other'))
    expect(await values('runs')).toEqual([])
    expect(await values('runs', 'batch', 'status', '--state-dir', join(state, 'other'))).toHaveLength(1)
    expect(await values('runs', 'batch', 'status', `--state-dir='${join(state, 'other')}'`)).toHaveLength(1)
  })

  test('exclude names with a meaning for a shell, and replace such a run name by the ID', async () => {
    const { run, collections, config, values } = await home()
    await run({ id: '0123456789abcdef', name: HOSTILE, runName: HOSTILE })
    await config({ profiles: { [HOSTILE]: {}, '-rf': {}, fine: { base_url: HOSTILE } } })
    await collections(collection({ contract_address: HOSTILE }), collection({ transaction_gdn_id: '2', name: HOSTILE }))
    expect((await values('runs')).map(([value]) => value)).toEqual(['0123456789abcdef'])
    expect(await values('run-names')).toEqual([])
    expect((await values('profiles')).map(([value]) => value)).toEqual(['local', 'fine'])
    expect((await values('collections')).map(([value]) => value)).toEqual([ADDRESS])
  })

  test('are lines of a safe value, a tab, and text without control characters, for any content of the files', async () => {
    const { run, collections, config, values, env } = await home()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.json(), async (text, json) => {
        await run({ id: '0123456789abcdef', name: text, runName: text, manifest: text, at: text })
        await collections(collection({ name: text }), collection({ transaction_gdn_id: '2', contract_address: text }))
        await config({ profiles: { [text]: { base_url: text } }, json: JSON.parse(json) })
        for (const kind of ['runs', 'run-names', 'profiles', 'collections', text]) {
          expect(await completeValues([kind, text], env)).toMatch(
            /^([\p{L}\p{N}][\p{L}\p{N}._-]*\t[^\p{Cc}\u2028\u2029\u202a-\u202e]*\n)*$/u,
          )
        }
        expect((await values('collections'))[0]?.[0]).toBeDefined()
      }),
      { numRuns: 50 },
    )
  })

  test('are empty if a file is damaged', async () => {
    const { state, env, values } = await home()
    await writeFile(join(state, 'state.db'), Buffer.alloc(5000, 0xff))
    await mkdir(join(env.HOME ?? '', '.config', 'gdn', 'config.json'))
    for (const kind of ['runs', 'run-names', 'collections', '__proto__', '']) expect(await values(kind)).toEqual([])
  })
})

test('include wallets and saved addresses with their checksum addresses', async () => {
  const { env, state, values } = await home()
  await saveAddresses(state, { bob: ADDRESS })
  expect(await values('wallets')).toEqual([['@bob', `Address ${ADDRESS}`]])
  const folder = walletsDirectory(env)
  await mkdir(folder, { recursive: true })
  const address = ADDRESS.slice(2).toLowerCase()
  await writeFile(join(folder, 'alice.json'), JSON.stringify({ address, version: 3 }))
  expect(await values('wallets')).toEqual([
    ['@alice', `Wallet ${ADDRESS}`],
    ['@bob', `Address ${ADDRESS}`],
  ])
  expect(await values('wallets', 'nft', 'mint', '--state-dir', join(state, 'other'))).toHaveLength(1)
})

test('include Solana wallets with their own address, and no digits of the encrypted key', async () => {
  const { env, values } = await home()
  const folder = walletsDirectory(env)
  await mkdir(folder, { recursive: true })
  const address = '7v91N7iZ9mNicL8WfG6cgSCKyRXydQjLh6UYBWwm6y1Q'
  const crypto = { ciphertext: 'ab'.repeat(64) }
  await writeFile(join(folder, 'sol.json'), JSON.stringify({ address, crypto, version: 3 }))
  await writeFile(join(folder, 'unnamed.json'), JSON.stringify({ crypto, version: 3 }))
  expect(await values('wallets')).toEqual([
    ['@sol', `Wallet ${address}`],
    ['@unnamed', 'Wallet'],
  ])
})
