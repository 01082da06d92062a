import { writeFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mintGas } from '../../../src/server/chain/evm/gas-limits.ts'
import { WALLETS } from '../../helpers/backend.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { rpcStandIn } from '../../helpers/rpc-stand-in.ts'
import { CSV, folder, TARGET } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

const gwei = (price: number) => String(price * 1e9)
const FEES = {
  is_simulated: false,
  currency: 'POL',
  gas_price: { low: gwei(30), typical: gwei(40), high: gwei(80), offered: gwei(70) },
  data: { bytes: 1000, fee: '0', gas: '0' },
}
const served = (changes: object = {}) =>
  fakeApi({ getfees: () => ({ body: { requests: { blockchain: 'polygon' }, fees: { ...FEES, ...changes } } }) })

const POLYGON_NODE = { eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x2540be400' }
/** Gas of two NFTs for one receiver. */
const GAS = 111_430

describe('gdn cost', () => {
  test('names gas, coins, money and the range, from the fees of the server', async () => {
    const { path, options } = await folder()
    const api = await served()
    const argv = ['cost', path('drop.csv'), ...TARGET, '--base-url', api.url, '--price', '0.5']
    const { code, stdout, stderr } = await cli(argv, { ...options, tty: true })
    expect(code).toBe(0)
    expect(stderr).toContain(
      'On the machine of the backend, `gdn chain status polygon --data-dir <dir>` shows the operators to fund.',
    )
    expect(stdout).toMatch(/^GAS +about 111,430 in 1 transaction, at 40 gwei$/m)
    expect(stdout).toMatch(/^COST +about 0\.004457 POL, less than 0\.01 USD at 0\.50 USD$/m)
    expect(stdout).toMatch(/^RANGE +0\.003343 to 0\.008914 at recent fees$/m)
    // The gas that a signer must be able to pay for, at the highest price that a transaction offers.
    expect(stdout).toMatch(/^TO FUND +0\.21 POL for the operator that mints, at the current fees$/m)
    const { stdout: json } = await cli([...argv, '--json', '--price', '0.5'], options)
    expect(JSON.parse(json)).toEqual({
      ...{ blockchain: 'polygon', rows: 2, receivers: 1, deploys_collection: false, transactions: 1 },
      ...{ transactions_high: 1, gas_estimate: GAS, gas_price_wei: gwei(40) },
      ...{ cost_low_wei: String(BigInt(GAS) * 30_000_000_000n) },
      ...{ cost_estimate_wei: String(BigInt(GAS) * 40_000_000_000n) },
      ...{ cost_high_wei: String(BigInt(GAS) * 80_000_000_000n), data_fee_wei: '0', currency: 'POL' },
      ...{ coin_price: '0.50 USD', cost_estimate: 'less than 0.01 USD', simulated: false },
      funding_wei: String(3_000_000n * 70_000_000_000n),
    })
  })

  test('shows small amounts with four digits, and rounds what has to be sent up', async () => {
    const { path, options } = await folder()
    const api = await served({ currency: 'ETH', gas_price: { low: '1', typical: '7', high: '9', offered: '1111111' } })
    const argv = ['cost', path('drop.csv'), ...TARGET, '--base-url', api.url]
    const { stdout } = await cli(argv, { ...options, tty: true })
    expect(stdout).toMatch(/^ROWS +2 for 1 receiver$/m)
    expect(stdout).toMatch(/^COST +about 0\.00000000000078 ETH$/m)
    expect(stdout).toMatch(/^TO FUND +0\.000003334 ETH/m)
  })

  test('its range includes a transaction for each request', async () => {
    const receivers = [WALLETS[0], WALLETS[1], WALLETS[2]]
    const csv = ['title,description,receiver', ...receivers.map((receiver) => `A,x,${receiver}`), ''].join('\n')
    const { path, options } = await folder({ 'drop.csv': csv })
    const api = await served()
    const argv = ['cost', path('drop.csv'), ...TARGET, '--base-url', api.url]
    const { stdout } = await cli(argv, { ...options, tty: true })
    expect(stdout).toMatch(/^GAS .* in 1 transaction,/m)
    expect(stdout).toMatch(/^RANGE .* at recent fees, in up to 3 transactions$/m)
    const { stdout: json } = await cli([...argv, '--json'], options)
    const { cost_high_wei, gas_estimate, transactions_high } = JSON.parse(json)
    const apart = 3n * BigInt(mintGas([{ receiver: '0x', count: 1 }], false))
    expect([transactions_high, cost_high_wei]).toEqual([3, String(apart * 80_000_000_000n)])
    expect(apart).toBeGreaterThan(BigInt(gas_estimate))
  })

  test('reads the manifest from standard input', async () => {
    const { options } = await folder({})
    const api = await served()
    const argv = ['cost', '-', ...TARGET, '--base-url', api.url, '--json']
    const { code, stdout, stderr } = await cli(argv, { ...options, stdin: CSV })
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ rows: 2, transactions: 1 })
  })

  test('needs neither a server nor a collection, whose deployment is part of the cost then', async () => {
    const { path, options } = await folder()
    const node = await rpcStandIn(POLYGON_NODE)
    const argv = ['cost', path('drop.csv'), '-b', 'polygon', '--json']
    for (const from of [['--rpc-url', node], ['--rpc-url-file', path('url')], []]) {
      await writeFile(path('url'), `${node}\n`, { mode: 0o600 })
      const env = { ...options.env, ...(from.length === 0 ? { GDN_RPC_URL: node } : {}) }
      const { code, stdout } = await cli([...argv, ...from], { ...options, env })
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ deploys_collection: true, transactions: 2, gas_estimate: GAS + 179_900, gas_price_wei: gwei(10) },
        ...{ cost_estimate_wei: String((BigInt(GAS) + 179_900n) * 10_000_000_000n), cost_estimate: null },
      })
    }
  })

  test('says that an embedded chain is simulated', async () => {
    const { path, options } = await folder()
    const api = await served({ is_simulated: true })
    const { stdout, stderr } = await cli(['cost', path('drop.csv'), ...TARGET, '--base-url', api.url], {
      ...options,
      tty: true,
    })
    expect(stdout).toMatch(/^COST .*\(simulated\)$/m)
    expect(stderr).toContain('This blockchain is an embedded chain: gas and coins are simulated.')
  })
})

