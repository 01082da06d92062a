/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { formatEther } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PermitSpending } from '../../../src/cli/deps.ts'
import { listDrops } from '../../../src/state/drops.ts'
import { openState } from '../../../src/state/open-state.ts'
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
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { folder } from '../batch/drop.ts'
import { cli, errorOf } from '../harness.ts'

const [, BOB, CAROL] = WALLETS

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let stop = async () => {}

beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  // With one base fee, the same changes always have the same worst case.
  stop = real.mineEvery(30, () => GWEI)
  backend = await place.start()
})
afterAll(async () => {
  await stop()
  await backend?.close()
  await place?.remove()
  await real?.close()
})

const HEAD = 'id,title,description,receiver\n'
const row = (id: string, title: string, receiver: string = BOB) => `${id},${title},x,${receiver}\n`

/** A machine with its own manifest and state. */
async function machine(collection: TestCollection, rows: string) {
  const { path, options } = await folder({
    'drop.csv': HEAD + rows,
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait' }),
  })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const run = (...argv: string[]) => cli(argv, { ...options, env })
  const target = ['-c', collection.address, '-b', 'polygon']
  const drop = path('drop.csv')
  return {
    ...{ path, run, target: [drop, ...target] },
    edit: (text: string) => writeFile(drop, HEAD + text),
    mint: (...more: string[]) => run('batch', 'mint', drop, ...target, '--yes', '--json', ...more),
    plan: (...more: string[]) => run('plan', drop, ...target, '--json', ...more),
    apply: (...more: string[]) => run('apply', drop, ...target, '--yes', '--json', ...more),
    /** Without --yes. */
    ask: (command: string[], ...more: string[]) => run(...command, drop, ...target, '--json', ...more),
    applyAs: (permit: PermitSpending) =>
      cli(['apply', drop, ...target, '--yes', '--json'], { ...options, env, permit }),
    reveal: (...more: string[]) => run('reveal', drop, ...target, '--rpc-url', real.url, '--yes', '--json', ...more),
  }
}

const collectionOf = () => createTestCollection(backend, { dynamic: true, enable_burn: true, enable_transfer: true })

/** The kinds of the transactions of each run with a limit into a collection. */
async function kindsOf({ id }: { id: string }): Promise<string[][]> {
  const rows = await withStore(place.dataDir, ({ db }) =>
    db.selectFrom('transactions').select(['run', 'kind']).where('run_collection_id', '=', id).orderBy('kind').execute(),
  )
  const runs = [...new Set(rows.map(({ run }) => run))]
  return runs.map((run) => rows.filter((row) => row.run === run).map(({ kind }) => kind))
}

/** How many changes of its NFTs a collection has accepted. */
const changesOf = (collection: { id: string }) =>
  withStore(place.dataDir, async ({ db }) => {
    const count = async (table: 'updates' | 'transfers') =>
      (await db.selectFrom(table).select('id').where('collection_id', '=', collection.id).execute()).length
    return (await count('updates')) + (await count('transfers'))
  })

const ofCollection = ({ address }: TestCollection) => ({ contract_address: address, blockchain: 'polygon' })

const costsOf = async (run: string) => (await call(backend, 'getruncosts', { run })).costs
const runOf = async (collection: { id: string }) =>
  await withStore(place.dataDir, async ({ db }) => {
    const { run } = await db
      .selectFrom('runs')
      .select('run')
      .where('collection_id', '=', collection.id)
      .executeTakeFirstOrThrow()
    return run
  })

const REFUSED =
  /^this costs at most [0-9.]+ POL, but only [0-9.]+ of [0-9.]+ POL is left( \([0-9.]+ POL has been spent or is reserved\))?$/

