import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { expect, test } from 'vitest'
import { type Beacon, type BeaconChain, derivePublicKey, signRound, verifyBeacon } from '../../src/api/beacon.ts'
import { computeSeal } from '../../src/api/provenance-seal.ts'
import { findRound } from '../../src/api/shuffle-rule.ts'
import { sha256Hex } from '../../src/core/sha256-hex.ts'
import { Commitment, rowContentHash } from '../../src/reveal/leaves.ts'
import { permuteRows, shuffleSeed } from '../../src/reveal/shuffle/permutation.ts'
import { verifyProvenance } from '../../src/reveal/verify-provenance.ts'
import { digestSlot, PROVENANCE_COMMITTED_TOPIC } from '../../src/verify/abi.ts'
import type { CallResult, NodeResponse } from '../../src/verify/chain-reader.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const word = (value: bigint | number) => value.toString(16).padStart(64, '0')
const text = (value: string) => {
  const bytes = Buffer.from(value)
  return `0x${word(32)}${word(bytes.length)}${bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0')}`
}

const ROWS = 5
const MARGIN = 60
const commitment = new Commitment(
  Buffer.concat(
    Array.from({ length: ROWS }, (_, at) =>
      rowContentHash({ metadata: { title: `Row ${at + 1}`, description: '', file_fields: [] } }, new Map()),
    ),
  ),
  { marginSeconds: MARGIN },
)
const { provenance } = commitment
const SEAL = computeSeal(provenance)
const LEAVES = 'ipfs://leaves'
const CONTRACT = '0x00000000000000000000000000000000000000c0'

const SECRET = Buffer.alloc(32, 9)
const BEACON: BeaconChain = {
  hash: 'ab',
  publicKey: derivePublicKey(SECRET) ?? Buffer.alloc(0),
  genesisTime: 1_000,
  period: 3,
}
const SEAL_TIME = 5_000
const ROUND = findRound(BEACON, SEAL_TIME + MARGIN)
const signatureOf = (round: number) => hex(beaconAt(round).signature)

/** Tokens 3 to 7 have the slots 1 to 5. Token 3 was minted alone, and the others in a batch. The drop is revealed. */
interface World {
  /** The hashes that are committed, with the next token and the block. */
  committed: Map<string, { next: number; block: number }>
  /** The slot of each token that names the leaves file. */
  minted: Map<number, Record<string, unknown>>
  shown: Map<number, Record<string, unknown>>
  leaves: Uint8Array
  others: Map<string, Uint8Array>
  blockTimes: Map<number, number>
  final: number
  newest: number
  client: string
  logs: 'all' | 'none' | 'refused'
  /** The hash of the block in the event, if it isn't that of the block. */
  logHash?: string
  hasOldStates: boolean
  signsRounds: boolean
}

const placeholder = (slot: number, url = LEAVES) => ({ name: 'Hidden', provenance: url, provenance_row: String(slot) })

const rounds = new Map<number, Beacon>()
const beaconAt = (round: number): Beacon => {
  const beacon = rounds.get(round) ?? verifyBeacon(BEACON, round, signRound(SECRET, round))
  rounds.set(round, beacon)
  return beacon
}

/** Returns the metadata that a reveal writes. */
function shownAt(slot: number, round = ROUND): Record<string, unknown> {
  const { randomness, signature } = beaconAt(round)
  const row = permuteRows(shuffleSeed(provenance, randomness), ROWS)[slot - 1] ?? 0
  return {
    ...{ name: `Row ${row}`, description: '' },
    ...{ provenance_salt: hex(commitment.saltOf(row)), provenance_signature: hex(signature) },
  }
}

const world = (): World => ({
  committed: new Map([
    [provenance, { next: 3, block: 10 }],
    [SEAL, { next: 8, block: 20 }],
  ]),
  minted: new Map([3, 4, 5, 6, 7].map((id) => [id, placeholder(id - 2)])),
  shown: new Map([3, 4, 5, 6, 7].map((id) => [id, shownAt(id - 2)])),
  leaves: commitment.leaves,
  others: new Map(),
  blockTimes: new Map([[20, SEAL_TIME]]),
  final: 25,
  newest: 30,
  client: 'Geth/v1',
  logs: 'all',
  hasOldStates: true,
  signsRounds: true,
})

