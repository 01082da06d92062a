/** @module-tag slow */
import { beforeAll, describe, expect, test } from 'vitest'
import { spentText } from '../../../src/cli/cost/spent.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { parseUnits } from '../../../src/core/units.ts'
import { EMBEDDED_FEES } from '../../../src/server/chain/evm/evm-signer.ts'
import { mintGasLimit } from '../../../src/server/chain/evm/gas-limits.ts'
import { backendForFile, createTestCollection, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { rpcStandIn } from '../../helpers/rpc-stand-in.ts'
import { CSV, folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi, type Handler } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** The most that one NFT alone can cost, in coins. */
const ONE = Number(mintGasLimit([{ receiver: '0x', count: 1 }]) * EMBEDDED_FEES.maxFeePerGas) / 1e18
/** What a server responds that limits the cost of a run. */
const setrunmaxcost: Handler = (requests: { max_cost: string }) => ({
  body: { requests, max_cost: requests.max_cost },
})
const coins = (amount: number) => amount.toFixed(12)

/** A drop into a new collection, with one row for each receiver. */
async function drop(receivers: readonly string[] = WALLETS) {
  const rows = receivers.map((receiver, index) => `Row ${index},x,${receiver}\n`).join('')
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\n${rows}` })
  const { address } = await createTestCollection(backend)
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const target = ['-c', address, '-b', 'polygon', '--yes', '--json']
  const mint = (...flags: string[]) =>
    cli(['batch', 'mint', path('drop.csv'), ...target, ...flags], { ...options, env })
  return { mint, path, run: (...argv: string[]) => cli(argv, { ...options, env }) }
}
const rowsOf = async (run: (...argv: string[]) => ReturnType<typeof cli>) =>
  JSON.parse((await run('batch', 'status', 'drop', '--json')).stdout)

describe('batch mint --max-cost', () => {
  test('stops where the limit is reached, keeps the other rows planned, and resumes with a higher limit', {
    tags: ['promise'],
  }, async () => {
    const { mint, run } = await drop()
    // The first row pays less than its worst case, and more than the rest of the limit.
    const stopped = await mint('--max-cost', coins(1.001 * ONE))
    expect(errorOf(stopped)).toMatchObject({ code: 'max_cost' })
    const enough = /run the same command with --max-cost ([0-9.]+) or more, which is enough/.exec(
      errorOf(stopped).hint ?? '',
    )
    expect(errorOf(stopped).hint).not.toContain('to resume the run')
    expect(stopped.code).toBe(5)
    const before = await rowsOf(run)
    expect([before.accepted + before.deployed, before.failed, before.pending]).toEqual([1, 0, WALLETS.length - 1])
    // The limit belongs to the run.
    expect(errorOf(await mint())).toMatchObject({ code: 'max_cost' })
    // A limit that is lowered below the cost of one transaction holds for what was accepted.
    const low = ['--max-cost', coins(0.9 * ONE)]
    expect((await mint(...low, '--dry-run')).code).toBe(0)
    const { stderr } = await run('batch', 'resume', 'drop', '--yes', ...low)
    expect(stderr).toContain('This limit applies to the run')
    const lowered = JSON.parse((await run('batch', 'status', 'drop', '--costs', '--json')).stdout)
    expect(lowered).toMatchObject({ pending: WALLETS.length - 1, max_cost_wei: String(parseUnits(coins(0.9 * ONE))) })
    expect(Number(enough?.[1])).toBeLessThan((WALLETS.length + 0.01) * ONE)
    const { code, stdout } = await mint('--max-cost', enough?.[1] ?? '')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ deployed: WALLETS.length, pending: 0, failed: 0 })
    // Its transactions have paid less than the limit, and every command shows it.
    const spent = JSON.parse((await run('batch', 'status', 'drop', '--costs', '--json')).stdout)
    expect(spent).toMatchObject({
      currency: 'POL',
      simulated: true,
      max_cost_wei: String(parseUnits(enough?.[1] ?? '')),
    })
    expect(BigInt(spent.fee_paid_wei)).toBeGreaterThan(BigInt(spent.gas_used))
    expect(BigInt(spent.fee_paid_wei)).toBeLessThan(BigInt(spent.max_cost_wei))
    expect((await run('batch', 'results', 'drop', '--costs')).stderr).toMatch(/Paid: [0-9.]+ POL of at most/)
    const reported = JSON.parse((await run('batch', 'report', 'drop', '--to', 'r.html', '--json')).stdout)
    expect(reported.fee_paid_wei).toBe(spent.fee_paid_wei)
  })

  test('names a limit that is enough for all rows, also after a resume with larger requests', {
    tags: ['promise'],
  }, async () => {
    const { mint, run } = await drop(Array.from({ length: 20 }, () => WALLETS[1]))
    const stopped = await mint('--chunk-size', '1', '--max-cost', coins(1.001 * ONE))
    expect(errorOf(stopped)).toMatchObject({ code: 'max_cost' })
    const resume = (...flags: string[]) =>
      run('batch', 'resume', 'drop', '--yes', '--json', '--chunk-size', '20', ...flags)
    const { hint } = errorOf(await resume())
    const [, enough = ''] = /with --max-cost ([0-9.]+) or more, which is enough/.exec(hint ?? '') ?? []
    const { code, stdout, stderr } = await resume('--max-cost', enough)
    expect([code, JSON.parse(stdout).deployed], stderr).toEqual([0, 20])
  })

  test('names a limit for rows in the order of a manifest, where each change of the receiver begins a request', async () => {
    const { mint } = await drop(Array.from({ length: 20 }, (_, index) => WALLETS[index < 10 ? 1 : index % 2] ?? ''))
    // The first request has ten rows, and each other one has a row.
    const { hint } = errorOf(await mint('--in-order', '--max-cost', coins(1.001 * ONE)))
    const [, enough = ''] = /with --max-cost ([0-9.]+) or more, which is enough/.exec(hint ?? '') ?? []
    expect(Number(enough) / ONE).toBeCloseTo(20, 2)
  })

  test.each([
    ['yes', '0', 'Paid: 0 of at most 0.5 coins: nothing has been accepted yet'],
    ['no', null, 'The server does not report the cost of the run'],
  ])('before anything was accepted, a server that limits costs (%s) has the fees %s', async (limits, fee, text) => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const headers = { 'run-max-cost-supported': limits, 'idempotency-key-supported': 'yes' }
    const missing = { status: 404, headers, body: { error: { title: 'Not Found', message: 'there is no run' } } }
    const api = await fakeApi({
      '*': (body, call) => (call.path.endsWith('/setrunmaxcost') ? setrunmaxcost(body, call) : missing),
      createnft: () => ({ status: 403, headers, body: { error: { title: 'Forbidden', message: 'not yet' } } }),
    })
    const at = ['--base-url', api.url]
    const node = await rpcStandIn({ eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x1' })
    const limit = fee === null ? [] : ['--max-cost', '0.5', '--rpc-url', node]
    const { code } = await cli(
      ['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '--yes', '--again', ...limit],
      options,
    )
    expect(code).toBe(4)
    const { stdout } = await cli(['batch', 'status', 'drop', '--costs', ...at, '--json'], options)
    expect(JSON.parse(stdout)).toMatchObject({ pending: 2, accepted: 0 })
    const resumed = await cli(['batch', 'resume', 'drop', ...at, '--yes'], options)
    expect(resumed.stderr).toContain(', resumed\n')
    expect(resumed.stderr).not.toContain('sent before')
    expect([JSON.parse(stdout).fee_paid_wei, JSON.parse(stdout).gas_used]).toEqual([fee, fee])
    expect((await cli(['batch', 'results', 'drop', '--costs', ...at], options)).stderr).toContain(text)
  })

  test('says that pending transactions are not counted in what was spent', () => {
    const spent = {
      gas_used: '21000',
      fee_paid_wei: '1100000000000000',
      max_cost_wei: '2000000000000000',
      currency: 'ETH',
    }
    const texts = [0, 1, 2].map((pending_transactions) =>
      spentText({ ...spent, pending_transactions, simulated: false }),
    )
    expect(texts).toEqual([
      '0.0011 ETH of at most 0.002 ETH, for 21,000 gas',
      '0.0011 ETH of at most 0.002 ETH, for 21,000 gas so far: 1 transaction is not counted yet',
      '0.0011 ETH of at most 0.002 ETH, for 21,000 gas so far: 2 transactions are not counted yet',
    ])
    const nothing = { ...spent, gas_used: '0', fee_paid_wei: '0', pending_transactions: 1, simulated: false }
    expect(spentText(nothing)).toBe('nothing yet of at most 0.002 ETH: 1 transaction is not counted yet')
  })

  test('applies to rows that were accepted before, also where it is the first limit or a lower one', async () => {
    const { mint, run } = await drop()
    expect((await mint('--max-fee-gwei', '0.000000001', '--no-wait')).code).toBe(0)
    const kept = async () =>
      JSON.parse((await run('batch', 'status', 'drop', '--costs', '--json')).stdout).max_cost_wei as string | null
    expect(await kept()).toBeNull()
    for (const amount of [coins(9 * ONE), coins(1.5 * ONE), coins(8 * ONE)]) {
      expect((await mint('--max-cost', amount, '--no-wait')).code).toBe(0)
      expect(await kept()).toBe(String(parseUnits(amount)))
    }
    const { code, stdout } = await mint('--max-fee-gwei', '500')
    expect([code, JSON.parse(stdout).deployed]).toEqual([0, WALLETS.length])
  })

  test('applies to rows that may have been accepted, with the limit of the run where none is given', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const { createnft } = service()
    const stop = new AbortController()
    const headers = { 'run-max-cost-supported': 'yes', 'idempotency-supported': 'yes' }
    const price = '1000000000'
    const gas_price = { low: price, typical: price, high: price, offered: price }
    const fees = { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1, fee: '0', gas: '0' } }
    const costs = {
      ...{ blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '0', fee_paid: '0', max_fee: null },
      ...{ pending_transactions: 0, final_fee_paid: '0', counted: '0', waiting: null },
    }
    let max_cost = String(parseUnits('0.5'))
    const api = await fakeApi({
      createnft(body) {
        if (stop.signal.aborted) return { ...createnft(body), headers }
        stop.abort(new GdnError('interrupted', 'interrupted by this test'))
        return { status: 502, headers, body: {} }
      },
      getfees: () => ({ headers, body: { requests: { blockchain: 'polygon' }, fees } }),
      getruncosts: (requests) => ({ headers, body: { requests, costs: { ...costs, max_cost } } }),
      setrunmaxcost: ((requests: { max_cost: string }) => {
        max_cost = requests.max_cost
        return { headers, body: { requests, max_cost } }
      }) as never,
      '*': () => ({ headers, body: {} }),
    })
    const target = [...TARGET, '--base-url', api.url, '--no-lookup', '--no-wait', '--yes']
    const mint = (flags: string[], { signal } = new AbortController()) =>
      cli(['batch', 'mint', path('drop.csv'), ...target, ...flags], { ...options, signal })
    expect((await mint(['--max-cost', '0.5'], stop)).stderr).toContain('outcome of 2 rows is unknown')
    await mint(['--max-cost', '0.4'])
    expect(max_cost).toBe(String(parseUnits('0.4')))
    // A late request of the command that was stopped must not raise the limit again.
    const carried = api.calls.map(({ headers }) => headers['gdn-run-max-cost']).filter((value) => value !== undefined)
    expect(new Set(carried)).toEqual(new Set([String(parseUnits('0.5')), String(parseUnits('0.4'))]))
    // Set elsewhere: the limit of the run lowers one, and raises none.
    max_cost = String(parseUnits('0.45'))
    await mint([])
    expect(max_cost).toBe(String(parseUnits('0.4')))
    max_cost = String(parseUnits('0.3'))
    await mint([])
    expect(max_cost).toBe(String(parseUnits('0.3')))
  })

  test('says that a lower limit does not change what is signed already', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const { createnft } = service()
    const price = '1000000000'
    const costs = {
      ...{ blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '0', fee_paid: '0', max_fee: null },
      ...{
        pending_transactions: 2,
        final_fee_paid: '0',
        max_cost: String(parseUnits('0.5')),
        counted: String(parseUnits('0.45')),
        waiting: null,
      },
    }
    const gas_price = { low: price, typical: price, high: price, offered: price }
    const fees = { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1, fee: '0', gas: '0' } }
    const headers = { 'run-max-cost-supported': 'yes', 'idempotency-supported': 'yes' }
    const { url } = await fakeApi({
      createnft: (body) => ({ ...createnft(body), headers }),
      getfees: () => ({ headers, body: { requests: { blockchain: 'polygon' }, fees } }),
      getruncosts: (requests) => ({ headers, body: { requests, costs } }),
      setrunmaxcost: ((requests: { max_cost: string }) => ({
        ...{ headers, body: { requests, max_cost: requests.max_cost } },
      })) as never,
      '*': () => ({ headers, body: {} }),
    })
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--no-lookup', '--no-wait', '--yes']
    const mint = (limit: string) => cli([...argv, '--max-cost', limit], options)
    const WARNING = '2 transactions are already signed. --max-cost limits only transactions that are not signed yet.'
    expect((await mint('0.5')).stderr).not.toContain(WARNING)
    expect((await mint('0.6')).stderr).not.toContain(WARNING)
    expect((await mint('0.4')).stderr).toContain(WARNING)
  })

  test('takes an amount in the coin of the network, with and without a space', async () => {
    const { mint } = await drop()
    expect((await mint('--max-cost', `${coins(10 * ONE)}POL`)).code).toBe(0)
    const other = await drop()
    expect((await other.mint('--max-cost', `${coins(10 * ONE)} pol`)).code).toBe(0)
  })

  test('waits for pending transactions where they leave more of the limit', async () => {
    const { mint } = await drop()
    const { code, stdout } = await mint('--max-cost', coins(3.2 * ONE))
    expect([code, JSON.parse(stdout).deployed]).toEqual([0, WALLETS.length])
  })

  test('says how many blocks a tight limit waits for finality, and batch status does so while rows are unsent', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const { createnft, getnfts } = service()
    const headers = { 'run-max-cost-supported': 'yes', 'idempotency-key-supported': 'yes' }
    const conflict = { status: 409, body: { error: { title: 'Conflict', message: 'the run may cost 5 wei' } } }
    const price = '1000000000'
    const gas_price = { low: price, typical: price, high: price, offered: price }
    const fees = { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1, fee: '0', gas: '0' } }
    /** Responses with the error, and headers of each. */
    const refusals: Record<string, string>[] = [{}, { 'retry-after': '1' }]
    const api = await fakeApi({
      ...{ getnfts, setrunmaxcost, getisgdnnft: () => ({ headers, body: {} }) },
      createnft(body) {
        const more = refusals.shift()
        if (more === undefined) return { ...createnft(body), headers }
        return { ...conflict, headers: { ...headers, 'error-code': 'run_max_cost', ...more } }
      },
      getfees: () => ({ headers, body: { requests: { blockchain: 'polygon' }, fees } }),
      getruncosts() {
        const costs = { blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '1', fee_paid: '1' }
        const limits = { max_cost: '5', max_fee: null, waiting: 'waiting for finality, 12 blocks left' }
        return { body: { requests: { run: 'drop' }, costs: { ...costs, ...limits } } }
      },
    })
    const node = await rpcStandIn({ eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x1' })
    const flags = ['--base-url', api.url, '--yes', '--max-cost', '1', '--rpc-url', node]
    const mint = () => cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...flags, '-o', 'ndjson'], options)
    const status = async () =>
      JSON.parse((await cli(['batch', 'status', 'drop', '--costs', '--base-url', api.url, '--json'], options)).stdout)
    expect((await mint()).code).toBe(5)
    expect(await status()).toMatchObject({ pending: 2, waiting: 'waiting for finality, 12 blocks left' })
    const { code, stdout } = await mint()
    expect(code).toBe(0)
    const holding = stdout.split('\n').filter((line) => line.includes('"holding"'))
    expect(holding.map((line) => JSON.parse(line).message)).toEqual([
      expect.stringMatching(
        /^waiting for finality, 12 blocks left; --max-cost 0\.000\d+ or more is enough for all rows at the current fees$/,
      ),
    ])
    expect(await status()).toMatchObject({ pending: 0, waiting: null })
  })

  test('finality is no reason for rows and requests that are all sent', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const { createnft, getnfts } = service()
    const headers = { 'run-max-cost-supported': 'yes', 'idempotency-key-supported': 'yes' }
    let looks = 0
    const api = await fakeApi({
      ...{ setrunmaxcost, getisgdnnft: () => ({ headers, body: {} }) },
      createnft: (body) => ({ ...createnft(body), headers }),
      getnfts(body) {
        const { nfts, ...seen } = getnfts(body).body as { nfts: object[] }
        const isDone = looks++ > 2
        return { body: { ...seen, nfts: nfts.map((nft) => (isDone ? nft : { ...nft, status: 'initiated' })) } }
      },
      getruncosts() {
        const costs = { blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '1', fee_paid: '1' }
        const limits = { max_cost: '5', max_fee: null, waiting: 'waiting for finality, 12 blocks left' }
        return { body: { requests: { run: 'drop' }, costs: { ...costs, ...limits } } }
      },
    })
    const node = await rpcStandIn({ eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x1' })
    const at = ['--base-url', api.url]
    const paid = ['--yes', '--max-cost', '1', ...at]
    const mint = (...more: string[]) =>
      cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...paid, '--rpc-url', node, ...more], options)
    const status = async (run: string) =>
      JSON.parse((await cli(['batch', 'status', run, '--costs', ...at, '--json'], options)).stdout)
    const mintResult = await mint('--no-wait')
    expect(mintResult.code, mintResult.stderr).toBe(0)
    expect(await status('drop')).toMatchObject({ accepted: 2, waiting: null })
    const { stdout } = await mint('-o', 'ndjson')
    const waiting = stdout.split('\n').filter((line) => line.includes('"waiting"'))
    expect(waiting.length).toBeGreaterThan(1)
    expect(new Set(waiting.map((line) => JSON.parse(line).reason))).toEqual(new Set([null]))
    const one = ['--title', 'x', '--receiver', WALLETS[0] ?? '', ...TARGET, ...paid]
    expect((await cli(['nft', 'mint', ...one, '--no-wait'], options)).code).toBe(0)
    const commands = JSON.parse((await cli(['batch', 'list', '--all', ...at, '--json'], options)).stdout)
    const { run } = commands.find(({ manifest }: { manifest: string | null }) => manifest === null)
    expect(await status(run)).toMatchObject({ accepted: 1, waiting: null })
  })

  test('batch status names nothing that a finished command waits for', async () => {
    const { options } = await folder({ 'drop.csv': CSV })
    const { createnft, getnfts } = service()
    const headers = { 'run-max-cost-supported': 'yes', 'idempotency-key-supported': 'yes' }
    const api = await fakeApi({
      getnfts,
      createnft: (body) => ({ ...createnft(body), headers }),
      getruncosts() {
        const costs = { blockchain: 'polygon', is_simulated: false, currency: 'POL', gas_used: '1', fee_paid: '1' }
        const limits = { max_cost: '5', max_fee: null, waiting: 'the signer has too little' }
        return { body: { requests: { run: 'mint' }, costs: { ...costs, ...limits } } }
      },
      '*': () => ({ headers, body: {} }),
    })
    const at = ['--base-url', api.url, '--json']
    const mint = [
      'nft',
      'mint',
      '--title',
      'x',
      '--receiver',
      WALLETS[0] ?? '',
      ...TARGET,
      '--yes',
      '--max-cost',
      '1',
      ...at,
    ]
    const minted = await cli(mint, options)
    expect(minted.code, minted.stderr).toBe(0)
    const [command] = JSON.parse((await cli(['batch', 'list', '--all', ...at], options)).stdout)
    const { stdout } = await cli(['batch', 'status', command.run, '--costs', ...at], options)
    expect(JSON.parse(stdout)).toMatchObject({ deployed: 1, fee_paid_wei: '1', waiting: null })
  })

  test('is refused below the cost of one transaction, before anything is sent', { tags: ['promise'] }, async () => {
    const { mint, run } = await drop()
    expect(errorOf(await mint('--max-cost', coins(0.9 * ONE), '--dry-run')).code).toBe('max_cost')
    const error = errorOf(await mint('--max-cost', coins(0.9 * ONE)))
    expect(error.code).toBe('max_cost')
    expect(error.message).toMatch(
      /^--max-cost: [0-9.]+ POL is below the maximum cost of one transaction \([0-9.]+ POL\)$/,
    )
    const [, enough = ''] =
      /no limit was changed\. --max-cost ([0-9.]+) is enough for all rows/.exec(error.hint ?? '') ?? []
    expect((await run('batch', 'list', '--json')).stdout.trim()).toBe('[]')
    const { code, stdout } = await mint('--max-cost', enough)
    expect([code, JSON.parse(stdout).deployed]).toEqual([0, WALLETS.length])
  })

  test('in money needs a price in its currency', async () => {
    const { mint } = await drop()
    const unknown = errorOf(await mint('--max-cost', '5EURO'))
    expect(unknown.message).toBe('--max-cost: the price of POL in EURO is not known')
    expect(unknown.hint).toContain(
      'Use POL, such as --max-cost 0.5POL. To use a currency, such as 10USD, set --price to the price of a coin',
    )
    expect(errorOf(await mint('--max-cost', '10USD', '--price', '5EUR')).message).toBe(
      '--max-cost: is in USD, but the price of a coin is in EUR',
    )
    for (const more of [[], ['--price', '5EUR']]) {
      expect(errorOf(await mint('--max-cost', '0.01 ETH', ...more))).toMatchObject({
        message: '--max-cost: is in ETH, but the currency of polygon is POL',
        hint: 'Use POL, such as --max-cost 0.5POL, or a currency, such as --max-cost 10USD.',
      })
    }
    const { code } = await mint('--max-cost', `${coins(2000 * ONE)}USD`, '--price', '2')
    expect(code).toBe(0)
  })

  test.each(['', '0', '-1', '1e3', '10 dollars', 'USD', '0.0000000000000000001'])('rejects "%s"', async (amount) => {
    const { path, options } = await folder()
    const result = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--max-cost', amount, '--json'], options)
    expect(errorOf(result)).toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/^--max-cost: must be an amount/),
    })
  })

  test('says that it is an estimate where the server does not enforce it', async () => {
    const { path, options } = await folder({ 'drop.csv': CSV })
    const api = await fakeApi({ ...service(), getisgdnnft: () => ({ body: {} }) })
    const node = await rpcStandIn({ eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x1' })
    const flags = ['--base-url', api.url, '--yes', '--rate', '1000', '--max-cost', '1', '--rpc-url', node]
    const { code, stderr } = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...flags], options)
    expect(code).toBe(0)
    expect(stderr).toContain("doesn't enforce --max-cost. To estimate costs, run gdn cost.")
  })
})