describe('the price of a coin', () => {
  async function priced(body: unknown, settings: Record<string, string>, streams: CliOptions = {}) {
    const { path, options } = await folder()
    const server = await startHttpServer([{ json: body }])
    onTestFinished(() => server.close())
    const api = await served()
    for (const [name, value] of Object.entries(settings)) {
      await cli(['config', 'set', name, value.replace('HOST', server.url)], options)
    }
    const argv = ['cost', path('drop.csv'), ...TARGET, '--base-url', api.url, ...(streams.tty ? [] : ['--json'])]
    const result = await cli(argv, { ...options, ...streams })
    return { asked: server.seen.map((request) => request.path), result }
  }
  const SETTINGS = { price_url: 'HOST/v2/{coin}-EUR', price_path: 'data.0.{coin}', price_currency: 'EUR' }

  test.each([[3100], ['3100.00']])('is read from a configured URL: %j', async (price) => {
    const { asked, result } = await priced({ data: [{ POL: price }] }, SETTINGS)
    expect(asked).toEqual(['/v2/POL-EUR'])
    expect(JSON.parse(result.stdout)).toMatchObject({ coin_price: '3100.00 EUR', cost_estimate: '13.82 EUR' })
  })

  test.each([[{ data: [] }], [{ data: [{ POL: 'much' }] }], [{ data: [{ POL: -1 }] }]])(
    'is left out with a note if the response is %j',
    async (body) => {
      const { result } = await priced(body, SETTINGS, { tty: true })
      expect(result.stdout).toMatch(/^COST +about 0\.004457 POL$/m)
      expect(result.stderr).toMatch(/No price: the response of 127\.0\.0\.1:\d+ has no price at data\.0\.POL\./)
    },
  )

  test('needs a currency', async () => {
    const { asked, result } = await priced({}, { price_url: SETTINGS.price_url, price_path: 'a' })
    expect(asked).toEqual([])
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'invalid_config',
      message: 'price_currency is not set, so there is no price',
    })
  })
})