/** The amount that the hint of a refusal names. */
function raiseIn(result: Awaited<ReturnType<typeof cli>>): string {
  const hint = errorOf(result).hint ?? ''
  const [, amount = ''] =
    /^Nothing was sent\. Run the same command with --max-cost ([0-9.]+) or more\./.exec(hint) ?? []
  expect(hint).toMatch(/--max-cost [0-9.]+ or more/)
  return amount
}

describe('apply', () => {
  test('names the limit that stays if another one is refused', async () => {
    const collection = await collectionOf()
    const { mint, apply, edit } = await machine(collection, row('a', 'A'))
    expect(await mint('--max-cost', '1')).toMatchObject({ code: 0 })
    await edit(row('a', 'Other'))
    const refused = await apply('--max-cost', '0.000001')
    expect(errorOf(refused).hint).toMatch(
      / or more\. The limit of the run remains 1 POL\.( More may become available later: .*)?$/,
    )
    expect((await costsOf(await runOf(collection))).max_cost).toBe(String(10n ** 18n))
    const unlimited = await machine(await collectionOf(), row('a', 'A'))
    expect(await unlimited.mint()).toMatchObject({ code: 0 })
    await unlimited.edit(row('a', 'Other'))
    expect(errorOf(await unlimited.apply('--max-cost', '0.000001')).hint).not.toContain('stays')
  })
  test('counts mints, updates, transfers and burns toward the limit of the drop', async () => {
    const collection = await collectionOf()
    const {
      path,
      mint,
      plan,
      run: gdn,
      edit,
    } = await machine(collection, row('a', 'A') + row('b', 'B') + row('c', 'C'))
    expect(await mint('--max-cost', '1')).toMatchObject({ code: 0 })
    await edit(row('a', 'Other') + row('b', 'B', CAROL) + row('d', 'D'))
    expect(await plan('--prune', '--new-rows', '--out', path('plan.json'))).toMatchObject({ code: 0 })
    const applied = await gdn('apply', path('plan.json'), '--yes', '--json', '--max-burns', '1')
    expect([applied.code, applied.stderr]).toEqual([0, ''])
    expect(await kindsOf(collection)).toEqual([['burn', 'mint', 'mint', 'transfer', 'update']])
    const run = await runOf(collection)
    const paid = () =>
      withStore(place.dataDir, async ({ db }) => {
        const query = db.selectFrom('transactions').select('fee_paid').where('run_collection_id', '=', collection.id)
        return (await query.execute()).reduce((sum, { fee_paid }) => sum + BigInt(fee_paid ?? 0), 0n)
      })
    const costs = await until(
      async () => ({ paid: await paid(), ...(await costsOf(run)) }),
      // They are read one after the other, and a transaction may become final in between.
      ({ paid, counted, final_fee_paid }) => String(paid) === counted && final_fee_paid === counted,
    )
    expect(costs).toMatchObject({ fee_paid: costs.counted, max_cost: String(10n ** 18n) })
  })

  test('refuses what may exceed the limit before the first change, and --max-cost raises it', async () => {
    const collection = await collectionOf()
    const { mint, apply, edit } = await machine(collection, row('a', 'A') + row('b', 'B'))
    expect(await mint()).toMatchObject({ code: 0 })
    await edit(row('a', 'Other') + row('b', 'B', CAROL) + row('c', 'C'))
    const refused = await apply('--max-cost', '0.00000001')
    expect([refused.code, errorOf(refused)]).toMatchObject([
      5,
      { code: 'max_cost', message: expect.stringMatching(REFUSED) },
    ])
    expect([await changesOf(collection), (await costsOf(await runOf(collection))).max_cost]).toEqual([0, null])
    expect(await apply('--max-cost', raiseIn(refused))).toMatchObject({ code: 0 })
    const changed = await changesOf(collection)
    expect(changed).toBe(2)
    // The limit belongs to the run.
    await edit(row('a', 'A2') + row('b', 'B2', CAROL) + row('c', 'C2'))
    const full = await until(
      () => apply(),
      // While the transfer is in progress, nothing can be updated.
      (result) => errorOf(result).code !== 'refused',
    )
    expect([full.code, errorOf(full).message, await changesOf(collection)]).toEqual([
      5,
      expect.stringMatching(REFUSED),
      changed,
    ])
    const raised = raiseIn(full)
    expect(await apply('--max-cost', raised)).toMatchObject({ code: 0 })
    expect(await changesOf(collection)).toBe(changed + 3)
  })

  test('keeps the limit that it raises, which a later mint does not lower', async () => {
    const collection = await collectionOf()
    const { mint, apply, edit } = await machine(collection, row('a', 'A'))
    expect(await mint('--max-cost', '0.5')).toMatchObject({ code: 0 })
    await edit(row('a', 'Other'))
    expect(await apply('--max-cost', '1')).toMatchObject({ code: 0 })
    await edit(row('a', 'Other') + row('b', 'B'))
    expect(await mint()).toMatchObject({ code: 0 })
    expect((await costsOf(await runOf(collection))).max_cost).toBe(String(10n ** 18n))
  })

  test('is permitted once for its mints and changes together', async () => {
    const collection = await collectionOf()
    const { mint, edit, applyAs } = await machine(collection, row('a', 'A') + row('b', 'B'))
    expect(await mint()).toMatchObject({ code: 0 })
    await edit(row('a', 'Other') + row('b', 'B', CAROL) + row('c', 'C'))
    const requests: Parameters<PermitSpending>[0][] = []
    const permit: PermitSpending = async (spending) => {
      requests.push(spending)
      return 10n ** 18n
    }
    expect(await applyAs(permit)).toMatchObject({ code: 0 })
    expect(requests).toMatchObject([{ kind: 'nft', count: 3, run: { canLimit: true, maxCost: null } }])
    expect(await kindsOf(collection)).toEqual([['mint', 'mint', 'transfer', 'update']])
  })

  test('counts toward the limit that another machine has set', async () => {
    const collection = await collectionOf()
    const rows = row('a', 'A')
    const first = await machine(collection, rows)
    expect(await first.mint('--run', 'spring', '--max-cost', '1')).toMatchObject({ code: 0 })
    const second = await machine(collection, row('a', 'Other'))
    expect(await second.apply('--run', 'spring')).toMatchObject({ code: 0 })
    expect(await kindsOf(collection)).toEqual([['mint', 'update']])
  })
})

