import { createHash } from 'node:crypto'
import { bls12_381 } from '@noble/curves-2/bls12-381.js'
import {
  type Address,
  type BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  decodeFunctionData,
  http,
  parseAbi,
  parseAbiItem,
  zeroAddress,
} from 'viem'

// What a stranger needs to verify a reveal: a node, an IPFS gateway, and nothing of gdn.
const batch = '(uint256 startId, address[] receivers, uint256[] counts, bytes32 digest)'
const abi = parseAbi([
  `function mint${batch}`,
  `function mintDynamic${batch}`,
  'function tokenURI(uint256) view returns (string)',
  'function provenanceOf(bytes32) view returns (uint256)',
])
const committed = parseAbiItem('event ProvenanceCommitted(bytes32 indexed provenance, uint256 nextTokenId)')
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
  const rowNumbers = Array.from({ length: rows }, (_, at) => at + 1)
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
    const [a = 0, b = 0] = [rowNumbers[i], rowNumbers[j]]
    rowNumbers[i] = b
    rowNumbers[j] = a
  }
  return rowNumbers
}

/** A beacon: its public key in hex, and the Unix time of its first round and the time between rounds in seconds. */
interface Chain {
  key: string
  genesis: number
  period: number
}

const QUICKNET: Chain = {
  key:
    '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451' +
    '0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
  genesis: 1_692_803_367,
  period: 3,
}

/** Returns the randomness of a round, or null if its signature is not from the beacon. */
function randomnessOf({ key }: Chain, round: number, signature: string): Buffer | null {
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(round))
  const { shortSignatures: bls } = bls12_381
  const hashed = bls.hash(sha256(message), 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_')
  const [signed, publicKey] = [Buffer.from(signature, 'hex'), Buffer.from(key, 'hex')].map((bytes) =>
    Uint8Array.from(bytes),
  )
  return signed && publicKey && bls.verify(signed, hashed, publicKey) ? sha256(signed) : null
}

/** Returns the row of each token whose metadata is what its collection was committed to before its mint. */
export async function verifyReveal(rpc: string, gateway: string, address: Address, beacon = QUICKNET) {
  const client = createPublicClient({ transport: http(rpc) })
  const get = async (url: string) =>
    Buffer.from(await (await fetch(url.replace('ipfs://', `${gateway}/ipfs/`))).arrayBuffer())
  const nextAt = (hash: `0x${string}`) =>
    client.readContract({ address, abi, functionName: 'provenanceOf', args: [hash] })

  /** Returns the row that was drawn for a slot of a shuffled drop, or null. */
  async function drawn(hash: `0x${string}`, leaves: string, id: bigint, slot: number, signature: string) {
    const margin = Number(/^shuffle drand-quicknet-v1 ([0-9]+)$/.exec(leaves.split('\n', 1)[0] ?? '')?.[1])
    const seal = `0x${sha256('gdn-shuffle-seal-v1', Buffer.from(hash.slice(2), 'hex')).toString('hex')}` as const
    const query = { address, event: committed, args: { provenance: seal }, fromBlock: 0n } as const
    const [log] = await client.getLogs(query)
    if (log === undefined || (await nextAt(seal)) <= id) return null
    const { timestamp } = await client.getBlock({ blockNumber: log.blockNumber })
    const round = Math.max(1, Math.ceil((Number(timestamp) + margin - beacon.genesis) / beacon.period) + 1)
    const randomness = randomnessOf(beacon, round, signature)
    if (randomness === null) return null
    const seed = sha256('gdn-shuffle-v1', Buffer.from(hash.slice(2), 'hex'), randomness)
    return drawRows(seed, leaves.trimEnd().split('\n').length - 1)[slot - 1] ?? null
  }

  const proven = new Map<string, number>()
  const takenRows = new Set<string>()
  for (const { args, transactionHash } of await client.getLogs({
    address,
    event: transfer,
    args: { from: zeroAddress },
    fromBlock: 0n,
  })) {
    const id = args.tokenId ?? 0n
    const call = decodeFunctionData({ abi, data: (await client.getTransaction({ hash: transactionHash })).input })
    if (call.functionName !== 'mint' && call.functionName !== 'mintDynamic') continue
    const [startId, , , digest] = call.args
    const minted = JSON.parse(String(await get(`ipfs://f01701220${digest.slice(2)}/${id - startId}.json`)))
    if (minted.provenance === undefined) continue
    const leaves = await get(minted.provenance)
    const hash = `0x${sha256(leaves).toString('hex')}` as const
    const before = await nextAt(hash)
    if (before === 0n || before > id) continue
    const number = Number(minted.provenance_row)
    const isShuffled = String(leaves).startsWith('shuffle ')
    const slot = `${hash} ${number}`
    if (isShuffled && takenRows.has(slot)) continue
    takenRows.add(slot)
    const uri = await client
      .readContract({ address, abi, functionName: 'tokenURI', args: [id] })
      .catch((error: BaseError) => {
        if (error.walk((one) => one instanceof ContractFunctionRevertedError) === null) throw error
        return null
      })
    // A burned token keeps its slot, and shows no row.
    if (uri === null) continue
    const { provenance_salt: salt = '', ...file } = JSON.parse(String(await get(uri)))
    const signature = String(file.provenance_signature)
    if (isShuffled) delete file.provenance_signature
    for (const [key, value] of Object.entries(file))
      if (String(value).startsWith('ipfs://')) file[key] = `sha256:${sha256(await get(String(value))).toString('hex')}`
    const leaf = sha256(Buffer.from(salt, 'hex'), sha256(JSON.stringify(file, sorted))).toString('hex')
    const row = isShuffled && salt !== '' ? await drawn(hash, String(leaves), id, number, signature) : number
    const line = row === null ? -1 : isShuffled ? row : row - 1
    if (row !== null && String(leaves).split('\n')[line] === leaf) proven.set(String(id), row)
  }
  return proven
}
