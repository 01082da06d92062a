/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CommandTree } from '../../../src/cli/command-tree.ts'
import type { Deps, PermitSpending, QuoteSpending } from '../../../src/cli/deps.ts'
import { Ledger } from '../../../src/cli/mcp/spending.ts'
import { Toolbox } from '../../../src/cli/mcp/toolbox.ts'
import {
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { GWEI } from '../../helpers/gwei.ts'
import { hurriedClock } from '../../helpers/hurried-clock.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { folder } from '../batch/drop.ts'
import { type CliOptions, type CliResult, cli, errorOf, timeUpWhileWaiting } from '../harness.ts'

const [OWNER, BOB] = WALLETS

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let stop: () => Promise<void> = async () => {}
const mineOn = () => {
  stop = real.mineEvery(30, () => GWEI)
}

beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  mineOn()
  backend = await place.start()
})
afterEach(async () => {
  await stop()
  mineOn()
})
afterAll(async () => {
  await stop()
  await backend?.close()
  await place?.remove()
  await real?.close()
})

interface Session extends Pick<CliOptions, 'signal' | 'clock'> {
  /** Whether the command prints for people. */
  isText?: boolean
  permit?: PermitSpending
  quote?: QuoteSpending
}

/** Accepted work of a run that waits, with the limits 0.5 POL or 0.5 gwei. */
interface Waiting {
  run: string
  /** Runs the command that raises its limits. */
  raise(flags: readonly string[], session?: Session): Promise<CliResult>
}

const HEAD = 'id,title,description,receiver\n'
const row = (id: string) => `${id},${id},x,${BOB}\n`

async function machine() {
  const { path, options } = await folder({
    'drop.csv': HEAD + row('a') + row('b'),
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait' }),
  })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const run = (argv: readonly string[], { isText = false, ...session }: Session = {}) =>
    cli([...argv, ...(isText ? [] : ['--json'])], {
      ...options,
      env,
      columns: 1000,
      ...timeUpWhileWaiting(),
      ...session,
    })
  return { drop: path('drop.csv'), hidden: path('hidden.json'), run }
}

const collectionOf = () => createTestCollection(backend, { dynamic: true, enable_burn: true, enable_transfer: true })
const targetOf = ({ address }: TestCollection) => ['-c', address, '-b', 'polygon']

async function runOf({ id }: TestCollection): Promise<string> {
  return await withStore(place.dataDir, async ({ db }) => {
    const runs = db.selectFrom('runs').select('run').where('collection_id', '=', id)
    return (await runs.executeTakeFirstOrThrow()).run
  })
}

/** A run of a manifest whose rows are accepted, and wait for lower fees than the network has. */
const drop =
  (
    argvOf: (at: { drop: string; target: string[] }) => string[],
    { unrevealed = false, withRows = false, isLimited = true } = {},
  ) =>
  async (): Promise<Waiting> => {
    const collection = await collectionOf()
    const target = targetOf(collection)
    const client = await machine()
    const hidden = unrevealed ? ['--unrevealed', client.hidden] : []
    const limits = [...(isLimited ? ['--max-cost', '0.5'] : []), '--max-fee-gwei', '0.5', '--no-wait', '--yes']
    // The commitment to unrevealed rows is deployed before the rows are sent, so this command must be able to wait.
    const patient = { signal: new AbortController().signal, clock: hurriedClock() }
    const minted = await client.run(['batch', 'mint', client.drop, ...target, ...limits, ...hidden], patient)
    expect(minted.code, minted.stderr).toBe(0)
    if (withRows) await writeFile(client.drop, HEAD + row('a') + row('b') + row('c'))
    const argv = argvOf({ drop: client.drop, target })
    return { run: await runOf(collection), raise: (flags, session) => client.run([...argv, ...flags], session) }
  }

/** A single request that is accepted and whose transaction isn't mined. */
const request =
  (argvOf: (at: { target: string[]; nft: string; other: string }) => string[], { hasNft = true } = {}) =>
  async (): Promise<Waiting> => {
    const collection = await collectionOf()
    const target = targetOf(collection)
    const client = await machine()
    const ids = hasNft ? await mint(backend, collection, plainMetadata(1), { receiver: OWNER }) : []
    if (hasNft) await settled(backend, ids)
    await stop()
    const run = randomUUID()
    const argv = [...argvOf({ target, nft: ids[0] ?? '', other: BOB }), '--operation', run, '--no-wait']
    const mintResult = await client.run([...argv, '--max-cost', '0.5', '--yes'])
    expect(mintResult.code, mintResult.stderr).toBe(0)
    return { run, raise: (flags, session) => client.run([...argv, ...flags], session) }
  }

