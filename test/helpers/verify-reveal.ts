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

const rotated = (word: number, by: number) => (word << by) | (word >>> (32 - by))

/** Returns a block of the key stream of ChaCha20 (RFC 8439, section 2.3) with a zero nonce, as 16 words. */
export function chachaBlock(key: Uint8Array, counter: number): Uint32Array {
  const keyWords = Array.from({ length: 8 }, (_, at) => Buffer.from(key).readUInt32LE(at * 4))
  const initial = Uint32Array.of(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, ...keyWords, counter, 0, 0, 0)
  const x = initial.slice()
  const mix = (to: number, from: number, into: number, by: number) => {
    x[to] = (x[to] ?? 0) + (x[from] ?? 0)
    x[into] = rotated((x[into] ?? 0) ^ (x[to] ?? 0), by)
  }
  const quarter = (a: number, b: number, c: number, d: number) => {
    mix(a, b, d, 16)
    mix(c, d, b, 12)
    mix(a, b, d, 8)
    mix(c, d, b, 7)
  }
  for (let round = 0; round < 10; round++) {
    for (let at = 0; at < 4; at++) quarter(at, at + 4, at + 8, at + 12)
    for (let at = 0; at < 4; at++) quarter(at, 4 + ((at + 1) % 4), 8 + ((at + 2) % 4), 12 + ((at + 3) % 4))
  }
  return x.map((word, at) => word + (initial[at] ?? 0))
}

/** Returns the row that each slot of a shuffled drop shows. The row of slot 1 is the first one. */
export function drawRows(seed: Uint8Array, rows: number): number[] {
  const shown = Array.from({ length: rows }, (_, at) => at + 1)
  let used = 0
  let block = chachaBlock(seed, 0)
  const word = () => {
    if (used > 0 && used % 16 === 0) block = chachaBlock(seed, used / 16)
    return block[used++ % 16] ?? 0
  }
  for (let i = rows - 1; i > 0; i--) {
    let drawn = word()
    while (drawn >= 2 ** 32 - (2 ** 32 % (i + 1))) drawn = word()
    const j = drawn % (i + 1)
    const [a = 0, b = 0] = [shown[i], shown[j]]
    shown[i] = b
    shown[j] = a
  }
  return shown
}

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
