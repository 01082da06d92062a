import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { TOPICS } from '../src/holders/transfers.ts'
import { withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { timeWithPeak } from './processes.ts'

const EVENTS = 1_000_000
const PER_BLOCK = 5
/** All block numbers have six hex digits. */
const FIRST_BLOCK = 0x10_00_00
const LAST_BLOCK = FIRST_BLOCK + EVENTS / PER_BLOCK - 1
const TOKENS = 400_000
const PEOPLE = 100_000
const MAX_RESULTS = 10_000
const ROUNDS = 1
const MAX_SECONDS = 60
const MAX_MIB = 150
const CONTRACT = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359'
const GDN = process.env.GDN_BENCH_BIN ?? join(process.cwd(), 'bin/gdn.js')

const word = (value: number | string) => value.toString(16).padStart(64, '0')
/** Addresses are spread, as hashes are. */
const addressOf = (person: number) =>
  person === 0 ? '0'.repeat(40) : (person * 2_654_435_761).toString(16).padStart(12, '0').padEnd(40, 'c')

/** The transfers: every token is minted in order, and afterwards random ones move. Person 0 is the zero address. */
function makeTransfers() {
  const [tokens, from, to] = [new Uint32Array(EVENTS), new Uint32Array(EVENTS), new Uint32Array(EVENTS)]
  const owners = new Uint32Array(TOKENS)
  let random = 42
  const below = (limit: number) => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((random / 2 ** 32) * limit)
  }
  for (let event = 0; event < EVENTS; event++) {
    const token = event < TOKENS ? event : below(TOKENS)
    const receiver = 1 + below(PEOPLE)
    tokens[event] = token
    from[event] = owners[token] ?? 0
    to[event] = receiver
    owners[token] = receiver
  }
  const balances = new Map<string, number>()
  for (const owner of owners) balances.set(addressOf(owner), (balances.get(addressOf(owner)) ?? 0) + 1)
  return { tokens, from, to, owners, balances }
}

type Call = { id: number; method: string; params: [unknown, unknown] }

/** A log with a mark at the end of each field that differs: all fields have a fixed length. */
const MARKED = `{"address":"${CONTRACT}","topics":["${TOPICS.transfer}","0x${'0'.repeat(24)}FROM${'0'.repeat(36)}","0x${'0'.repeat(24)}TO${'0'.repeat(38)}","0x${'0'.repeat(58)}TOKEN0"],"data":"0x","blockNumber":"0xBLOCK0","transactionHash":"0x${'0'.repeat(58)}EVENT0","transactionIndex":"0x0","blockHash":"0x${'a'.repeat(64)}","logIndex":"0xI","removed":false},`
const AT = {
  from: MARKED.indexOf('FROM'),
  to: MARKED.indexOf('TO0'),
  token: MARKED.indexOf('TOKEN0'),
  block: MARKED.indexOf('BLOCK0'),
  transaction: MARKED.indexOf('EVENT0'),
  index: MARKED.indexOf('xI"') + 1,
}
const LOG = Buffer.from(MARKED)