/** Each way to raise a limit, by command. */
const WAYS: Readonly<Record<string, Readonly<Record<string, () => Promise<Waiting>>>>> = {
  'batch mint': {
    'without new rows': drop(({ drop, target }) => ['batch', 'mint', drop, ...target, '--no-wait']),
    'with new rows': drop(({ drop, target }) => ['batch', 'mint', drop, ...target, '--no-wait'], { withRows: true }),
  },
  'batch resume': { 'a run': drop(() => ['batch', 'resume', 'drop', '--no-wait']) },
  'batch retry': { 'a run': drop(() => ['batch', 'retry', 'drop', '--no-wait']) },
  apply: {
    'without new rows': drop(({ drop, target }) => ['apply', drop, ...target]),
    'with new rows': drop(({ drop, target }) => ['apply', drop, ...target], { withRows: true }),
  },
  reveal: {
    'a run': drop(({ drop, target }) => ['reveal', drop, ...target, '--rpc-url', real.url], {
      unrevealed: true,
    }),
  },
  'collection create': {
    'a request': request(() => ['collection', 'create', '--name', 'Raised', '-b', 'polygon', '--wallet', BOB], {
      hasNft: false,
    }),
  },
  'nft mint': {
    'a request': request(({ target }) => ['nft', 'mint', ...target, '--title', 'Dawn', '--receiver', BOB], {
      hasNft: false,
    }),
  },
  'nft grant': {
    'a request': request(
      ({ target }) => ['nft', 'grant', ...target, '--title', 'Dawn', '--receiver', BOB, '--sender', OWNER],
      {
        hasNft: false,
      },
    ),
  },
  'nft transfer': {
    'a request': request(({ nft, target, other }) => ['nft', 'transfer', nft, ...target, '--receiver', other]),
  },
  'nft update': { 'a request': request(({ nft }) => ['nft', 'update', nft, '-b', 'polygon', '--title', 'Other']) },
  'nft freeze': { 'a request': request(({ nft }) => ['nft', 'freeze', nft, '-b', 'polygon']) },
  'nft burn': { 'a request': request(({ nft }) => ['nft', 'burn', nft, '-b', 'polygon']) },
}

const HIGHER: Readonly<Record<string, string>> = { '--max-cost': '0.6', '--max-fee-gwei': '50' }

/** `gdn mcp` has a separate limit, which applies to a session. */
const WITHOUT_RUN = ['mcp']

const flagsOf = (flags: CommandTree['commands'][number]['flags']) =>
  flags.map(({ name }) => name).filter((name) => name in HIGHER || /^--max-(cost|fee)/.test(name))

const CASES = Object.entries(WAYS).flatMap(([command, ways]) =>
  Object.entries(ways).flatMap(([what, prepare]) =>
    (command.startsWith('batch ') ? Object.keys(HIGHER) : ['--max-cost']).map((flag) => ({
      command,
      what,
      prepare,
      flag,
      flags: [flag, HIGHER[flag] ?? ''],
    })),
  ),
)

const tree = async (): Promise<CommandTree> => JSON.parse((await cli(['help', '--json'])).stdout)

test('each command and tool with a flag for a limit is covered, with each of its flags', async () => {
  const { commands } = await tree()
  const expected = commands
    .filter(({ name }) => !WITHOUT_RUN.includes(name))
    .flatMap(({ name, flags }) => flagsOf(flags).map((flag) => `${name} ${flag}`))
  expect([...new Set(CASES.map(({ command, flag }) => `${command} ${flag}`))].sort()).toEqual(expected.sort())
  const toolbox = new Toolbox(commands, { allowWrites: true, passwordFile: 'password', toolsets: ['all'] })
  const tools = toolbox.offeredTools.flatMap(({ command, flags }) =>
    [...flags.keys()].filter((flag) => flag in HIGHER).map((flag) => `${command} ${flag}`),
  )
  expect(tools.length).toBeGreaterThan(0)
  expect(tools.filter((tool) => !expected.includes(tool))).toEqual([])
})

const costsOf = async (run: string) => (await call(backend, 'getruncosts', { run })).costs

/** What the server has of a run, and what its signer has signed. */
async function seen(run: string) {
  const { max_cost, max_fee, fee_paid } = await costsOf(run)
  const [signed, requests] = await withStore(place.dataDir, ({ db }) =>
    Promise.all([
      db.selectFrom('transactions').select('id').where('run', '=', run).execute(),
      db.selectFrom('requests').select('id').where('run', '=', run).execute(),
    ]),
  )
  // Without a maximum fee, its transaction may be signed meanwhile, within the limit that it has.
  return { max_cost, max_fee, fee_paid, signed: max_fee === null ? null : signed.length, requests: requests.length }
}

/** Waits for as many blocks as a raised limit would take to be used. */
async function someBlocks(): Promise<void> {
  const height = async () => Number(await real.call<string>('eth_blockNumber'))
  await stop()
  mineOn()
  const first = await height()
  await until(height, (block) => block >= first + 10)
}

const deps = {
  ...{ env: {}, signals: { signal: new AbortController().signal }, sleep: async () => {} },
  io: { note: () => {}, settings: { debug: false } },
} as unknown as Deps

const sessionOf = (ledger: Ledger): Session => ({ permit: ledger.permit(deps) })

