import { encodeAbiParameters } from 'viem'
import { TOPICS } from '../../src/holders/transfers.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { type HttpServer, type Reply, startHttpServer } from '../helpers/http-server.ts'
import { GatewayStandIn } from '../helpers/ipfs-gateway-stand-in.ts'

export const CONTRACT = '0xaab8d63f581412d5a7bc255261a9c0a5f32c0811'
const OWNER = '105ba2a3d820926739b9443a81fb7ab5c531e823'

const word = (hex: string) => hex.padStart(64, '0')
const numberWord = (value: bigint) => word(value.toString(16))

interface Call {
  id: number
  method: string
  params: readonly [{ data: string }]
}

interface WorldOptions {
  standard?: 'erc721' | 'erc1155'
  /** The URI of each token. `revert` makes the call fail. */
  uris: Map<bigint, string>
}

/** An NFT contract behind a node, an IPFS gateway, and a web server. */
export class CollectionWorld {
  readonly gateway = new GatewayStandIn()
  readonly uris: Map<bigint, string>
  readonly standard: 'erc721' | 'erc1155'
  /** Replies of the web server, by path. */
  readonly pages = new Map<string, Reply | (() => Reply | Promise<Reply>)>()
  /** The calls that the node receives. */
  readonly calls: string[] = []
  node!: HttpServer
  web!: HttpServer
  /** Replaces the result of a call. */
  result: (id: bigint) => string | undefined = () => undefined
  hash = word('16')
  /** The URI of the contract's own metadata. */
  contractUri: string | null = null

  constructor({ standard = 'erc721', uris }: WorldOptions) {
    this.standard = standard
    this.uris = uris
  }

  /** Starts its servers. By default, they are closed after the test. */
  async start(whenDone = whenTestDone): Promise<this> {
    await this.gateway.start()
    this.node = await startHttpServer(({ body }) => {
      const calls = JSON.parse(body.toString()) as Call | Call[]
      return { json: Array.isArray(calls) ? calls.map((one) => this.#answer(one)) : this.#answer(calls) }
    })
    this.web = await startHttpServer(async ({ path }) => {
      const found = this.pages.get(path)
      return typeof found === 'function' ? await found() : (found ?? { status: 404, text: 'no' })
    })
    whenDone(() => Promise.all([this.gateway.close(), this.node.close(), this.web.close()]))
    return this
  }

  /** The flags with which a command reads this collection. */
  get flags(): string[] {
    return [CONTRACT, '-b', 'polygon', '--rpc-url', this.node.url, '--gateway', this.gateway.url]
  }

  #answer({ id, method, params }: Call) {
    this.calls.push(method)
    const reply = (result: unknown) => ({ jsonrpc: '2.0', id, result })
    const block = { number: '0x10', hash: `0x${this.hash}`, timestamp: '0x65000000' }
    if (method === 'eth_chainId') return reply('0x89')
    if (method === 'web3_clientVersion') return reply('geth')
    if (method === 'eth_getBlockByNumber') return reply(block)
    if (method === 'eth_getCode') return reply('0x60')
    if (method === 'eth_getLogs') return reply([...this.uris.keys()].map((token, at) => this.#log(token, at)))
    if (method === 'eth_call') return { jsonrpc: '2.0', id, ...this.#call(params[0].data) }
    return { jsonrpc: '2.0', id, error: { code: -32601, message: `no ${method} here` } }
  }

  #log(token: bigint, at: number) {
    const [to, nobody] = [`0x${word(OWNER)}`, `0x${word('')}`]
    const common = { address: CONTRACT, blockNumber: '0x1', logIndex: `0x${at.toString(16)}` }
    if (this.standard === 'erc721')
      return { ...common, topics: [TOPICS.transfer, nobody, to, `0x${numberWord(token)}`], data: '0x' }
    return { ...common, topics: [TOPICS.single, to, nobody, to], data: `0x${numberWord(token)}${numberWord(1n)}` }
  }

  #call(data: string) {
    const selector = data.slice(2, 10)
    const yes = (isIt: boolean) => ({ result: `0x${numberWord(isIt ? 1n : 0n)}` })
    if (selector === '01ffc9a7')
      return yes(data.slice(10, 18) === (this.standard === 'erc721' ? '80ac58cd' : 'd9b67a26'))
    if (selector === '6352211e') return { result: `0x${word(OWNER)}` }
    if (selector === '18160ddd' || selector === '70a08231') return { result: `0x${numberWord(BigInt(this.uris.size))}` }
    if (selector === '00fdd58e') return yes(true)
    if (selector === 'e8a3d485' && this.contractUri !== null) {
      return { result: encodeAbiParameters([{ type: 'string' }], [this.contractUri]) }
    }
    if (selector !== 'c87b56dd' && selector !== '0e89341c') return REVERTED
    const token = BigInt(`0x${data.slice(-64)}`)
    const uri = this.uris.get(token)
    const result = this.result(token)
    if (result !== undefined) return { result }
    return uri === undefined || uri === 'revert'
      ? REVERTED
      : { result: encodeAbiParameters([{ type: 'string' }], [uri]) }
  }
}

const REVERTED = { error: { code: 3, message: 'execution reverted' } }

/** Starts a world whose tokens have metadata and images in one IPFS directory. */
export async function drop(
  count: number,
  image = (id: number): Buffer => pixels(id),
  whenDone = whenTestDone,
): Promise<CollectionWorld> {
  const world = await new CollectionWorld({ uris: new Map() }).start(whenDone)
  const images = await world.gateway.add(
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at + 1}.png`, image(at + 1)])),
  )
  const metadata = (id: number) => JSON.stringify({ name: `Tide ${id}`, image: `ipfs://${images}/${id}.png` })
  const root = await world.gateway.add(
    Object.fromEntries(Array.from({ length: count }, (_, at) => [String(at + 1), Buffer.from(metadata(at + 1))])),
  )
  for (let id = 1; id <= count; id++) world.uris.set(BigInt(id), `ipfs://${root}/${id}`)
  return world
}

/** Bytes of a file that has several blocks, different for each number. */
export const pixels = (id: number): Buffer =>
  Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(2500, `pixel ${id} `)])
