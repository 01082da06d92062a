/** @module-tag slow */
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { implementationAddress } from '../../../src/server/chain/evm/factory.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { compilerVersion, standardInput } from '../../../src/server/setup/verify/contracts.ts'
import { findChain } from '../../../src/server/store/chains.ts'
import { deleteFactoryTransaction, findFactoryTransaction } from '../../../src/server/store/transactions.ts'
import { withStore } from '../../helpers/backend.ts'
import {
  type HttpServer,
  type Reply,
  startHttpServer,
  startTcpServer,
  type TcpServer,
} from '../../helpers/http-server.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { cli, errorOf } from '../harness.ts'

const KEY = 'ETHERSCANKEY0123456789ABCDEFGHIJKL'

let real: PublicNetwork
let place: NetworkPlace
let factory: Hex
let service: HttpServer
/** Whether Sourcify has a contract, by its address. */
let verified: Set<string>
let submitted: string[]
let etherscan: () => Reply
/** What a proxy was asked for. */
let proxied: string[]
let proxy: TcpServer

beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  await writeFile(join(place.dataDir, 'etherscan.key'), `${KEY}\n`, { mode: 0o600 })
  factory = (await withStore(place.dataDir, ({ db }) => findChain(db, 'polygon')))?.factory_address as Hex
  proxied = []
  proxy = await startTcpServer((socket) => {
    socket.once('data', (data) => {
      proxied.push(String(data).split('\r\n')[0] ?? '')
      socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n')
    })
  })
  service = await startHttpServer(({ method, path, body }) => {
    if (path.startsWith('/api')) return etherscan()
    const [, , what, , address = ''] = path.split('/')
    if (what === 'contract')
      return {
        status: verified.has(address) ? 200 : 404,
        json: { match: verified.has(address) ? 'exact_match' : null },
      }
    if (method === 'POST') {
      submitted.push(`${address} ${(JSON.parse(body.toString()) as { contractIdentifier: string }).contractIdentifier}`)
      verified.add(address)
      return { status: 202, json: { verificationId: 'one' } }
    }
    return { json: { isJobCompleted: true, contract: { match: 'exact_match' } } }
  })
})
afterAll(async () => {
  await service?.close()
  await proxy?.close()
  await place?.remove()
  await real?.close()
})

const verifyAt = (url: string, ...argv: string[]) => {
  const at = ['--data-dir', place.dataDir, '--sourcify-url', url]
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url }
  return cli(['chain', 'verify', 'polygon', ...at, '--json', ...argv], { env })
}
const verify = (...argv: string[]) => verifyAt(service.url, ...argv)