/** A node with these transfers, which limits the number of results as providers do. */
async function startServer() {
  const { tokens, from, to, owners, balances } = makeTransfers()
  const people = Array.from({ length: PEOPLE + 1 }, (_, person) => addressOf(person))
  const logs = ({ fromBlock, toBlock }: { fromBlock: string; toBlock: string }): string => {
    const first = Math.max(0, (Number(fromBlock) - FIRST_BLOCK) * PER_BLOCK)
    const end = Math.min(EVENTS, (Number(toBlock) - FIRST_BLOCK + 1) * PER_BLOCK)
    if (end - first > MAX_RESULTS)
      return `"error":{"code":-32005,"message":"query returned more than ${MAX_RESULTS} results"}`
    const all = Buffer.alloc(Math.max(0, end - first) * LOG.length, LOG)
    for (let event = first, at = 0; event < end; event++, at += LOG.length) {
      const block = (FIRST_BLOCK + Math.floor(event / PER_BLOCK)).toString(16)
      all.write(people[from[event] ?? 0] ?? '', at + AT.from, 'latin1')
      all.write(people[to[event] ?? 0] ?? '', at + AT.to, 'latin1')
      all.write(event.toString(16).padStart(6, '0'), at + AT.transaction, 'latin1')
      all.write((tokens[event] ?? 0).toString(16).padStart(6, '0'), at + AT.token, 'latin1')
      all.write(block, at + AT.block, 'latin1')
      all.write((event % PER_BLOCK).toString(16), at + AT.index, 'latin1')
    }
    // Without the last comma.
    return `"result":[${all.toString('latin1', 0, Math.max(0, all.length - 1))}]`
  }
  const called = (data: string): string => {
    if (data.startsWith('0x01ffc9a7')) return word(data.startsWith('80ac58cd', 10) ? 1 : 0)
    if (data.startsWith('0x6352211e')) return addressOf(owners[Number(`0x${data.slice(10)}`)] ?? 0).padStart(64, '0')
    if (data.startsWith('0x70a08231')) return word(balances.get(data.slice(-40)) ?? 0)
    return data === '0x18160ddd' ? word(TOKENS) : ''
  }
  const answer = ({ method, params: [first, second] }: Call): string => {
    if (method === 'eth_getLogs') return logs(first as { fromBlock: string; toBlock: string })
    if (method === 'eth_chainId') return '"result":"0x89"'
    if (method === 'web3_clientVersion') return '"result":"Geth/v1.16.0"'
    if (method === 'eth_getCode') return `"result":"${Number(second) >= FIRST_BLOCK ? '0x60' : '0x'}"`
    if (method === 'eth_call') return `"result":"0x${called((first as { data: string }).data)}"`
    const number = String(first).startsWith('0x') ? Number(first) : LAST_BLOCK
    const block = { number: `0x${number.toString(16)}`, hash: `0x${word(number)}`, timestamp: '0x65000000' }
    return `"result":${JSON.stringify(block)}`
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    const answers = [body].flat().map((call) => `{"jsonrpc":"2.0","id":${call.id},${answer(call)}}`)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(Array.isArray(body) ? `[${answers.join()}]` : answers[0])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    holders: balances.size,
    close: () => server.close(),
  }
}

/** As a script does it: ranges that the provider allows, one after the other, with all owners in memory. */
const SCRIPT = `
import { createPublicClient, http, parseAbiItem } from 'viem'
const client = createPublicClient({ transport: http(process.argv[1]) })
const event = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)')
const owners = new Map()
for (let from = ${FIRST_BLOCK}; from <= ${LAST_BLOCK}; from += ${MAX_RESULTS / PER_BLOCK}) {
  const to = Math.min(from + ${MAX_RESULTS / PER_BLOCK - 1}, ${LAST_BLOCK})
  const logs = await client.getLogs({ address: '${CONTRACT}', event, fromBlock: BigInt(from), toBlock: BigInt(to) })
  for (const { args } of logs) owners.set(args.tokenId, args.to)
}
const counts = new Map()
for (const owner of owners.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1)
process.stdout.write('receiver,count\\n' + [...counts].map((row) => row.join()).join('\\n') + '\\n')`

async function run(args: readonly string[], home: string, holders: number) {
  const env = { HOME: home, PATH: process.env.PATH ?? '' }
  const { ms, mib, stdout, stderr } = await timeWithPeak(execPath, args, env)
  const lines = stdout.trim().split('\n').length - 1
  if (lines !== holders) throw new Error(`found ${lines} holders, not ${holders}: ${stderr}`)
  return { ms, mib }
}

/** Holders of a contract with a million transfers, compared with a script that uses viem. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const server = await startServer()
    try {
      const command = ['collection', 'holders', CONTRACT, '-b', 'polygon', '--rpc-url', server.url, '-o', 'csv']
      const ours: Awaited<ReturnType<typeof run>>[] = []
      const theirs: typeof ours = []
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await run([GDN, ...command], folder, server.holders))
        theirs.push(await run(['--input-type=module', '-e', SCRIPT, server.url], folder, server.holders))
      }
      const what = 'script with viem getLogs'
      const times: Figure = {
        what: `holders from ${EVENTS / 1e6} million transfers`,
        unit: 'ms',
        samples: ours.map(({ ms }) => ms),
        against: { what, samples: theirs.map(({ ms }) => ms) },
      }
      const memory: Figure = {
        what: 'the same, peak RSS',
        unit: 'MiB',
        samples: ours.map(({ mib }) => mib),
        against: { what, samples: theirs.map(({ mib }) => mib) },
      }
      return [
        times,
        { what: 'the same, alone', unit: 'ms', samples: times.samples, budget: { atMost: MAX_SECONDS * 1000 } },
        memory,
        { what: 'peak RSS alone', unit: 'MiB', samples: memory.samples, budget: { atMost: MAX_MIB } },
      ]
    } finally {
      server.close()
    }
  })
}
