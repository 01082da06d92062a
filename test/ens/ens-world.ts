import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import {
  type Abi,
  decodeFunctionData,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  keccak256,
  labelhash,
  namehash,
  parseAbi,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import { mainnet } from 'viem/chains'
import { compileSolidity, readSources } from '../../src/build/contracts.mjs'
import { listenLocally } from '../helpers/http-server.ts'
import { type PlainAnvil, startPlainAnvil } from '../helpers/plain-anvil.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))

interface Fixture {
  sha256: string
  bytecode: Hex
}

/** The contracts of ENS that its npm packages contain. */
export const FIXTURES = JSON.parse(readFileSync(new URL('ens-contracts.json', import.meta.url), 'utf8')) as Record<
  'ENSRegistry' | 'PublicResolver',
  Fixture
>

const REGISTRY = parseAbi([
  'function setSubnodeOwner(bytes32 node, bytes32 label, address owner) returns (bytes32)',
  'function setResolver(bytes32 node, address resolver)',
])
const RESOLVER = parseAbi(['function setAddr(bytes32 node, uint256 coinType, bytes record)'])
const RESOLVE = parseAbi(['function resolve(bytes name, bytes data)'])

export type TestContract =
  | 'UniversalResolver'
  | 'WildcardResolver'
  | 'OffchainResolver'
  | 'EndlessResolver'
  | 'OldResolver'
  | 'BrokenResolver'

/** A chain with the chain ID of Ethereum, and with ENS. */
export interface EnsWorld {
  anvil: PlainAnvil
  /** Deploys a resolver of the test. */
  deploy(name: TestContract, ...args: unknown[]): Promise<Hex>
  /** Registers a name with records by coin type, in ENS's public resolver. */
  register(name: string, records: Readonly<Record<string, Hex>>): Promise<void>
  /** Registers a name with a resolver of its own. */
  useResolver(name: string, resolver: Hex): Promise<void>
  stop(): Promise<void>
}

export async function startEnsWorld(): Promise<EnsWorld> {
  const compiled = compileSolidity(readSources(HERE), HERE)
  const anvil = await startPlainAnvil(['--chain-id', '1'])
  const [me = '0x'] = anvil.accounts

  async function create(data: Hex): Promise<Hex> {
    const nonce = BigInt(await anvil.request<Hex>('eth_getTransactionCount', [me, 'latest']))
    await anvil.send(me, null, data)
    return getContractAddress({ from: me, nonce })
  }
  const deploy = (name: TestContract, ...args: unknown[]) => {
    const { abi, bytecode } = compiled[name] as { abi: Abi; bytecode: Hex }
    return create(encodeDeployData({ abi, bytecode, args }))
  }

  const registry = await create(FIXTURES.ENSRegistry.bytecode)
  const registryArgument = encodeAbiParameters([{ type: 'address' }], [registry])
  const publicResolver = await create(`${FIXTURES.PublicResolver.bytecode}${registryArgument.slice(2)}`)
  const code = await anvil.request<Hex>('eth_getCode', [await deploy('UniversalResolver', registry), 'latest'])
  await anvil.request('anvil_setCode', [mainnet.contracts.ensUniversalResolver.address, code])

  async function useResolver(name: string, resolver: Hex): Promise<void> {
    const labels = name.split('.')
    for (let at = labels.length - 1; at >= 0; at--) {
      const node = namehash(labels.slice(at + 1).join('.'))
      const args = [node, labelhash(labels[at] ?? ''), me] as const
      await anvil.send(me, registry, encodeFunctionData({ abi: REGISTRY, functionName: 'setSubnodeOwner', args }))
    }
    const args = [namehash(name), resolver] as const
    await anvil.send(me, registry, encodeFunctionData({ abi: REGISTRY, functionName: 'setResolver', args }))
  }

  return {
    anvil,
    deploy,
    useResolver,
    async register(name, records) {
      await useResolver(name, publicResolver)
      for (const [coinType, record] of Object.entries(records)) {
        const args = [namehash(name), BigInt(coinType), record] as const
        await anvil.send(me, publicResolver, encodeFunctionData({ abi: RESOLVER, args }))
      }
    },
    stop: () => anvil.stop(),
  }
}

export type Answer = (response: ServerResponse, body: Hex, request: IncomingMessage) => void

export interface TestGateway {
  url: string
  host: string
  /** The account whose signatures the resolver accepts. */
  signer: Hex
  /** Requests so far. */
  asked: { method: string; url: string }[]
  /** Replaces the honest response. */
  answer: Answer | null
  close(): Promise<void>
}

/** Starts a gateway that returns one record for each question. */
export async function startGateway(record: Hex): Promise<TestGateway> {
  const key = generatePrivateKey()
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', async () => {
      gateway.asked.push({ method: request.method ?? '', url: request.url ?? '' })
      const posted = pieces.length === 0 ? {} : (JSON.parse(Buffer.concat(pieces).toString()) as { data?: Hex })
      const data = posted.data ?? (/0x[0-9a-f]{8,}$/.exec(request.url ?? '')?.[0] as Hex)
      const body = await signed(data, record, key).catch(() => '0x' as const)
      if (gateway.answer !== null) return gateway.answer(response, body, request)
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: body }))
    })
  })
  const { url, close } = await listenLocally(server)
  const gateway: TestGateway = {
    url,
    host: new URL(url).host,
    signer: privateKeyToAccount(key).address,
    asked: [],
    answer: null,
    close,
  }
  return gateway
}

/** Returns the response for a question: the record, with the signature that the resolver checks. */
async function signed(query: Hex, record: Hex, key: Hex): Promise<Hex> {
  decodeFunctionData({ abi: RESOLVE, data: query })
  const result = encodeAbiParameters([{ type: 'bytes' }], [record])
  const hash = keccak256(encodeAbiParameters([{ type: 'bytes32' }, { type: 'bytes' }], [keccak256(query), result]))
  const { r, s, v = 27n } = await sign({ hash, privateKey: key })
  const types = [{ type: 'bytes' }, { type: 'uint8' }, { type: 'bytes32' }, { type: 'bytes32' }] as const
  return encodeAbiParameters(types, [result, Number(v), r, s])
}
