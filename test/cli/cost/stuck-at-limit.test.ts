/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
import { type CliResult, cli, errorOf } from '../harness.ts'

const [OWNER, BOB] = WALLETS
const REASON =
  /the transaction 0x[0-9a-f]{64} is stuck: the next block needs [0-9.]+ gwei, .* with --max-(cost|fee-gwei) [0-9.]+ or more to raise the limit/

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let collection: TestCollection
let nft: string
/** Ends the mining. */
let stop = async () => {}
let baseFee = GWEI

beforeEach(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await place.write({ urls: [real.url], more: { stuck_seconds: 0.3 } })
  baseFee = GWEI
  stop = real.mineEvery(30, () => baseFee)
  backend = await place.start()
  collection = await createTestCollection(backend, { dynamic: true, enable_burn: true, enable_transfer: true })
  const ids = await mint(backend, collection, plainMetadata(1), { receiver: OWNER })
  await settled(backend, ids)
  nft = ids[0] ?? ''
  await stop()
})
afterEach(async () => {
  await stop()
  await backend?.close()
  await place?.remove()
  await real?.close()
})

/** Runs commands on one machine. */
async function machine() {
  const row = `id,title,description,receiver\na,A,x,${BOB}\n`
  const { path, options } = await folder({ 'drop.csv': row })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const run = (argv: readonly string[]): Promise<CliResult> =>
    cli([...argv, '--json'], { ...options, env, columns: 1000 })
  return { drop: path('drop.csv'), run }
}

/** Resolves when a transaction is signed and in no block. */
const signed = () =>
  until(
    () =>
      withStore(place.dataDir, ({ db }) =>
        db.selectFrom('transactions').select('id').where('state', '=', 'signed').execute(),
      ),
    (rows) => rows.length > 0,
  )

/** Raises the fees above those of the signed transaction. Resolves when the backend's cached fees are as high. */
async function raiseFees(): Promise<void> {
  baseFee = 8n * GWEI
  stop = real.mineEvery(30, () => baseFee)
  await until(
    () => call(backend, 'getfees', { blockchain: 'polygon' }),
    ({ fees }) => BigInt(fees.gas_price.low) >= baseFee,
  )
}

describe('a command whose signed transaction its limit keeps from higher fees', () => {
  test.each([
    ['--max-cost', '0.001'],
    ['--max-fee-gwei', '3'],
  ])('of a run (%s) ends with max_cost, and names the limit to resume it with', async (flag, limit) => {
    const { drop, run } = await machine()
    const target = ['-c', collection.address, '-b', 'polygon']
    const accepted = await run(['batch', 'mint', drop, ...target, '--yes', '--no-wait', flag, limit])
    expect(accepted.code, accepted.stderr).toBe(0)
    await signed()
    await raiseFees()
    const stuck = await run(['batch', 'resume', 'drop', '--yes', '--timeout', '5s'])
    const { code, message, hint } = errorOf(stuck)
    expect([stuck.code, code]).toEqual([5, 'max_cost'])
    expect(message).toMatch(/^a signed transaction needs a higher fee than the limit of the run allows$/m)
    expect(message).toMatch(REASON)
    expect(JSON.parse((await run(['batch', 'status', 'drop', '--costs'])).stdout).waiting).toMatch(REASON)
    const [, flags = ''] = /Run `gdn batch resume \S+ (--max-\S+ [0-9.]+)` to raise the limit/.exec(hint ?? '') ?? []
    expect(flags.split(' ')[0], hint ?? '').toBe(flag)
    expect(await run(['batch', 'resume', 'drop', '--yes', ...flags.split(' ')])).toMatchObject({ code: 0 })
  })

  test.each([
    ['nft mint', () => ['--title', 'Dawn', '--receiver', BOB, '-c', collection.address]],
    ['nft transfer', () => [nft, '--receiver', BOB]],
    ['nft update', () => [nft, '--title', 'Dusk']],
    ['collection create', () => ['--name', 'Stuck', '--wallet', BOB]],
  ])('%s ends with max_cost, and goes on with the limit that it names', async (command, argv) => {
    const { run } = await machine()
    const all = [...command.split(' '), ...argv(), '-b', 'polygon', '--yes', '--operation', randomUUID()]
    const tooLow = errorOf(await run([...all, '--max-cost', '0.00000001', '--no-wait']))
    const [, limit = ''] = /--max-cost ([0-9.]+) or more/.exec(tooLow.hint ?? '') ?? []
    const mintResult = await run([...all, '--max-cost', limit, '--no-wait'])
    expect(mintResult.code, mintResult.stderr).toBe(0)
    await signed()
    await raiseFees()
    const stuck = await run([...all, '--timeout', '5s'])
    expect([stuck.code, errorOf(stuck).code], stuck.stderr).toEqual([5, 'max_cost'])
    expect(errorOf(stuck).message).toMatch(REASON)
    const [, enough = ''] = /--max-cost ([0-9.]+) or more/.exec(errorOf(stuck).message) ?? []
    expect(await run([...all, '--max-cost', enough])).toMatchObject({ code: 0 })
  })
})