describe('gdn chain verify', () => {
  test('verifies factory and implementation, and again without an effect', async () => {
    verified = new Set()
    submitted = []
    const implementation = implementationAddress(factory)
    const first = await verify()
    expect(first.stderr).toBe('')
    expect(JSON.parse(first.stdout)).toMatchObject([
      { blockchain: 'polygon', chain_id: 137, contract: 'GdnFactory', address: factory, status: 'verified' },
      { contract: 'GdnCollection', address: implementation, service: 'sourcify', match: 'exact', message: null },
    ])
    expect(submitted).toEqual([
      `${factory} GdnFactory.sol:GdnFactory`,
      `${implementation} GdnCollection.sol:GdnCollection`,
    ])
    const second = await verify()
    expect(second.code).toBe(0)
    expect((JSON.parse(second.stdout) as { status: string }[]).map(({ status }) => status)).toEqual([
      'already_verified',
      'already_verified',
    ])
    expect(submitted).toHaveLength(2)
  })

  test('exits with 8 while a service has not returned a result at --timeout', async () => {
    const silent = await startTcpServer(() => {})
    onTestFinished(() => silent.close())
    const result = await verifyAt(silent.url, '--timeout', '1s')
    expect(result.code).toBe(8)
    expect(errorOf(result)).toMatchObject({ code: 'pending', message: 'a service has not returned a result yet' })
  })

  test('uses the proxy of the environment, except for a service on this machine', async () => {
    verified = new Set([factory, implementationAddress(factory)])
    expect((await verify()).code).toBe(0)
    expect(proxied).toEqual([])
    await verifyAt('https://sourcify.invalid', '--timeout', '1s')
    expect(proxied).toContain('CONNECT sourcify.invalid:443 HTTP/1.1')
  })

  test('asks Etherscan with the key in a file or a variable, and exits with 5 or 4 if it rejects', async () => {
    const at = ['--etherscan-url', `${service.url}/api`]
    const file = ['--etherscan-key-file', join(place.dataDir, 'etherscan.key')]
    etherscan = () => ({ json: { status: '0', result: 'Contract source code already verified' } })
    const both = await verify(...at, ...file)
    expect(both.code).toBe(0)
    expect((JSON.parse(both.stdout) as { service: string }[]).map((one) => one.service)).toEqual([
      ...['sourcify', 'sourcify', 'etherscan', 'etherscan'],
    ])
    etherscan = () => ({ json: { status: '0', result: 'Fail - Unable to verify' } })
    const rejected = await cli(
      ['chain', 'verify', 'polygon', '--data-dir', place.dataDir, '--sourcify-url', service.url, '--json', ...at],
      { env: { GDN_ETHERSCAN_KEY: KEY } },
    )
    expect(rejected.code).toBe(5)
    expect(JSON.parse(rejected.stdout)).toContainEqual(
      expect.objectContaining({ service: 'etherscan', status: 'rejected', message: 'Fail - Unable to verify' }),
    )
    etherscan = () => ({ json: { status: '0', result: `Invalid API Key ${KEY}` } })
    const unauthorized = await verify(...at, ...file)
    expect(unauthorized.code).toBe(4)
    expect(unauthorized.stdout).toContain('rejected the key in --etherscan-key-file')
    expect(unauthorized.stdout + unauthorized.stderr).not.toContain(KEY)
  })

  test('prints once and in full why a service cannot be reached, on a terminal of 80 columns', async () => {
    const at = ['--data-dir', place.dataDir, '--sourcify-url', 'http://127.0.0.1:1']
    const { code, stdout, stderr } = await cli(['chain', 'verify', 'polygon', ...at], { tty: true })
    const reason = 'sourcify: 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1'
    expect(stderr.split('\n').filter((line) => line === reason)).toHaveLength(1)
    expect(stderr).toContain('All 2 verifications have the status failed.\n')
    expect(stderr).toContain('Run the same command again later')
    expect(stdout).toContain(`GdnFactory     ${factory}`)
    expect(stdout).not.toContain('…')
    expect(code).toBe(6)
  })

  test('names a setup command that can be pasted before the setup', async () => {
    const fresh = join(place.dataDir, 'not set up')
    await mkdir(fresh, { mode: 0o700 })
    await copyFile(join(place.dataDir, 'backend.yaml'), join(fresh, 'backend.yaml'))
    const { hint } = errorOf(await cli(['chain', 'verify', 'polygon', '--data-dir', fresh, '--json']))
    expect(hint).toContain(`\`gdn chain setup polygon --data-dir '${fresh}' --admin-keystore admin.json --dry-run\``)
  })

  test('writes the input for other services, without a request to any', async () => {
    const to = join(place.dataDir, 'input.json')
    const before = service.seen.length
    const { stdout } = await verify('--to', to)
    expect(await readFile(to, 'utf8')).toBe(`${standardInput}\n`)
    expect(JSON.parse(stdout)).toMatchObject([
      {
        ...{ contract: 'GdnFactory', service: null, status: 'written', compiler: `v${compilerVersion}` },
        constructor_arguments: expect.stringContaining(place.operator.slice(2).toLowerCase()),
      },
      { contract: 'GdnCollection', identifier: 'GdnCollection.sol:GdnCollection', constructor_arguments: '0x' },
    ])
    expect(errorOf(await verify('--to', to))).toMatchObject({ message: `--to: ${to} already exists` })
    const flags = ['--data-dir', place.dataDir, '--to', join(place.dataDir, 'again.json')]
    expect((await cli(['chain', 'verify', 'polygon', ...flags], { tty: true })).stdout).not.toMatch(/SERVICE|MATCH/)
    expect((await verify('--to', '-')).stdout).toBe(`${standardInput}\n`)
    expect(service.seen).toHaveLength(before)
  })

  test('sends nothing for other code, and says so', async () => {
    const code = await real.call<Hex>('eth_getCode', [factory, 'latest'])
    await real.call('anvil_setCode', [factory, '0x6001'])
    const before = service.seen.length
    expect(errorOf(await verify())).toMatchObject({
      code: 'verify_failed',
      message: `the contract was compiled from different source code at ${factory}, where GdnFactory is expected`,
    })
    await real.call('anvil_setCode', [factory, code])
    expect(service.seen).toHaveLength(before)
  })

  test('names a node that returns no code, or no transaction', async () => {
    const lies = await startRpcProxy(real.url, {
      answer: ({ method }) =>
        method === 'eth_getCode'
          ? { result: null }
          : method === 'eth_getTransactionByHash'
            ? { result: { from: 7 } }
            : undefined,
    })
    await place.write({ urls: [lies.url] })
    try {
      expect(errorOf(await verify())).toMatchObject({
        code: 'unreachable',
        message: 'a node returned an invalid response to eth_getCode',
      })
      const hash = `0x${'1'.repeat(64)}`
      expect(errorOf(await verify('--creation-tx', hash))).toMatchObject({
        code: 'unreachable',
        message: `a node returned an invalid transaction for ${hash}`,
      })
    } finally {
      await place.write({ urls: [real.url] })
      await lies.close()
    }
  })

  test.each([
    [['--creation-tx', '0x12'], /: must be the hash of a transaction/],
    [['--creation-tx', `0x${'1'.repeat(64)}`], /: is not on this network/],
    [['--etherscan-url', 'https://scan.example/api'], /: requires a key/],
    [
      ['--etherscan-url', 'http://scan.example/api'],
      /: must be an https URL, because http would send the key unencrypted/,
    ],
    [['--etherscan-url', 'ftp://example'], /must be an http or https URL/],
  ])('rejects %j', async (argv, message) => {
    const { message: text } = errorOf(await verify(...argv))
    expect(text).toMatch(message)
  })

  test('takes the deployment from --creation-tx where the database does not have it', async () => {
    const creation = await withStore(place.dataDir, async ({ db }) => {
      const found = await findFactoryTransaction(db, 'polygon')
      if (found !== null) await deleteFactoryTransaction(db, found.id)
      return found?.hash ?? ''
    })
    const at = ['--to', '-', '--fields', 'address']
    expect((await verify(...at)).code).toBe(0)
    const unknown = JSON.parse((await verify('--to', join(place.dataDir, 'unknown.json'))).stdout)
    expect(unknown[0]).toMatchObject({ constructor_arguments: null })
    const known = JSON.parse(
      (await verify('--creation-tx', creation, '--to', join(place.dataDir, 'known.json'))).stdout,
    )
    expect(known[0].constructor_arguments).toContain(place.operator.slice(2).toLowerCase())
  })
})