const FAR = 5_000_000
const HEADS = [3, 4, 8, 9, FAR]
const digestOf = (head: number) => sha256Hex(`batch ${head}`)
const uriOf = (id: number) => {
  const head = HEADS.filter((first) => first <= id).at(-1) ?? 0
  const cid = CID.createV1(0x70, createDigest(0x12, Buffer.from(digestOf(head), 'hex')))
  return `ipfs://${cid}/${id - head}.json`
}

function check(one: World, tokenId: number) {
  const shownUri = (id: number) => (one.shown.has(id) ? `ipfs://shown/${id}` : uriOf(id))
  const respond = (result: unknown): NodeResponse => ({ result })
  const value = (data: string): CallResult => ({ kind: 'value', data })
  const files = new Map<string, unknown>([
    ...[...one.minted].map(([id, file]): [string, unknown] => [uriOf(id), file]),
    ...[...one.shown].map(([id, file]): [string, unknown] => [`ipfs://shown/${id}`, file]),
  ])
  const blockOf = (name: unknown) =>
    name === 'finalized' ? one.final : name === 'latest' ? one.newest : Number(name as string)
  return verifyProvenance(
    {
      chain: {
        origin: 'https://node.example',
        call: async ([call], block = 'latest') => {
          if (block !== 'latest' && !one.hasOldStates) return [{ kind: 'failed', message: 'missing trie node' }]
          const [selector, argument] = [call?.data.slice(0, 10), `0x${call?.data.slice(10)}`]
          if (selector === '0xc87b56dd') return [value(text(shownUri(Number(argument))))]
          if (selector === '0xa778c930') {
            return [value(`0x${word(one.shown.has(Number(argument)) ? 1 : 0)}${word(1)}${word(0)}`)]
          }
          const found = one.committed.get(argument)
          return [value(`0x${word(found === undefined || found.block > blockOf(block) ? 0 : found.next)}`)]
        },
        storageAt: async (_address, slots) =>
          slots.map((slot) => {
            const head = HEADS.find((first) => digestSlot(BigInt(first)) === slot)
            return value(`0x${head === undefined ? word(0) : digestOf(head)}`)
          }),
        request: async (method, [first]) => {
          if (method === 'web3_clientVersion') return respond(one.client)
          if (method === 'eth_getBlockByNumber') {
            const number = blockOf(first)
            const time = one.blockTimes.get(number) ?? SEAL_TIME + number * 10
            return respond({
              number: `0x${number.toString(16)}`,
              hash: `0x${word(number)}`,
              timestamp: `0x${time.toString(16)}`,
            })
          }
          expect(method).toBe('eth_getLogs')
          if (one.logs === 'refused') return { error: { code: -32005, message: 'query exceeds max block range' } }
          const found = one.committed.get(SEAL)
          if (one.logs === 'none' || found === undefined) return respond([])
          const blockNumber = `0x${found.block.toString(16)}`
          const blockHash = one.logHash ?? `0x${word(found.block)}`
          const log = { address: CONTRACT, topics: [PROVENANCE_COMMITTED_TOPIC, SEAL], blockNumber, blockHash }
          return respond([{ ...log, removed: false }])
        },
      },
      storage: {
        readJson: async (url) =>
          files.has(url) ? { kind: 'json', value: files.get(url) } : { kind: 'missing', message: `${url} is missing` },
        read: async (url) => {
          const bytes = url === LEAVES ? one.leaves : one.others.get(url)
          return bytes === undefined ? { kind: 'missing', message: `${url} is missing` } : { kind: 'bytes', bytes }
        },
      },
      openBeacon: async () => ({
        chain: BEACON,
        isNamed: false,
        isEarly: false,
        unreachable: async () => null,
        read: async (round) => {
          if (!one.signsRounds) throw new Error('the signature in the metadata suffices')
          return beaconAt(round)
        },
      }),
      signal: new AbortController().signal,
    },
    { contractAddress: CONTRACT, tokenId: String(tokenId) },
  )
}

const edited = (edit: (one: World) => void) => {
  const one = world()
  edit(one)
  return one
}

test('proves which row was drawn for each token, without a request for the round', async () => {
  const rows = new Set<number | null>()
  for (const id of [3, 4, 5, 6, 7]) {
    const found = await check(
      edited((one) => {
        one.signsRounds = false
      }),
      id,
    )
    expect(found).toMatchObject({
      kind: 'proven',
      provenance: {
        ...{ hash: provenance, rows: ROWS, firstTokenId: '3', isRevealed: true },
        shuffle: {
          ...{ slot: id - 2, seal: SEAL, marginSeconds: MARGIN, isNamed: false, isSimulated: false },
          sealed: { block: 20, time: SEAL_TIME, round: ROUND, roundTime: 1_000 + (ROUND - 1) * 3 },
        },
      },
    })
    if (found.kind === 'proven') rows.add(found.provenance.row)
  }
  expect([...rows].sort()).toEqual([1, 2, 3, 4, 5])
})