describe('reveal', () => {
  test('counts toward the limit of the drop, with its commitment', async () => {
    const collection = await collectionOf()
    const { path, mint, reveal } = await machine(collection, row('a', 'A') + row('b', 'B'))
    expect(await mint('--unrevealed', path('hidden.json'), '--max-cost', '1')).toMatchObject({ code: 0 })
    expect(await kindsOf(collection)).toEqual([['mint', 'provenance']])
    const refused = await reveal('--max-cost', '0.00000001')
    expect([refused.code, errorOf(refused)]).toMatchObject([
      5,
      { code: 'max_cost', message: expect.stringMatching(REFUSED) },
    ])
    expect(await kindsOf(collection)).toEqual([['mint', 'provenance']])
    expect(await reveal('--max-cost', raiseIn(refused))).toMatchObject({ code: 0 })
    const [kinds = []] = await kindsOf(collection)
    expect(new Set(kinds)).toEqual(new Set(['mint', 'provenance', 'update']))
    expect((await costsOf(await runOf(collection))).max_cost).not.toBe(String(10n ** 18n))
  })

  test('sets the limit that it is given where nothing is left to reveal', async () => {
    const collection = await collectionOf()
    const { path, mint, reveal } = await machine(collection, row('a', 'A'))
    expect(await mint('--unrevealed', path('hidden.json'), '--max-cost', '1')).toMatchObject({ code: 0 })
    expect(await reveal()).toMatchObject({ code: 0 })
    expect(await reveal('--max-cost', '0.5')).toMatchObject({ code: 0 })
    expect((await costsOf(await runOf(collection))).max_cost).toBe(String(5n * 10n ** 17n))
  })
})

