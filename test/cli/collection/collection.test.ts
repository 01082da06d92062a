/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { HEADERS } from '../../../src/api/headers.ts'
import { create } from '../../../src/cli/commands/collection/create.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { CONTRACT, DATE, fakeApi, OWNER, type Reply } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const ID = '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5'
const CREATE = ['collection', 'create', '--name', 'Dawn', '-b', 'polygon', '--wallet', OWNER]

const accepts = (request: object): Reply => ({
  body: { request, response: { transaction_gdn_id: ID, accepted_date: DATE } },
})

const record = (more: object = {}) => ({
  transaction_gdn_ids: ID,
  contract_address: CONTRACT,
  name: 'Dawn',
  blockchain: 'polygon',
  wallet_address: OWNER,
  status: 'deployed',
  ...more,
})

const told =
  (...collections: object[]) =>
  (): Reply => ({
    body: { requests: { transaction_gdn_ids: [ID] }, collections },
  })

async function home() {
  const { dir, env } = await tempHome()
  return { dir, env: { ...env, GDN_API_KEY: 'key' } }
}

describe('collection create', () => {
  test('reports a missing server before it prompts', async () => {
    const io = { isInteractive: true, stdoutTty: true, settings: { machine: false }, warn: () => {} }
    const missing = new GdnError('usage', 'no server is configured')
    const settings = async () => ({ blockchain: null, wallet: null, server: () => Promise.reject(missing) })
    const deps = { io, settings, addresses: async () => ({}) } as unknown as Deps
    await expect(create(deps, { name: 'Dawn' })).rejects.toBe(missing)
  })

  test('rejects an empty name before it needs a server', async () => {
    const { env } = await home()
    expect(errorOf(await cli(['collection', 'create', '--name', '', '--json'], { env })).message).toContain('--name: ')
    const { stderr } = await cli(['collection', 'create', '--name', '', '-b', 'polygon'], { env })
    expect(stderr).not.toContain('--wallet')
  })

  test('sends the flags, waits for deployment, and returns the address', { tags: ['promise'] }, async () => {
    let requestCount = 0
    const api = await fakeApi({
      createcollection: accepts,
      getcollections: () => told(++requestCount < 3 ? record({ status: 'initiated' }) : record())(),
    })
    const { env } = await home()
    const argv = [...CREATE, '--enable-transfer', '--no-enable-api', '--locked', '--base-url', api.url, '--json']
    const result = await cli(argv, { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(result.stdout)).toMatchObject({
      transaction_gdn_id: ID,
      contract_address: CONTRACT,
      status: 'deployed',
      name: 'Dawn',
      blockchain: 'polygon',
    })
    expect(api.bodies('createcollection')).toEqual([
      {
        name: 'Dawn',
        blockchain: 'polygon',
        wallet_address: OWNER,
        enable_transfer: true,
        enable_api: false,
        is_locked: true,
      },
    ])
    expect(requestCount).toBe(3)
  })

  test('omits fields whose flags are not given', async () => {
    const api = await fakeApi({ createcollection: accepts, getcollections: told(record()) })
    const { env } = await home()
    await cli([...CREATE, '--base-url', api.url], { env })
    expect(api.bodies('createcollection')).toEqual([{ name: 'Dawn', blockchain: 'polygon', wallet_address: OWNER }])
  })

  test('reads a JSON request from standard input; flags override it', async () => {
    const api = await fakeApi({ createcollection: accepts })
    const { env } = await home()
    const stdin = JSON.stringify({ name: 'A', blockchain: 'astar', wallet_address: OWNER })
    const { code } = await cli(['collection', 'create', '-f', '-', '--name', 'B', '--no-wait', '--base-url', api.url], {
      env,
      stdin,
    })
    expect(code).toBe(0)
    expect(api.bodies('createcollection')).toEqual([{ name: 'B', blockchain: 'astar', wallet_address: OWNER }])
  })

  test('prints addresses with -o ids, and nothing for a collection without one yet', async () => {
    const api = await fakeApi({ createcollection: accepts })
    const { env } = await home()
    const result = await cli([...CREATE, '--no-wait', '-o', 'ids', '--base-url', api.url], { env })
    expect(result).toMatchObject({ code: 0, stdout: '' })
  })

  test('without getcollections on the server, prints the request, says where the address is, and exits with 8', async () => {
    const api = await fakeApi({ createcollection: accepts })
    const { env } = await home()
    const result = await cli([...CREATE, '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(8)
    expect(JSON.parse(result.stdout)).toMatchObject({ transaction_gdn_id: ID, contract_address: null })
    expect(errorOf(result)).toMatchObject({ code: 'pending', hint: expect.stringContaining('website') })
  })

  test('treats records without a status as deployed once they have an address', async () => {
    const { status: _status, ...hosted } = record()
    const api = await fakeApi({ createcollection: accepts, getcollections: told(hosted) })
    const { env } = await home()
    expect((await cli([...CREATE, '--base-url', api.url], { env })).code).toBe(0)
  })

  test.each(['failed', 'error'])(
    'exits with 5 and the reason if the status of the collection is %s',
    async (status) => {
      const api = await fakeApi({
        createcollection: accepts,
        getcollections: told(record({ status, error: 'no gas' })),
      })
      const { env } = await home()
      const result = await cli([...CREATE, '--base-url', api.url, '--json'], { env })
      expect(result.code).toBe(5)
      expect(errorOf(result).message).toContain('no gas')
    },
  )

  test.each(['--dynamic', '--enable-burn'])('%s is refused by a server that would ignore it', async (flag) => {
    const api = await fakeApi({})
    const { env } = await home()
    const result = await cli([...CREATE, flag, '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toMatch(new RegExp(`^${flag}: .* can't (update|burn) NFTs`))
    expect(api.bodies('createcollection')).toEqual([])
  })

  test('shows the royalty as --royalty takes it', async () => {
    const api = await fakeApi({ createcollection: accepts, getcollections: told(record({ royalty_bps: 250 })) })
    const { env } = await home()
    const { stdout } = await cli([...CREATE, '--yes', '--base-url', api.url], { env, tty: true })
    expect(stdout).toMatch(/^ROYALTY +2\.5%$/m)
  })

  test('reports all missing flags at once', async () => {
    const { code, stderr } = await cli(['collection', 'create', '--base-url', 'http://127.0.0.1:9'])
    expect(code).toBe(2)
    for (const flag of ['--name', '--wallet', '--blockchain']) expect(stderr).toContain(`${flag}: is required`)
  })

  test('says how to create a wallet if none is specified, or names the saved ones', async () => {
    const { env } = await home()
    const argv = ['collection', 'create', '--name', 'Lamps', '-b', 'polygon']
    const stderr = async () => (await cli([...argv, '--local'], { env })).stderr
    expect(await stderr()).toContain('--wallet: is required\n  Add --wallet <address>.')
    expect(await stderr()).toContain('run `gdn wallet generate --name alice --local`')
    await cli(['wallet', 'add', '@bob', OWNER], { env })
    expect(await stderr()).toContain('Add --wallet with an address or a saved name (@bob).')
  })

  test('requires a description and an image on Solana', async () => {
    const wallet = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
    const argv = ['collection', 'create', '--name', 'x', '--wallet', wallet, '-b', 'solana']
    const { code, stderr } = await cli([...argv, '--base-url', 'http://127.0.0.1:9'])
    expect(code).toBe(2)
    for (const flag of ['--description', '--image']) expect(stderr).toContain(`${flag}: is required on Solana`)
  })
})

describe('a collection created here', () => {
  test('is stored for its server only: as the default, by its address, and in the list', async () => {
    const api = await fakeApi({
      createcollection: accepts,
      getcollections: told(record()),
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] },
      }),
    })
    const { env } = await home()
    const gdn = (...argv: string[]) => cli([...argv, '--base-url', api.url, '--json'], { env })
    await gdn(...CREATE)
    expect((await gdn('nft', 'list')).code).toBe(0)
    expect(api.bodies('getnftgdnids')).toEqual([{ contract_addresses: CONTRACT, blockchain: 'polygon' }])
    expect(JSON.parse((await gdn('collection', 'show', CONTRACT.toLowerCase())).stdout)).toMatchObject({
      transaction_gdn_id: ID,
    })
    expect(JSON.parse((await gdn('collection', 'list')).stdout)).toMatchObject([
      { contract_address: CONTRACT, status: 'deployed' },
    ])
    const other = await fakeApi({})
    const elsewhere = await cli(['nft', 'list', '--base-url', other.url, '--json'], { env })
    expect(errorOf(elsewhere)).toMatchObject({ code: 'usage', message: expect.stringContaining('--contract') })
  })

  test('is stored for a backend on this machine by its ID, regardless of its port', async () => {
    const is = (id: () => string) => ({ '/healthz': () => ({ body: { backend_id: id(), incarnation: id() } }) })
    const [first, second] = ['0197a1f2-7a10-4d55-8f2e-51c0d2e3f4a1', '0197a1f2-7a10-4d55-8f2e-51c0d2e3f4a2']
    let there = first
    const api = await fakeApi({ createcollection: accepts, getcollections: told(record()), ...is(() => there) })
    const moved = await fakeApi({ getcollections: told(record()), ...is(() => first) })
    const { env } = await home()
    const gdn = (...argv: string[]) => cli([...argv, '--json'], { env })
    await gdn(...CREATE, '--base-url', api.url)
    expect(JSON.parse((await gdn('collection', 'list', '--base-url', moved.url)).stdout)).toHaveLength(1)
    there = second
    expect(JSON.parse((await gdn('collection', 'list', '--base-url', api.url)).stdout)).toEqual([])
  })

  test('is stored in the directory of --state-dir', async () => {
    const api = await fakeApi({ createcollection: accepts, getcollections: told(record()) })
    const { env, dir } = await home()
    const at = ['--base-url', api.url, '--state-dir', `${dir}/elsewhere`]
    await cli([...CREATE, ...at], { env })
    expect(JSON.parse((await cli(['collection', 'list', ...at, '--json'], { env })).stdout)).toHaveLength(1)
    expect(JSON.parse((await cli(['collection', 'list', '--base-url', api.url, '--json'], { env })).stdout)).toEqual([])
  })

  test('is not chosen by default if the account has several', async () => {
    let n = 0
    const owned: string[] = []
    const addressOf = (id: string) => `0x${id.slice(3).repeat(40)}`
    const api = await fakeApi({
      createcollection: (request: object) => ({
        body: { request, response: { transaction_gdn_id: `id-${n}`, accepted_date: DATE } },
      }),
      getcollections: (requests: { transaction_gdn_ids: string[] }) => ({
        body: {
          requests,
          collections: requests.transaction_gdn_ids
            .filter((id) => owned.includes(id))
            .map((id) => record({ transaction_gdn_ids: id, contract_address: addressOf(id) })),
        },
      }),
    })
    const { env } = await home()
    for (n = 1; n <= 3; n++) {
      owned.push(`id-${n}`)
      await cli([...CREATE, '--base-url', api.url], { env })
    }
    // The third is of another account.
    owned.pop()
    const { code, stderr } = await cli(['nft', 'list', '--base-url', api.url], { env })
    expect(code).toBe(2)
    expect(stderr).toContain('several collections are known')
    expect(stderr).toContain('Add one of these:\n    --contract 0x')
    // The newest first.
    expect(stderr).toMatch(/--contract 0x2222.*--contract 0x1111/s)
    expect(stderr).not.toContain('0x3333')
    const set = await cli(['collection', 'set', '--royalty', '5%', '--base-url', api.url], { env })
    expect(set.code).toBe(2)
    expect(set.stderr).toContain('<address>: several collections are known, and none is specified')
    expect(set.stderr).toContain('Add one of these:\n    0x')
    expect(set.stderr).not.toContain('--contract')
    const elsewhere = await cli(['nft', 'list', '-b', 'base', '--base-url', api.url], { env })
    expect(elsewhere.stderr).toContain('The known collections are on other blockchains: polygon.')
  })
})

describe('collection show', () => {
  const OF_GDN = { [HEADERS.backendId]: randomUUID(), [HEADERS.incarnation]: randomUUID() }
  const creation = record({ royalty_bps: 0, royalty_receiver: null, description: 'Old', image: '', is_frozen: false })
  const getcollections = () => ({ ...told(creation)(), headers: OF_GDN })
  const set = {
    ...{ transaction_gdn_id: ID, is_read_from_chain: true, problem: null, wallet_address: CONTRACT },
    ...{ pending_wallet_address: null, enable_api: false, enable_transfer: true, is_frozen: true, royalty_bps: 750 },
    ...{ royalty_receiver: OWNER, contract_uri: 'ipfs://bafy', description: 'New', image: 'ipfs://image' },
  }
  const settings = (more: object) => (): Reply => ({
    body: { requests: { transaction_gdn_ids: [ID] }, collections: [{ ...set, ...more }] },
  })

  test('shows what is set in the contract now', async () => {
    const api = await fakeApi({ getcollections, getcollectionsettings: settings({}) })
    const { env } = await home()
    const result = await cli(['collection', 'show', ID, '--base-url', api.url, '--json'], { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
    const named = ['collection', 'show', '--base-url', api.url, '--json']
    // The collection of the environment, as in other commands.
    const unknown = await cli(named, { env: { ...env, GDN_CONTRACT: CONTRACT } })
    expect(JSON.parse(unknown.stderr).error.message).toContain(CONTRACT)
    expect(JSON.parse((await cli(named, { env })).stderr).error.message).toBe('no collection is specified')
    const { problem, ...shown } = set
    expect(JSON.parse(result.stdout)).toMatchObject({ ...shown, name: 'Dawn', status: 'deployed' })
    expect(JSON.parse(result.stdout)).not.toHaveProperty('problem', problem)
    const { stdout } = await cli(['collection', 'show', ID, '--base-url', api.url], { env, tty: true })
    expect(stdout).toMatch(/^ROYALTY +7\.5%$/m)
    expect(stdout).toMatch(/^SETTINGS +read from the contract$/m)
  })

  test('shows the supply, the banner and the website, and which metadata is not in the contract', async () => {
    const supply = { max_supply: 500, minted: 310, accepted: 50, supply_left: 140 }
    const more = { has_metadata: false, banner_image: 'ipfs://banner', external_link: 'https://tides.example' }
    const api = await fakeApi({ getcollections, getcollectionsettings: settings({ ...supply, ...more }) })
    const { env } = await home()
    const show = (...flags: string[]) =>
      cli(['collection', 'show', ID, '--base-url', api.url, ...flags], { env, tty: true })
    expect(JSON.parse((await show('--json')).stdout)).toMatchObject({ ...supply, ...more })
    const { stdout } = await show()
    for (const line of [
      /^MAX SUPPLY +500$/m,
      /^MINTED +310$/m,
      /^ACCEPTED +50$/m,
      /^SUPPLY LEFT +140$/m,
      /^BANNER +ipfs:\/\/banner$/m,
      /^EXTERNAL LINK +https:\/\/tides\.example$/m,
      /^METADATA +the contract contains the name, but not/m,
    ]) {
      expect(stdout).toMatch(line)
    }
  })

  test('shows the supply even while the contract cannot be read', async () => {
    const unread = { is_read_from_chain: false, problem: 'not now', minted: 3, accepted: 0, supply_left: 7 }
    const api = await fakeApi({ getcollections, getcollectionsettings: settings(unread) })
    const { env } = await home()
    const { stdout } = await cli(['collection', 'show', ID, '--base-url', api.url, '--json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ minted: 3, accepted: 0, supply_left: 7, is_read_from_chain: false })
  })

  test('as collection list does where its output has these values', async () => {
    const api = await fakeApi({ createcollection: accepts, getcollections, getcollectionsettings: settings({}) })
    const { env } = await home()
    await cli([...CREATE, '--base-url', api.url], { env })
    const list = (...more: string[]) => cli(['collection', 'list', '--base-url', api.url, ...more], { env })
    expect((await list()).stdout).toContain(CONTRACT)
    expect(api.bodies('getcollectionsettings')).toEqual([])
    const { problem: settings_problem, ...shown } = set
    expect(JSON.parse((await list('--json')).stdout)).toMatchObject([{ ...shown, settings_problem, name: 'Dawn' }])
  })

  test('shows the values of the creation and says why, while the contract cannot be read', async () => {
    const problem = "polygon can't be read now\u001b[31m"
    const getcollectionsettings = settings({ is_read_from_chain: false, problem })
    const api = await fakeApi({ getcollections, getcollectionsettings })
    const { env } = await home()
    const argv = ['collection', 'show', ID, '--base-url', api.url]
    const { code, stderr } = await cli(argv, { env })
    expect(code).toBe(0)
    expect(stderr).toContain(`${CONTRACT}: polygon can't be read now`)
    expect(stderr).not.toContain('\u001b')
    const unread = { royalty_bps: 0, description: 'Old', is_read_from_chain: false, settings_problem: problem }
    expect(JSON.parse((await cli([...argv, '--json'], { env })).stdout)).toMatchObject(unread)
  })

  test.each([
    ['no collections', null],
    ['text as the royalty', [{ ...set, royalty_bps: '7\u001b[2J' }]],
    ['another collection', [{ ...set, transaction_gdn_id: randomUUID() }]],
  ])('shows the values of the creation, with one note, where the settings have %s', async (_, collections) => {
    const getcollectionsettings = () => ({ body: { requests: { transaction_gdn_ids: [ID] }, collections } })
    const api = await fakeApi({ getcollections, getcollectionsettings })
    const { env } = await home()
    const { code, stdout, stderr } = await cli(['collection', 'show', ID, '--base-url', api.url], { env })
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Old') })
    expect(stderr).toMatch(/^0x\w+: the server does not return the current settings, so .*\n$/)
  })

  test('says that an older backend returns the values of the creation', async () => {
    const api = await fakeApi({ getcollections })
    const { env } = await home()
    const result = await cli(['collection', 'show', ID, '--base-url', api.url], { env })
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('those from the creation request') })
    expect(result.stdout).toContain('Old')
  })

  test('exits with 5 and names an ID that the server does not know', async () => {
    const api = await fakeApi({ getcollections: told() })
    const { env } = await home()
    const result = await cli(['collection', 'show', ID, '--base-url', api.url, '--json'], { env })
    expect(result).toMatchObject({ code: 5, stdout: '' })
    expect(errorOf(result)).toMatchObject({ code: 'not_found', message: expect.stringContaining(ID) })
  })

  test('selects the blockchain with -b, and rejects a collection on another one', async () => {
    const api = await fakeApi({ getcollections: told(record()) })
    const { env } = await home()
    const at = (blockchain: string) =>
      cli(['collection', 'show', ID, '-b', blockchain, '--base-url', api.url, '--json'], { env })
    expect((await at('polygon')).code).toBe(0)
    const other = await at('astar')
    expect(other).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(other)).toMatchObject({
      message: `--blockchain: the collection ${ID} is on polygon`,
      hint: 'Use -b polygon, or omit the flag.',
    })
  })

  test('reports an address that was not created here with its own error code', async () => {
    const { env } = await home()
    const result = await cli(['collection', 'show', CONTRACT, '--base-url', 'http://127.0.0.1:9', '--json'], { env })
    expect(result.code).toBe(2)
    expect(errorOf(result).code).toBe('not_found_locally')
  })
})