describe('one clear error', () => {
  const failing = async (argv: (path: (name: string) => string) => string[], options: Partial<CliOptions> = {}) => {
    const { path, options: home } = await folder()
    const result = await cli(['cost', path('drop.csv'), ...argv(path), '--json'], { ...home, ...options })
    expect(result.stdout).toBe('')
    return errorOf(result)
  }

  test.each(['', '0', '-1', '1e3', '3,100', '3100 dollars', 'USD'])('for the price "%s"', async (price) => {
    const error = await failing(() => ['-b', 'polygon', '--price', price])
    expect(error).toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/^--price: must be the price of a coin/),
    })
  })

  test('for a node of another chain', async () => {
    const node = await rpcStandIn({ ...POLYGON_NODE, eth_chainId: '0x1' })
    const error = await failing(() => ['-b', 'polygon', '--rpc-url', `${node}/v3/secret-key-of-a-provider`])
    expect(error).toMatchObject({ code: 'usage' })
    expect(error.message).toBe(`--rpc-url: the node at ${new URL(node).host} belongs to chain 1, not 137`)
    expect(JSON.stringify(error)).not.toContain('secret-key')
  })

  test('for a node that does not respond', async () => {
    const error = await failing(() => ['-b', 'polygon', '--rpc-url', 'http://127.0.0.1:1/secret-key-of-a-provider'])
    expect(error.code).toBe('unreachable')
    expect(error.message).toContain('the node at 127.0.0.1:1 does not respond')
    expect(JSON.stringify(error)).not.toContain('secret-key')
  })

  test('for a node that returns no fees', async () => {
    const node = await rpcStandIn({ eth_chainId: '0x89' })
    const error = await failing(() => ['-b', 'polygon', '--rpc-url', node])
    expect(error).toMatchObject({ code: 'bad_answer' })
  })

  test('for a server that publishes no fees', async () => {
    const api = await fakeApi({
      getfees: () => ({ status: 404, body: { error: { title: 'Not Found', message: '' } } }),
    })
    const error = await failing(() => [...TARGET, '--base-url', api.url])
    expect(error).toMatchObject({
      code: 'refused',
      hint: 'Add --rpc-url <url> with the URL of a node on the network, or set GDN_RPC_URL.',
    })
    expect(error.message).toBe(`${api.url} doesn't publish the fees of its networks`)
  })

  test('for a server that does not respond, with the way to an estimate without one', async () => {
    const error = await failing(() => [...TARGET, '--base-url', 'http://127.0.0.1:1'])
    expect(error.code).toBe('unreachable')
    expect(error.hint).toMatch(/^Add --rpc-url <url> with the URL of a node on the network, or set GDN_RPC_URL\.$/m)
  })

  test('for an unknown network, and for one without an estimate', async () => {
    expect(await failing(() => ['-b', 'polygn'])).toMatchObject({ code: 'usage', hint: 'Did you mean polygon?' })
    const csv = 'title,description,receiver\nDawn,first,9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM\n'
    const { path, options } = await folder({ 'drop.csv': csv })
    const result = await cli(['cost', path('drop.csv'), '-b', 'solana', '--json'], options)
    expect(errorOf(result)).toMatchObject({
      code: 'usage',
      message: "--blockchain: costs on solana can't be estimated",
    })
  })

  test('for errors of the manifest', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV.replaceAll(/0x\w+/g, '0x1') })
    const result = await cli(['cost', path('drop.csv'), '-b', 'polygon', '--json'], options)
    expect(errorOf(result)).toMatchObject({ code: 'invalid_manifest' })
  })
})