describe('a limit that was not confirmed is not kept', () => {
  const keptBy = async ({ path }: { path(name: string): string }) => {
    const state = await openState(path('.local/state/gdn'))
    const drops = await state.read(listDrops)
    state.close()
    return drops.map(({ maxCost }) => formatEther(maxCost ?? 0n))
  }

  test('by reveal', async () => {
    const client = await machine(await collectionOf(), row('a', 'A'))
    const minted = await client.mint('--unrevealed', client.path('hidden.json'), '--max-cost', '0.5')
    expect(minted).toMatchObject({ code: 0 })
    const refused = await client.ask(['reveal'], '--rpc-url', real.url, '--max-cost', '9')
    expect(errorOf(refused).message).toContain('on polygon, a public network, through')
    expect([refused.code, errorOf(refused).code, await keptBy(client)]).toEqual([3, 'not_confirmed', ['0.5']])
    expect(await client.reveal('--max-cost', '0.6')).toMatchObject({ code: 0 })
    expect(await keptBy(client)).toEqual(['0.6'])
  })

  test.each(['apply', 'batch mint'])('by %s', async (command) => {
    const client = await machine(await collectionOf(), row('a', 'A'))
    expect(await client.mint('--max-cost', '0.5')).toMatchObject({ code: 0 })
    await client.edit(row('a', 'A') + row('b', 'B'))
    const refused = await client.ask(command.split(' '), '--max-cost', '9')
    expect([refused.code, errorOf(refused).code, await keptBy(client)]).toEqual([3, 'not_confirmed', ['0.5']])
    expect(await client.mint('--max-cost', '0.6')).toMatchObject({ code: 0 })
    expect(await keptBy(client)).toEqual(['0.6'])
  })
})