describe.each(CASES)('gdn $command $flag, $what', ({ prepare, flags, flag }) => {
  test('raises nothing without --yes off a terminal, nor in a session that may not spend or has less left', async () => {
    const { run, raise } = await prepare()
    const before = await seen(run)
    const promptResult = await raise(flags)
    expect([promptResult.code, errorOf(promptResult).code], promptResult.stderr).toEqual([3, 'not_confirmed'])
    const refused = await raise([...flags, '--yes'], sessionOf(new Ledger(null)))
    expect([refused.code, errorOf(refused).code], refused.stderr).toEqual([3, 'not_confirmed'])
    const less = await raise([...flags, '--yes'], sessionOf(new Ledger({ amount: 1n, currency: 'POL' })))
    expect(less.code, less.stderr).not.toBe(0)
    if (flag === '--max-fee-gwei') await someBlocks()
    expect(await seen(run)).toEqual(before)
  })

  test('counts everything that the run can spend then toward the limit of a session', async () => {
    const { run, raise } = await prepare()
    const ledger = new Ledger({ amount: 10n ** 18n, currency: 'POL' })
    await raise([...flags, '--yes'], sessionOf(ledger))
    const { max_cost, final_fee_paid = '0', max_fee } = await costsOf(run)
    const isRaised = BigInt(max_cost ?? 0) > 5n * 10n ** 17n || (max_fee != null && BigInt(max_fee) > GWEI / 2n)
    // A session doesn't replace a limit of the cost that a person has set.
    if (flag === '--max-fee-gwei') expect(isRaised).toBe(true)
    if (isRaised) expect(ledger.counted?.amount).toBeGreaterThanOrEqual(BigInt(max_cost ?? 0) - BigInt(final_fee_paid))
  })

  test('raises it with --yes', async () => {
    const { run, raise } = await prepare()
    await raise([...flags, '--yes'])
    const { max_cost, max_fee } = await costsOf(run)
    expect(flag === '--max-cost' ? max_cost : max_fee).toBe(
      flag === '--max-cost' ? String(6n * 10n ** 17n) : String(50n * GWEI),
    )
  })
})

const mintsWith = (withRows: boolean) =>
  drop(({ drop, target }) => ['batch', 'mint', drop, ...target, '--no-wait'], { withRows })()

describe('accepted rows that a higher maximum fee lets go on', () => {
  test.each([
    [
      'without new rows',
      /^confirmation required: Raise the maximum fee of this run from 0\.5 to 50 gwei for 2 accepted/,
    ],
    [
      'with new rows',
      /^confirmation required: Mint 1 NFT for 1 receiver, and raise the maximum fee of this run from 0\.5 to 50 gwei for 2 accepted NFTs on polygon, a public network, through /,
    ],
  ])('are in the question %s, with their price', async (what, question) => {
    const { raise } = await mintsWith(what === 'with new rows')
    const { message } = errorOf(await raise(['--max-fee-gwei', '50']))
    expect(message).toMatch(question)
    expect(message).toMatch(
      /, for at most 0\.5 POL including requests that are already accepted \(the limit of the run, an estimated/,
    )
  })

  test('are in the price at the new maximum fee, and in what fees can become', async () => {
    const { raise } = await drop(({ drop, target }) => ['batch', 'mint', drop, ...target, '--no-wait'], {
      ...{ withRows: true, isLimited: false },
    })()
    const priceAt = async (gwei: string) => {
      const { stderr } = await raise(['--max-fee-gwei', gwei], { isText: true })
      const [, price] =
        /for an estimated maximum of (0\.\d+) POL at the current fees\?/.exec(stderr.replaceAll(/\s+/g, ' ')) ?? []
      return { price: Number(price ?? stderr), stderr: stderr.replaceAll(/\s+/g, ' ') }
    }
    const [low, one, high] = [await priceAt('0.5'), await priceAt('1'), await priceAt('500')]
    expect(low.stderr).toContain('Mint 1 NFT for 1 receiver on polygon')
    // One row at 0.5 gwei, and three at 1 gwei.
    expect(one.price / low.price).toBeCloseTo(6, 1)
    expect(high.price).toBeGreaterThan(one.price)
    expect(high.stderr).not.toContain('cost can be higher')
    expect(high.stderr).toMatch(/If fees rise, the cost can be up to 0\.\d+ POL at the maximum fee of 500 gwei, unless/)
  })

  test('are in the cost of a plan of gdn mcp', async () => {
    const { raise } = await mintsWith(false)
    const quoted: string[] = []
    const ledger = new Ledger({ amount: 10n ** 18n, currency: 'POL' })
    const quote: QuoteSpending = async (...asked) => void quoted.push(await ledger.quote(deps, asked))
    expect(await raise(['--max-fee-gwei', '50', '--dry-run'], { ...sessionOf(ledger), quote })).toMatchObject({
      code: 0,
    })
    expect(quoted).toEqual([expect.stringMatching(/^The coins of polygon have value\. Maximum: 0\.5 POL\. /)])
    // A lower one permits nothing more.
    await raise(['--max-fee-gwei', '0.4', '--dry-run'], { ...sessionOf(ledger), quote })
    expect(quoted).toHaveLength(1)
    expect(await raise(['--max-fee-gwei', '0.4', '--yes'], sessionOf(new Ledger(null)))).toMatchObject({ code: 0 })
  })
})