test.each([
  ['anvil/v1.0.0', true],
  ['Geth/v1.14.0', false],
])('before the seal, a proof from %s is a simulation: %s', async (client, isSimulated) => {
  const found = await check(
    edited((one) => {
      one.client = client
      one.committed.delete(SEAL)
      one.shown.clear()
    }),
    3,
  )
  expect(found).toMatchObject({ provenance: { shuffle: { sealed: null, isSimulated } } })
})

test('reads the round from the beacon if the metadata has no signature', async () => {
  const one = world()
  one.shown.set(5, { ...shownAt(3), provenance_signature: undefined })
  delete one.shown.get(5)?.provenance_signature
  expect(await check(one, 5)).toMatchObject({ kind: 'proven' })
})

test('proves the slot of a token whose drop is not sealed', async () => {
  const one = edited(({ committed, shown }) => {
    committed.delete(SEAL)
    shown.clear()
  })
  const shuffle = { slot: 2, row: null, sealed: null }
  expect(await check(one, 4)).toMatchObject({ kind: 'proven', provenance: { row: null, isRevealed: false, shuffle } })
})

test('names the round of a sealed drop before its reveal', async () => {
  const one = edited(({ shown }) => shown.clear())
  const shuffle = { slot: 2, row: null, sealed: { round: ROUND, block: 20 } }
  expect(await check(one, 4)).toMatchObject({ kind: 'proven', provenance: { row: null, isRevealed: false, shuffle } })
})

test.each(['none', 'refused'] as const)('finds the block of the seal if the logs are: %s', async (logs) => {
  const one = edited((made) => {
    made.logs = logs
  })
  expect(await check(one, 5)).toMatchObject({ kind: 'proven', provenance: { shuffle: { sealed: { block: 20 } } } })
  one.hasOldStates = false
  const reason = expect.stringContaining('neither the event that sealed the drop nor the state of past blocks')
  expect(await check(one, 5)).toMatchObject({ kind: 'unknown', reason })
})

test('labels the proof on a simulated chain, whose newest block is final', async () => {
  const one = edited((made) => {
    made.client = 'anvil/v1.7.1'
    made.final = 0
  })
  expect(await check(one, 5)).toMatchObject({ kind: 'proven', provenance: { shuffle: { isSimulated: true } } })
})

test('ignores the metadata of tokens that do not name the leaves file', async () => {
  const one = edited(({ minted, others }) => {
    // Two drops in one collection: token 4 has the same slot of another leaves file.
    minted.set(4, placeholder(3, 'ipfs://other-leaves'))
    others.set('ipfs://other-leaves', Buffer.from(`${sha256Hex('x')}\n`))
    minted.set(3, { name: 'An NFT without a commitment' })
  })
  expect(await check(one, 5)).toMatchObject({ kind: 'proven' })
})

const setShown = (id: number, file: Record<string, unknown>) => (one: World) => {
  one.shown.set(id, file)
}
const forged = (signature: string) => `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`
const swapped = shownAt(1)