describe('a higher limit with which accepted requests go on needs a confirmation', () => {
  const RAISED =
    /confirmation required: Raise the limit of this run from 0\.5 to 0\.6 POL( for 2 accepted NFTs)? on polygon, a public network, /

  test.each([
    ['batch mint', ['--max-cost', '0.6'], RAISED, 'for 2 accepted NFTs'],
    ['batch resume', ['--max-cost', '0.6'], RAISED, 'for 2 accepted NFTs'],
    [
      'batch mint',
      ['--max-fee-gwei', '9'],
      /Raise the maximum fee of this run from 0\.5 to 9 gwei for 2 accepted NFTs on polygon/,
      '',
    ],
    ['apply', ['--max-cost', '0.6'], RAISED, ''],
    ['reveal', ['--max-cost', '0.6', '--rpc-url', '@'], RAISED, ''],
  ])('%s %s', async (command, flags, question, then) => {
    const collection = await collectionOf()
    const client = await machine(collection, row('a', 'A') + row('b', 'B'))
    const hidden = command === 'reveal' ? ['--unrevealed', client.path('hidden.json')] : []
    // The base fee is higher, so the accepted rows wait.
    const limits = ['--max-cost', '0.5', '--max-fee-gwei', '0.5']
    expect(await client.mint(...limits, '--no-wait', ...hidden)).toMatchObject({ code: 0 })
    const again = flags.map((flag) => (flag === '@' ? real.url : flag))
    const refused =
      command === 'batch resume'
        ? await client.run('batch', 'resume', 'drop', '--json', ...again)
        : await client.ask(command.split(' '), ...again)
    expect([refused.code, errorOf(refused)]).toMatchObject([
      3,
      { code: 'not_confirmed', hint: 'Add --yes to confirm.' },
    ])
    expect(errorOf(refused).message).toMatch(question)
    expect(errorOf(refused).message).toContain(then)
    const costs = await costsOf(await runOf(collection))
    expect([costs.max_cost, costs.max_fee]).toEqual([String(5n * 10n ** 17n), '500000000'])
    // A lower limit permits nothing more.
    const lowered = await client.run('batch', 'resume', 'drop', '--json', '--no-wait', '--max-cost', '0.4')
    expect(lowered).toMatchObject({ code: 0 })
  })

  test.each([
    ['setrunmaxcost', { max_cost: String(6n * 10n ** 17n) }, { max_cost: String(4n * 10n ** 17n) }, RAISED],
    [
      'setrunmaxfee',
      { max_fee: String(9n * GWEI) },
      { max_fee: '400000000' },
      /Raise the maximum fee of this run from 0\.5 to 9 gwei on polygon/,
    ],
  ])('gdn api %s', async (endpoint, higher, lower, question) => {
    const collection = await collectionOf()
    const client = await machine(collection, row('a', 'A'))
    expect(await client.mint('--max-cost', '0.5', '--max-fee-gwei', '0.5', '--no-wait')).toMatchObject({ code: 0 })
    const run = await runOf(collection)
    const set = (limit: Record<string, string>, ...more: string[]) => {
      const fields = Object.entries({ run, ...ofCollection(collection), ...limit })
      return client.run('api', endpoint, ...fields.flatMap(([key, value]) => ['--field', `${key}=${value}`]), ...more)
    }
    const refused = await set(higher)
    expect([refused.code, refused.stderr.replace(/\s+/g, ' ')]).toEqual([3, expect.stringMatching(question)])
    expect(await costsOf(run)).toMatchObject({ max_cost: String(5n * 10n ** 17n), max_fee: '500000000' })
    expect(await set(lower)).toMatchObject({ code: 0 })
    expect(await set(higher, '--yes')).toMatchObject({ code: 0 })
    expect(await costsOf(run)).toMatchObject(higher)
  })

  test('a single request that was accepted', async () => {
    const { run } = await machine(await collectionOf(), '')
    await stop()
    onTestFinished(() => {
      stop = real.mineEvery(30, () => GWEI)
    })
    const operation = randomUUID()
    const create = ['collection', 'create', '--name', 'Raised', '-b', 'polygon', '--wallet', BOB]
    const once = (...more: string[]) => run(...create, '--operation', operation, '--no-wait', '--json', ...more)
    expect(await once('--yes', '--max-cost', '0.5')).toMatchObject({ code: 0 })
    const refused = await once('--max-cost', '0.6')
    expect([refused.code, errorOf(refused).message]).toEqual([3, expect.stringMatching(RAISED)])
    expect((await costsOf(operation)).max_cost).toBe(String(5n * 10n ** 17n))
    expect(await once('--max-cost', '0.5')).toMatchObject({ code: 0 })
    expect(await once('--max-cost', '0.6', '--yes')).toMatchObject({ code: 0 })
  })
})

