import {
  bytesToString,
  decodeFunctionData,
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionResult,
  type Hex,
  hexToBytes,
  parseAbi,
  zeroAddress,
} from 'viem'
import { startHttpServer } from './http-server.ts'

const UNIVERSAL = parseAbi([
  'function resolveWithGateways(bytes name, bytes data, string[] gateways) view returns (bytes result, address resolver)',
  'error ResolverNotFound(bytes name)',
  'error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)',
])
const ADDR = parseAbi([
  'function addr(bytes32 node, uint256 coinType) view returns (bytes)',
  'function addr(bytes32 node) view returns (address)',
])

/** Records by name and coin type; `gateway` for a name whose records are at a gateway with a private address. */
export type EnsRecords = Record<string, Readonly<Record<string, Hex>> | 'gateway'>

export interface EnsStandIn {
  url: string
  /** Tests can change them. */
  records: EnsRecords
  /** Names that were asked for, once for each request. */
  asked: string[]
  close(): Promise<void>
}

/** Starts a stand-in for an Ethereum node whose universal resolver knows some names. */
export async function startEnsNode(records: EnsRecords, { chainId = 1 } = {}): Promise<EnsStandIn> {
  const standIn: EnsStandIn = { url: '', records: { ...records }, asked: [], close: async () => {} }
  const server = await startHttpServer(({ body }) => {
    const { id, method, params } = JSON.parse(String(body)) as { id: number; method: string; params: [{ data: Hex }] }
    const result =
      method === 'eth_chainId' ? { result: `0x${chainId.toString(16)}` } : answerTo(standIn, params[0].data)
    return { json: { jsonrpc: '2.0', id, ...result } }
  })
  standIn.url = server.url
  standIn.close = server.close
  return standIn
}

function answerTo({ records, asked }: EnsStandIn, calldata: Hex): object {
  const [encoded, data, gateways] = decodeFunctionData({ abi: UNIVERSAL, data: calldata }).args
  const name = nameIn(encoded)
  asked.push(name)
  const found = records[name]
  const revert = (error: Hex) => ({ error: { code: 3, message: 'execution reverted', data: error } })
  if (found === undefined)
    return revert(encodeErrorResult({ abi: UNIVERSAL, errorName: 'ResolverNotFound', args: [encoded] }))
  if (found === 'gateway') {
    const urls = gateways.includes('x-batch-gateway:true') ? ['http://10.0.0.1/{data}'] : []
    const sender = '0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe'
    const args = [sender, urls, data, '0x00000000', '0x'] as const
    return revert(encodeErrorResult({ abi: UNIVERSAL, errorName: 'OffchainLookup', args }))
  }
  const { args } = decodeFunctionData({ abi: ADDR, data })
  const record = found[String(args[1] ?? 60)]
  const result =
    args.length === 1
      ? encodeAbiParameters([{ type: 'address' }], [record ?? zeroAddress])
      : encodeAbiParameters([{ type: 'bytes' }], [record ?? '0x'])
  return {
    result: encodeFunctionResult({
      abi: UNIVERSAL,
      functionName: 'resolveWithGateways',
      result: [result, zeroAddress],
    }),
  }
}

/** Returns a name from its encoding for DNS. */
function nameIn(encoded: Hex): string {
  const bytes = hexToBytes(encoded)
  const labels: string[] = []
  for (let at = 0; bytes[at] !== undefined && bytes[at] !== 0; at += 1 + (bytes[at] ?? 0)) {
    labels.push(bytesToString(bytes.slice(at + 1, at + 1 + (bytes[at] ?? 0))))
  }
  return labels.join('.')
}
