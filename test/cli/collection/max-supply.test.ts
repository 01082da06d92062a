/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  type TestBackend,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { folder } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'

const [, BOB] = WALLETS
const ownerKey = generatePrivateKey()
const owner = privateKeyToAccount(ownerKey).address

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `r${from + index},Piece ${from + index},x,${BOB}\n`).join('')
const HEAD = 'id,title,description,receiver\n'

/** A machine with its own state, the owner's wallet and a manifest of `count` rows. */
async function machine(count = 1) {
  const { path, options } = await folder({ 'drop.csv': HEAD + rows(1, count) })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  await writeKeystore(path('owner.json'), ownerKey)
  await writePassword(path('pw'))
  return {
    path,
    run: (...args: string[]) => cli([...args, '--base-url', backend.url], { ...options, env }),
    /** Calls a function after the command has compared the rows with what is left. */
    runAfter: (permit: () => Promise<null>, ...args: string[]) =>
      cli([...args, '--base-url', backend.url], { ...options, env, permit }),
    tty: (...args: string[]) => cli([...args, '--base-url', backend.url], { ...options, env, tty: true }),
  }
}

const limited = (max_supply?: number) => createTestCollection(backend, { wallet_address: owner, max_supply })
const supplyOf = (address: string) => call(backend, 'getsupply', { contract_address: address, blockchain: 'polygon' })
const on = (address: string) => ['-c', address, '-b', 'polygon']

describe('collection create --max-supply', () => {
  const create = (more: readonly string[]) => [
    ...['collection', 'create', '--name', 'Tides', '-b', 'polygon', '--wallet', owner],
    ...more,
  ]

  test('limits the collection, and collection show shows the limit', async () => {
    const { run } = await machine()
    const createResult = await run(...create(['--max-supply', '1000', '--json', '--yes']))
    expect(createResult.code, createResult.stderr).toBe(0)
    const { contract_address, max_supply } = JSON.parse(createResult.stdout)
    expect(max_supply).toBe(1000)
    expect(await supplyOf(contract_address)).toMatchObject({ max_supply: 1000, left: 1000 })
    const showResult = await run('collection', 'show', contract_address, '--json')
    expect(JSON.parse(showResult.stdout)).toMatchObject({ max_supply: 1000, is_read_from_chain: true })
  })

  test.each(['0', '-1', '1.5', '1e3', '9007199254740992', '18446744073709551616', '∞', ''])(
    'is refused with %j',
    async (value) => {
      const { run } = await machine()
      const result = await run(...create([`--max-supply=${value}`, '--json']))
      expect(result.code).toBe(2)
      expect(errorOf(result).message).toMatch(/^--max-supply: must be a whole number from 1 to 9007199254740991, not "/)
    },
  )

  test('is refused by a server that would ignore it, and by none that has it in a file', async () => {
    const api = await fakeApi({})
    const { path, run } = await machine()
    const argv = create(['--max-supply', '5', '--json', '--base-url', api.url])
    const { options } = await folder({})
    const result = await cli(argv, options)
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      message: expect.stringMatching(/^--max-supply: .* can't limit the supply of a collection$/),
      hint: 'Nothing was sent. Omit --max-supply.',
    })
    const dry = await cli([...argv, '--dry-run'], options)
    expect([dry.code, errorOf(dry).message]).toEqual([2, errorOf(result).message])
    const offline = ['--max-supply', '5', '--dry-run', '--base-url', 'http://127.0.0.1:9']
    expect((await cli(create(offline), options)).code).toBe(0)
    expect(api.bodies('createcollection')).toEqual([])
    await writeFile(path('c.json'), JSON.stringify({ max_supply: 0 }))
    const bad = await run(...create(['-f', path('c.json'), '--json']))
    expect([bad.code, errorOf(bad).message]).toEqual([2, expect.stringMatching(/max_supply.* must be 1 or more/)])
    await writeFile(path('c.json'), JSON.stringify({ max_supply: 7 }))
    const good = await run(...create(['-f', path('c.json'), '--json']))
    expect(JSON.parse(good.stdout)).toMatchObject({ max_supply: 7 })
  })
})