describe('the question of a run, also in the error off a terminal,', () => {
  const priceIn = (result: Awaited<ReturnType<typeof cli>>) =>
    / (0\.\d+) POL at the current fees\)?\?$/.exec(errorOf(result).message)?.[1] ?? errorOf(result).message

  test.each(['apply', 'batch mint'])('names the limit, and the price of what is left: %s', async (command) => {
    const client = await machine(await collectionOf(), row('a', 'A'))
    expect(await client.mint('--max-cost', '0.5')).toMatchObject({ code: 0 })
    await client.edit(row('a', 'A') + row('b', 'B'))
    const promptResult = await client.ask(command.split(' '))
    expect(errorOf(promptResult).message).toMatch(
      /, for at most 0\.[45]\d* POL( including requests that are already accepted)? \((the remaining limit|the limit of the run), (for these )?an estimated maximum of 0\.\d+ POL at the current fees\)\?$/,
    )
    expect(Number(priceIn(promptResult))).toBeGreaterThan(0)
    expect(Number(priceIn(promptResult))).toBeLessThan(0.1)
  })

  test('names the limit if the run may cost more', async () => {
    const client = await machine(await collectionOf(), row('a', 'A') + row('b', 'B', CAROL))
    const limit = (Number(priceIn(await client.ask(['batch', 'mint']))) * 0.7).toFixed(7)
    const { message } = errorOf(await client.ask(['batch', 'mint'], '--max-cost', limit))
    expect(message).toContain(`, for at most ${Number(limit)} POL (the limit of the run)?`)
  })

  test('says before the question that the limit is below the estimate', async () => {
    const wallets = Array.from({ length: 40 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, '0')}`)
    const client = await machine(await collectionOf(), wallets.map((wallet, n) => row(`r${n}`, 'A', wallet)).join(''))
    const asked = async (limit: number) =>
      (await client.run('batch', 'mint', ...client.target, '--max-cost', limit.toFixed(9))).stderr
    const price = Number(/(0\.\d+)\s+POL\s+at\s+the\s+current\s+fees/.exec(await asked(1))?.[1])
    const NOTE =
      /^The estimate is 0\.\d+ POL, but only 0\.\d+ POL of the limit is left\. Unless fees fall, the limit is reached before all rows are sent\. --max-cost (0\.\d+) is enough at the current fees\.$/m
    const FINAL =
      /^The run reserves at most 0\.\d+ POL, but only 0\.\d+ POL of the limit is left, so rows wait until earlier transactions are final\. To avoid that, use --max-cost 0\.\d+\.$/m
    const tight = await asked(price * 0.99)
    expect(tight).not.toMatch(NOTE)
    expect(tight).toMatch(FINAL)
    expect(await asked(price * 1.01)).not.toMatch(/rows wait|rows remain/)
    // Enough for one row.
    const low = await asked(price / 30)
    expect(low).toMatch(NOTE)
    expect(low).toContain('(the limit of the run)?')
    // With the limit that it names, no row waits.
    expect(await asked(Number(NOTE.exec(low)?.[1]))).not.toMatch(/rows wait|rows remain/)
    const planned = (limit: number) =>
      client.run('batch', 'mint', ...client.target, '--dry-run', '--max-cost', limit.toFixed(9))
    expect(await planned(price / 30)).toMatchObject({ code: 0, stderr: expect.stringMatching(NOTE) })
    expect((await planned(price * 0.99)).stderr).toMatch(FINAL)
    const mintResult = await client.run(
      'batch',
      'mint',
      ...client.target,
      '--yes',
      '--max-cost',
      (price * 0.9).toFixed(9),
    )
    expect(mintResult.stderr).toMatch(FINAL)
  })

  test('a run that its limit stopped names one with which no row waits, also for requests of different sizes', async () => {
    const rows = Array.from({ length: 20 }, (_, n) => row(`r${n}`, 'A')).join('')
    const client = await machine(await collectionOf(), rows + row('c', 'C', CAROL) + row('d', 'D', CAROL))
    const tooLow = errorOf(await client.mint('--max-cost', '0.0000001')).message
    const least = /one transaction \(([0-9.]+) /.exec(tooLow)?.[1] ?? tooLow
    const stopped = errorOf(await client.mint('--max-cost', least))
    expect(stopped.code).toBe('max_cost')
    const [, enough = ''] = /--max-cost ([0-9.]+) or more, which is enough/.exec(stopped.hint ?? '') ?? []
    const mintResult = await client.run('batch', 'mint', ...client.target, '--yes', '--max-cost', enough)
    expect(mintResult).toMatchObject({
      code: 0,
      stderr: expect.not.stringMatching(/rows wait|rows remain|fit within --max-cost/),
    })
  })

  test('names a limit with which no row waits, also for requests of different sizes', async () => {
    const rows = Array.from({ length: 20 }, (_, n) => row(`r${n}`, 'A')).join('') + row('c', 'C', CAROL)
    const client = await machine(await collectionOf(), rows)
    const asked = async (limit: number) =>
      (await client.run('batch', 'mint', ...client.target, '--max-cost', limit.toFixed(9))).stderr
    const price = Number(/(0\.\d+)\s+POL\s+at\s+the\s+current\s+fees/.exec(await asked(1))?.[1])
    const [, enough = ''] = /To avoid that, use --max-cost (0\.\d+)\./.exec(await asked(price)) ?? []
    const mintResult = await client.run('batch', 'mint', ...client.target, '--yes', '--max-cost', enough)
    expect(mintResult).toMatchObject({
      code: 0,
      stderr: expect.not.stringMatching(/rows wait|rows remain|fit within --max-cost/),
    })
  })

  test('names the limit that only the server knows', async () => {
    const collection = await collectionOf()
    const first = await machine(collection, row('a', 'A'))
    expect(await first.mint('--run', 'spring', '--max-cost', '0.5')).toMatchObject({ code: 0 })
    const run = await runOf(collection)
    // A reservation that is replaced afterwards would leave more of the limit.
    const { counted } = await until(
      () => costsOf(run),
      (costs) => costs.counted === costs.final_fee_paid,
    )
    const left = 10n ** 12n
    const max_cost = String(BigInt(counted ?? 0) + left)
    await call(backend, 'setrunmaxcost', { run, ...ofCollection(collection), max_cost })
    await first.edit(row('a', 'A') + row('b', 'B'))
    const { message } = errorOf(await first.ask(['batch', 'mint'], '--run', 'spring'))
    expect(message).toContain(', for at most 0.000001 POL (the remaining limit)?')
  })
})

describe('a single command', () => {
  test('nft burn names token, collection and network, and refuses an impossible limit before it prompts', async () => {
    const collection = await collectionOf()
    const { run } = await machine(collection, '')
    const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: BOB })
    await settled(backend, [id])
    const burn = ['nft', 'burn', id, '-b', 'polygon', '--json']
    const { address } = collection
    expect(errorOf(await run(...burn))).toMatchObject({
      code: 'not_confirmed',
      message: expect.stringMatching(
        `Permanently burn token 1 of ${address.slice(0, 6)}…${address.slice(-4)} on polygon, a public network, for an estimated maximum of 0\\.\\d+ POL at the current fees\\?$`,
      ),
    })
    expect(errorOf(await run(...burn, '--max-cost', '0.00000001')).code).toBe('max_cost')
  })

  test('sends nothing that may cost more than its --max-cost, and is a run of its own', async () => {
    const collection = await collectionOf()
    const { run } = await machine(collection, '')
    const ids = await mint(backend, collection, plainMetadata(3), { receiver: BOB })
    const [first = '', second = '', third = ''] = (await settled(backend, ids)).map(({ nft_gdn_id }) => nft_gdn_id)
    const commands = [
      ['nft', 'transfer', first, '--receiver', CAROL, '--sender', BOB],
      ['nft', 'update', second, '--title', 'Other'],
      ['nft', 'burn', third],
      ['nft', 'freeze', second],
      ['nft', 'mint', '-c', collection.address, '--receiver', BOB, '--title', 'Dawn'],
      ['nft', 'grant', '-c', collection.address, '--sender', BOB, '--receiver', CAROL, '--title', 'Gift'],
    ]
    for (const command of commands) {
      const before = await changesOf(collection)
      const argv = [...command, '-b', 'polygon', '--yes', '--json', '--max-cost']
      const refused = await run(...argv, '0.00000001')
      expect([command, refused.code, errorOf(refused)]).toMatchObject([
        command,
        5,
        { code: 'max_cost', message: expect.stringMatching(REFUSED) },
      ])
      expect([await changesOf(collection), (await kindsOf(collection)).length]).toEqual([
        before,
        commands.indexOf(command),
      ])
      const accepted = await run(...argv, raiseIn(refused))
      expect([command, accepted.code, accepted.stderr]).toEqual([command, 0, expect.any(String)])
    }
    const kinds = (await kindsOf(collection)).flat().sort()
    expect(kinds).toEqual(['burn', 'freeze', 'grant', 'mint', 'transfer', 'update'])
  })

  test('creates a collection within its --max-cost, and nothing above it', async () => {
    const { run } = await machine(await collectionOf(), '')
    const create = ['collection', 'create', '--name', 'Limited', '-b', 'polygon', '--wallet', BOB, '--yes', '--json']
    const refused = await run(...create, '--max-cost', '0.00000001')
    expect([refused.code, errorOf(refused).code]).toEqual([5, 'max_cost'])
    const { code, stdout } = await run(...create, '--max-cost', raiseIn(refused))
    expect(code).toBe(0)
    const { transaction_gdn_id: id } = JSON.parse(stdout)
    expect(await kindsOf({ id })).toEqual([['collection']])
  })

  test('--max-cost limits a request that was accepted before, unless it was accepted without a limit', async () => {
    const collection = await collectionOf()
    const { run } = await machine(collection, '')
    const requests = [
      ['nft', 'mint', '-c', collection.address, '-b', 'polygon', '--receiver', BOB, '--title', 'Dawn'],
      ['collection', 'create', '--name', 'Limited', '-b', 'polygon', '--wallet', BOB],
    ]
    for (const request of requests) {
      const operation = randomUUID()
      const once = (...more: string[]) => run(...request, '--yes', '--operation', operation, '--no-wait', ...more)
      expect((await once('--max-cost', '0.5')).stderr).not.toContain('already accepted')
      const lowered = await once('--max-cost', '0.4')
      expect([lowered.code, lowered.stderr]).toEqual([
        0,
        expect.stringContaining('The limit of this request is now 0.4 POL.'),
      ])
      expect((await costsOf(operation)).max_cost).toBe(String(4n * 10n ** 17n))
      await until(
        () => costsOf(operation),
        ({ fee_paid }) => BigInt(fee_paid) > 0n,
      )
      const late = await once('--json', '--max-cost', '0.00000001')
      expect([late.code, errorOf(late)]).toMatchObject([
        5,
        {
          code: 'max_cost',
          message: expect.stringMatching(
            /^--max-cost: the request was already accepted, and its transaction has cost 0\.\d+ POL$/,
          ),
        },
      ])
    }
    const mint = ['nft', 'mint', '-c', collection.address, '-b', 'polygon', '--receiver', BOB, '--title', 'Dusk']
    const unlimited = [...mint, '--yes', '--operation', randomUUID(), '--no-wait']
    expect(await run(...unlimited)).toMatchObject({ code: 0 })
    expect(await run(...unlimited, '--max-cost', '0.4')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('error: --max-cost: the request was already accepted, without a limit\n'),
    })
  })

  test('burns one NFT at a time within a limit', async () => {
    const { run } = await machine(await collectionOf(), '')
    const result = await run('nft', 'burn', 'one', 'another', '--yes', '--json', '--max-cost', '1')
    expect([result.code, errorOf(result).message]).toEqual([2, '--max-cost: can be used with only one NFT'])
  })
})

test('a run without a limit pays for its changes, too', async () => {
  const collection = await collectionOf()
  const { mint, apply, edit } = await machine(collection, row('a', 'A'))
  expect(await mint()).toMatchObject({ code: 0 })
  const run = await runOf(collection)
  const before = await until(
    () => costsOf(run),
    ({ fee_paid }) => BigInt(fee_paid) > 0n,
  )
  await edit(row('a', 'Other'))
  expect(await apply()).toMatchObject({ code: 0 })
  expect(BigInt((await costsOf(run)).fee_paid)).toBeGreaterThan(BigInt(before.fee_paid))
})