test.each<[string, (one: World) => void, number, string]>([
  [
    'a token that was minted after the seal',
    ({ minted, shown }) => {
      minted.set(8, placeholder(3))
      shown.set(8, shownAt(3))
    },
    8,
    'the seal',
  ],
  [
    'a second token of a slot',
    ({ minted }) => {
      minted.set(4, placeholder(3))
    },
    5,
    'slot 3',
  ],
  [
    'a second token of a slot that names the leaves file by another URL',
    ({ minted, others }) => {
      minted.set(4, placeholder(3, 'ipfs://same-leaves'))
      others.set('ipfs://same-leaves', commitment.leaves)
    },
    5,
    'slot 3',
  ],
  [
    'a reveal before the seal',
    ({ committed }) => {
      committed.delete(SEAL)
    },
    5,
    'the seal',
  ],
  [
    'a seal without a commitment',
    ({ committed }) => {
      committed.delete(provenance)
    },
    5,
    'the commitment',
  ],
  [
    'a seal before the commitment',
    ({ committed }) => {
      committed.set(SEAL, { next: 3, block: 9 })
    },
    5,
    'the seal',
  ],
  ['the row of another slot', setShown(5, swapped), 5, 'the leaf of row'],
  [
    'the salt of another row',
    setShown(5, { ...shownAt(3), provenance_salt: swapped.provenance_salt }),
    5,
    'the leaf of',
  ],
  ['a row that an earlier round draws', setShown(5, shownAt(3, ROUND - 1)), 5, 'provenance_signature'],
  ['a row that a later round draws', setShown(5, shownAt(3, ROUND + 1)), 5, 'provenance_signature'],
  [
    'a forged bit of the signature',
    setShown(5, { ...shownAt(3), provenance_signature: forged(signatureOf(ROUND)) }),
    5,
    'provenance_signature',
  ],
  ['a signature that is no text', setShown(5, { ...shownAt(3), provenance_signature: 7 }), 5, 'provenance_signature'],
  [
    'a block of the seal whose time a reorg changed',
    ({ blockTimes }) => {
      blockTimes.set(20, SEAL_TIME + 12)
    },
    5,
    'provenance_signature',
  ],
  [
    'a seal that a reorg moved to a later block',
    ({ committed }) => {
      committed.set(SEAL, { next: 8, block: 21 })
    },
    5,
    'provenance_signature',
  ],
  [
    'another margin, whose leaves file has another hash',
    (one) => {
      one.leaves = Buffer.from(String(commitment.leaves).replace(' 60\n', ' 3\n'))
    },
    5,
    'the commitment',
  ],
  [
    'a leaves file with a forged bit',
    (one) => {
      one.leaves = Buffer.from(commitment.leaves)
      one.leaves[40] = (one.leaves[40] ?? 0) ^ 1
    },
    5,
    'the commitment',
  ],
  [
    'a slot that the leaves file has not',
    ({ minted }) => {
      minted.set(5, placeholder(6))
    },
    5,
    'provenance_row',
  ],
])('refuses %s', async (_, edit, id, what) => {
  expect(await check(edited(edit), id)).toMatchObject({
    kind: 'differs',
    differences: [{ what: expect.stringContaining(what) }],
  })
})

test.each<[string, (one: World) => void, string]>([
  [
    'while the block of the seal is not final',
    (one) => {
      one.final = 19
    },
    'is not final yet',
  ],
  [
    'if a node returns two blocks of the seal, as in a reorg',
    (one) => {
      one.logHash = `0x${word(99)}`
    },
    'returned two different versions of block 20, so the seal of the drop may still change',
  ],
  [
    'without the metadata of an earlier token, which could have the same slot',
    (one) => {
      one.minted.delete(4)
    },
    'the metadata of token 4',
  ],
  [
    'with a rule that this version does not know',
    (one) => {
      one.leaves = Buffer.from(String(commitment.leaves).replace('v1', 'v2'))
      one.committed.set(`0x${sha256Hex(one.leaves)}`, { next: 3, block: 10 })
    },
    'a shuffle rule that this version does not support',
  ],
])('decides nothing %s', async (_, edit, reason) => {
  expect(await check(edited(edit), 5)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining(reason) })
})

test('reads no millions of tokens that a hostile contract claims', async () => {
  const one = edited(({ committed, minted, shown }) => {
    committed.set(SEAL, { next: FAR + 1, block: 20 })
    minted.set(FAR, placeholder(3))
    shown.set(FAR, shownAt(3))
  })
  expect(await check(one, FAR)).toEqual({
    kind: 'unknown',
    reason: `too many tokens of the drop were minted before token ${FAR}: ${FAR - 3}`,
  })
})

test('the slot belongs to the first token, even if a later one has it as well', async () => {
  const one = edited(({ minted }) => {
    minted.set(6, placeholder(3))
  })
  expect(await check(one, 5)).toMatchObject({ kind: 'proven' })
})

test('ignores provenance_signature in the content of a shuffled row only', async () => {
  const one = world()
  one.leaves = new Commitment(Buffer.concat([1, 2, 3, 4, 5].map((row) => commitment.contentOf(row)))).leaves
  one.committed.set(`0x${sha256Hex(one.leaves)}`, { next: 3, block: 10 })
  one.shown.set(5, { name: 'Row 3', description: '', provenance_salt: hex(commitment.saltOf(3)) })
  expect(await check(one, 5)).toMatchObject({ kind: 'proven', provenance: { row: 3, shuffle: null } })
  one.shown.set(5, { ...one.shown.get(5), provenance_signature: signatureOf(ROUND) })
  expect(await check(one, 5)).toMatchObject({ kind: 'differs' })
})