describe('collection set --max-supply', () => {
  async function setter(address: string) {
    const { path, run, tty } = await machine()
    const as = ['--wallet', path('owner.json'), '--password-file', path('pw')]
    const argv = (value: string, more: readonly string[]) => [
      ...['collection', 'set', address, '-b', 'polygon', '--max-supply', value, ...as],
      ...more,
    ]
    return {
      set: (value: string, ...more: string[]) => run(...argv(value, ['--json', '--yes', ...more])),
      ask: (value: string) => tty(...argv(value, [])),
    }
  }

  test('only lowers the limit, to no less than what was minted or accepted, and burned NFTs count', async () => {
    const { address, id } = await limited(100)
    await settled(backend, await mint(backend, { address, blockchain: 'polygon' }, plainMetadata(3)))
    const { set } = await setter(address)
    const refused = async (value: string) => {
      const result = await set(value)
      expect(result.code).toBe(2)
      return errorOf(result).message
    }
    expect(await refused('0')).toMatch(/^--max-supply: must be a whole number from 1/)
    expect(await refused('101')).toBe('--max-supply: can only be lowered, and is 100 now')
    expect(await refused('2')).toBe("--max-supply: can't be 2: 3 NFTs were minted, including burned ones")
    const release = await holdSigning(backend.dataDir, 'mint')
    const ids = await mint(backend, { address, blockchain: 'polygon' }, plainMetadata(4))
    expect(await refused('6')).toBe(
      "--max-supply: can't be 6: 3 NFTs were minted, including burned ones, and 4 more were accepted",
    )
    const done = await set('7')
    expect(done.code, done.stderr).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject([
      { setting: 'max_supply', before: 100, after: 7, irreversible: true, status: 'confirmed' },
    ])
    await release()
    expect((await settled(backend, ids)).map(({ status }) => status)).toEqual(ids.map(() => 'deployed'))
    await until(
      () => showCollection(backend, id),
      ({ max_supply }) => max_supply === 7,
    )
    expect(await set('7')).toMatchObject({ code: 0, stdout: '[]\n' })
    expect(errorOf(await set('8')).hint).toBe(
      "Nothing was sent. All 7 NFTs are minted or accepted, so the maximum can't be lowered.",
    )
  })

  test('limits a collection that had no limit, and prompts because it cannot be undone', async () => {
    const { address } = await limited()
    await settled(backend, await mint(backend, { address, blockchain: 'polygon' }, plainMetadata(1)))
    const { set, ask } = await setter(address)
    const planned = await set('5', '--dry-run')
    expect(JSON.parse(planned.stdout)).toMatchObject([{ setting: 'max_supply', before: null, after: 5 }])
    const promptResult = await ask('5')
    expect(promptResult.stderr).toMatch(/Limit the collection to 5 NFTs \(.*undone\./s)
    expect(await supplyOf(address)).toMatchObject({ max_supply: null })
    expect(await set('5')).toMatchObject({ code: 0 })
    await until(
      () => supplyOf(address),
      ({ left }) => left === 4,
    )
  })
})

describe('a manifest with more rows than are left', () => {
  const REFUSED = { code: 'refused', hint: expect.stringContaining('Nothing was sent.') }

  test('is refused by batch mint, its dry run, plan and apply, before anything is sent', async () => {
    const { address } = await limited(4)
    await settled(backend, await mint(backend, { address, blockchain: 'polygon' }, plainMetadata(1)))
    const { path, run } = await machine(4)
    const text =
      "drop.csv: there are 4 rows to mint, but only 3 are left of the collection's maximum supply of 4 (1 minted and 0 accepted)"
    for (const command of [['batch', 'mint', '--yes'], ['batch', 'mint', '--dry-run'], ['plan'], ['apply', '--yes']]) {
      const result = await run(...command, path('drop.csv'), ...on(address), '--json')
      expect([command, result.code, errorOf(result)]).toEqual([
        command,
        5,
        expect.objectContaining({ ...REFUSED, message: expect.stringContaining(text) }),
      ])
    }
    const validated = await run('batch', 'validate', path('drop.csv'), ...on(address), '--json')
    expect(validated.code, validated.stderr).toBe(0)
    expect(validated.stdout).toContain(text.replace('drop.csv: ', ''))
    expect(await supplyOf(address)).toMatchObject({ minted: 1, accepted: 0, left: 3 })
  })

  test('is minted in part first, and resumed with the rows that are left', async () => {
    const { address } = await limited(4)
    const { path, run } = await machine(3)
    const args = ['batch', 'mint', path('drop.csv'), ...on(address), '--json', '--yes']
    const first = await run(...args)
    expect(first.code, first.stderr).toBe(0)
    await writeFile(path('drop.csv'), HEAD + rows(1, 5))
    const second = await run(...args)
    expect([second.code, errorOf(second).message]).toEqual([
      5,
      expect.stringContaining('2 rows to mint, but only 1 is left'),
    ])
    const validate = async () => (await run('batch', 'validate', path('drop.csv'), ...on(address), '--json')).stdout
    expect(await validate()).toContain('2 rows to mint, but only 1 is left')
    await writeFile(path('drop.csv'), HEAD + rows(1, 4))
    expect(await validate()).not.toContain('rows to mint')
    const third = await run(...args)
    expect(third.code, third.stderr).toBe(0)
    expect(await supplyOf(address)).toMatchObject({ minted: 4, accepted: 0, left: 0 })
    // All rows are minted, so that the same command isn't refused although none is left.
    expect(await run('apply', path('drop.csv'), ...on(address), '--json', '--yes')).toMatchObject({ code: 0 })
    expect(await run('plan', path('drop.csv'), ...on(address), '--json')).toMatchObject({ code: 0 })
  })

  test('is minted by another machine only as far as NFTs are left', async () => {
    const { address } = await limited(3)
    const first = await machine(3)
    expect(await first.run('batch', 'mint', first.path('drop.csv'), ...on(address), '--run', 'a')).toMatchObject({
      code: 0,
    })
    const second = await machine(3)
    const sameResult = await second.run(
      'batch',
      'mint',
      second.path('drop.csv'),
      ...on(address),
      '--run',
      'a',
      '--json',
    )
    expect(sameResult.code, sameResult.stderr).toBe(0)
    expect(await supplyOf(address)).toMatchObject({ minted: 3, left: 0 })
  })

  test('is validated without a warning of rows that another machine has minted', async () => {
    const { address } = await limited(3)
    const first = await machine(2)
    expect(await first.run('batch', 'mint', first.path('drop.csv'), ...on(address))).toMatchObject({ code: 0 })
    const second = await machine(2)
    const validate = async (...flags: string[]) => {
      const { code, stdout, stderr } = await second.run(
        ...['batch', 'validate', second.path('drop.csv'), ...on(address), ...flags],
      )
      expect(code, stderr).toBe(0)
      return stdout + stderr
    }
    expect(JSON.parse(await validate('--json'))).toMatchObject({ rows: 2, rows_on_server: 2 })
    expect(await validate()).toContain(
      'no errors. The server already has all rows. These rows were minted on another machine or with another state directory.',
    )
    await writeFile(second.path('drop.csv'), HEAD + rows(1, 3))
    expect(await validate()).toContain(
      'The server already has 2 of the rows. These rows were minted on another machine',
    )
    expect(await validate()).not.toContain('rows to mint')
    await writeFile(second.path('drop.csv'), HEAD + rows(1, 4))
    expect(await validate()).toContain('2 rows to mint, but only 1 is left')
    // Rows of a file with another name are other rows.
    await writeFile(second.path('other.csv'), HEAD + rows(1, 1))
    const other = await second.run('batch', 'validate', second.path('other.csv'), ...on(address), '--json')
    expect(JSON.parse(other.stdout)).toMatchObject({ rows_on_server: 0 })
    // The machine that minted them knows it without the server.
    const known = await first.run('batch', 'validate', first.path('drop.csv'), ...on(address))
    expect(known.stderr).toMatch(/The run drop(-\w+)? has minted this manifest\./)
  })
})

test('rows are minted up to the limit, if another machine mints in the meantime', async () => {
  const collection = await limited(9)
  const { path, runAfter, run } = await machine(8)
  const other = async () => {
    await settled(backend, await mint(backend, collection, plainMetadata(6)))
    return null
  }
  const args = [path('drop.csv'), ...on(collection.address)]
  const { code, stderr } = await runAfter(other, 'batch', 'mint', ...args, '--yes')
  expect(stderr).toContain('Continuing with 3 rows per request: the request has 8 NFTs, but only 3 are left')
  expect(code).toBe(7)
  const hint = 'Remove the rows that exceed the maximum supply from the manifest, or mint them in another collection.'
  expect(stderr).toContain(hint)
  expect(stderr).not.toContain('batch retry')
  const secondResult = await run('batch', 'mint', ...args, '--yes', '--json')
  expect([secondResult.code, errorOf(secondResult).hint]).toEqual([7, expect.stringContaining(hint)])
  const found = JSON.parse((await run('batch', 'results', path('drop.csv'), '--json')).stdout)
  expect(found.map(({ status }: { status: string }) => status)).toEqual([
    ...Array(3).fill('deployed'),
    ...Array(5).fill('failed'),
  ])
  expect(found[3].error).toContain('the request has 5 NFTs, but none is left')
  expect(await supplyOf(collection.address)).toMatchObject({ minted: 9, accepted: 0, left: 0 })
})

test('nft mint beyond the limit fails with what is left, and sends nothing again', async () => {
  const { address } = await limited(1)
  await settled(backend, await mint(backend, { address, blockchain: 'polygon' }, plainMetadata(1)))
  const { run } = await machine()
  const result = await run('nft', 'mint', ...on(address), '--receiver', BOB, '--title', 'Dawn', '--json')
  expect(result.code).toBe(5)
  expect(errorOf(result)).toMatchObject({
    code: 'refused',
    message: expect.stringContaining("none is left of the collection's maximum supply of 1 (1 minted and 0 accepted)"),
    hint: "Mint it in another collection, because the maximum supply can't be raised.",
  })
})
