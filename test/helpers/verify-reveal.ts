import { createHash } from 'node:crypto'
import { type Address, createPublicClient, decodeFunctionData, http, parseAbi, parseAbiItem, zeroAddress } from 'viem'

// What a stranger needs to verify a reveal: a node, an IPFS gateway, and nothing of gdn.
const batch = '(uint256 startId, address[] receivers, uint256[] counts, bytes32 digest)'
const abi = parseAbi([
  `function mint${batch}`,
  `function mintDynamic${batch}`,
  'function tokenURI(uint256) view returns (string)',
  'function provenanceOf(bytes32) view returns (uint256)',
])
const transfer = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)')
const sha256 = (...parts: (Uint8Array | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()
const sorted = (_: string, value: unknown) =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort())
    : value

/** Returns the row of each token whose metadata is what its collection was committed to before its mint. */
export async function verifyReveal(rpc: string, gateway: string, address: Address): Promise<Map<string, number>> {
  const client = createPublicClient({ transport: http(rpc) })
  const get = async (url: string) =>
    Buffer.from(await (await fetch(url.replace('ipfs://', `${gateway}/ipfs/`))).arrayBuffer())
  const proven = new Map<string, number>()
  for (const { args, transactionHash: hash } of await client.getLogs({
    address,
    event: transfer,
    args: { from: zeroAddress },
    fromBlock: 0n,
  })) {
    const id = args.tokenId ?? 0n
    const call = decodeFunctionData({ abi, data: (await client.getTransaction({ hash })).input })
    if (call.functionName !== 'mint' && call.functionName !== 'mintDynamic') continue
    const [startId, , , digest] = call.args
    const minted = JSON.parse(String(await get(`ipfs://f01701220${digest.slice(2)}/${id - startId}.json`)))
    const leaves = await get(minted.provenance)
    const committed = `0x${sha256(leaves).toString('hex')}` as const
    const before = await client.readContract({ address, abi, functionName: 'provenanceOf', args: [committed] })
    const uri = await client.readContract({ address, abi, functionName: 'tokenURI', args: [id] })
    const { provenance_salt: salt = '', ...file } = JSON.parse(String(await get(uri)))
    for (const [key, value] of Object.entries(file))
      if (String(value).startsWith('ipfs://')) file[key] = `sha256:${sha256(await get(String(value))).toString('hex')}`
    const leaf = sha256(Buffer.from(salt, 'hex'), sha256(JSON.stringify(file, sorted))).toString('hex')
    const row = Number(minted.provenance_row)
    if (before > 0n && before <= id && String(leaves).split('\n')[row - 1] === leaf) proven.set(String(id), row)
  }
  return proven
}
