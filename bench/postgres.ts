import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WALLET, withFolder } from './backend.ts'
import { watchCpu } from './cpu.ts'
import { type Distributed, distribute } from './distributed.ts'
import type { Figure } from './figures.ts'

const WORKERS = [1, 2, 4]
const ROUNDS = Number(process.env.GDN_BENCH_ROUNDS ?? 3)
const COUNT = Number(process.env.GDN_BENCH_NFTS ?? 12_000)
const PER_REQUEST = 50
const COLLECTIONS = 48
const CLIENTS = 8
/** As far off as a provider is. */
const LATENCY_MS = 25

interface Run {
  /** NFTs a second. */
  accepted: number
  deployed: number
  /** Milliseconds of CPU for 1,000 NFTs, by who used it; and how many CPUs were busy all in all. */
  accepting: Record<string, number>
  deploying: Record<string, number>
  busyAccepting: number
  busyDeploying: number
  statementsAccepting: number
  statementsDeploying: number
  commits: number
  bytes: number
  rpc: number
  rpcCalls: number
  top: string[]
}

/** NFTs accepted and deployed per second by processes that share a PostgreSQL, the network mocked at its RPC. */
export async function measure(): Promise<Figure[]> {
  const runs = new Map(WORKERS.map((workers): [number, Run[]] => [workers, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const workers of WORKERS) {
      runs.get(workers)?.push(await withFolder((folder) => run(join(folder, 'set-up'), workers)))
    }
  }
  const of = (workers: number, what: (run: Run) => number) => (runs.get(workers) ?? []).map(what)
  const [one = 1] = WORKERS
  const figures: Figure[] = [
    {
      what: 'accepted, 50 to a request, by one API process',
      unit: '/s',
      samples: WORKERS.flatMap((workers) => of(workers, (run) => run.accepted)),
    },
  ]
  for (const workers of WORKERS) {
    const linear = of(one, (run) => run.deployed * workers)
    figures.push({
      what: `deployed by ${workers} worker${workers === 1 ? '' : 's'}`,
      unit: '/s',
      samples: of(workers, (run) => run.deployed),
      ...(workers === one ? {} : { against: { what: `linear`, samples: linear }, budget: { atLeast: 0.7 } }),
    })
    figures.push({
      what: '  CPUs busy meanwhile, of all there are',
      unit: 'CPU',
      samples: of(workers, (run) => run.busyDeploying),
    })
    for (const who of ['workers', 'postgres', 'network']) {
      const ms = of(workers, (run) => run.deploying[who] ?? 0)
      const against = { what: 'by one worker', samples: of(one, (run) => run.deploying[who] ?? 0) }
      figures.push({
        what: `  CPU of ${who} for 1,000 NFTs`,
        unit: 'ms',
        samples: ms,
        ...(workers === one ? {} : { against }),
      })
    }
  }
  for (const who of ['api', 'postgres', 'clients']) {
    const samples = WORKERS.flatMap((workers) => of(workers, (run) => run.accepting[who] ?? 0))
    figures.push({ what: `CPU of ${who} for accepting 1,000`, unit: 'ms', samples })
  }
  const all = [...runs.values()].flat()
  figures.push(
    { what: 'CPUs busy while accepting', unit: 'CPU', samples: all.map((run) => run.busyAccepting) },
    { what: 'statements for accepting 1,000', unit: 'statements', samples: all.map((run) => run.statementsAccepting) },
    { what: 'statements for deploying 1,000', unit: 'statements', samples: all.map((run) => run.statementsDeploying) },
    { what: 'transactions of the database for 1,000', unit: 'commits', samples: all.map((run) => run.commits) },
    { what: 'database per NFT', unit: 'bytes', samples: all.map((run) => run.bytes) },
    { what: 'RPC requests for 1,000 (HTTP)', unit: 'requests', samples: all.map((run) => run.rpc) },
    { what: 'RPC calls for 1,000', unit: 'requests', samples: all.map((run) => run.rpcCalls) },
  )
  if (process.env.GDN_BENCH_PROFILE !== undefined) {
    for (const line of all.at(-1)?.top ?? []) process.stderr.write(`${line}\n`)
  }
  return figures
}

async function run(folder: string, workers: number): Promise<Run> {
  const set = await distribute(folder, { apis: 1, workers, latencyMs: LATENCY_MS })
  try {
    const collections = await makeCollections(set)
    // What they use while they have nothing to do isn't what is measured.
    set.hold(true)
    await sleep(200)
    const groups = {
      api: set.apis.map(({ pid }) => pid),
      workers: set.workers,
      postgres: [set.postgresPid],
      network: [set.networkPid],
      clients: [process.pid],
    }
    await set.query('select pg_stat_statements_reset()')
    const bytesBefore = await databaseBytes(set)
    const accepting = watch(set, groups)
    const ids = await accept(set, collections)
    const accepted = await accepting()
    await set.query('select pg_stat_statements_reset()')
    const deploying = watch(set, groups)
    set.hold(false)
    await untilDeployed(set, ids)
    const deployed = await deploying()
    await set.query('vacuum analyze nfts')
    const bytes = ((await databaseBytes(set)) - bytesBefore) / COUNT
    return {
      ...{ accepted: COUNT / accepted.seconds, deployed: COUNT / deployed.seconds, bytes },
      ...{ accepting: accepted.cpu, deploying: deployed.cpu },
      ...{ busyAccepting: accepted.busy, busyDeploying: deployed.busy },
      ...{ statementsAccepting: accepted.statements, statementsDeploying: deployed.statements },
      commits: accepted.commits + deployed.commits,
      ...{ rpc: deployed.rpc, rpcCalls: deployed.rpcCalls, top: await topStatements(set) },
    }
  } finally {
    await set.close()
  }
}

const perThousand = (value: number) => (value * 1000) / COUNT

function watch(set: Distributed, groups: Readonly<Record<string, readonly number[]>>) {
  // The bench's own family holds all the others.
  const { clients = [], ...others } = groups
  const cpuOf = watchCpu({ ...others, all: clients })
  const since = performance.now()
  const before = counts(set)
  return async () => {
    const seconds = (performance.now() - since) / 1000
    const { all = 0, ...used } = cpuOf()
    const [first, now] = [await before, await counts(set)]
    const clientsUsed = all - Object.values(used).reduce((sum, value) => sum + value, 0)
    const cpu = { ...used, clients: clientsUsed }
    return {
      seconds,
      cpu: Object.fromEntries(Object.entries(cpu).map(([who, value]) => [who, perThousand(value * 1000)])),
      busy: all / seconds,
      statements: perThousand(now.statements),
      commits: perThousand(now.commits - first.commits),
      rpc: perThousand(now.rpc - first.rpc),
      rpcCalls: perThousand(now.rpcCalls - first.rpcCalls),
    }
  }
}

async function counts(set: Distributed) {
  const [{ statements }] = await set.query('select coalesce(sum(calls), 0)::int as statements from pg_stat_statements')
  const [{ commits }] = await set.query(
    'select xact_commit::int as commits from pg_stat_database where datname = current_database()',
  )
  const { requests, asked } = await set.network()
  return { statements, commits, rpc: requests, rpcCalls: Object.values(asked).reduce((sum, one) => sum + one, 0) }
}

async function databaseBytes(set: Distributed): Promise<number> {
  const [{ bytes }] = await set.query('select pg_database_size(current_database())::bigint::text as bytes')
  return Number(bytes)
}

async function makeCollections(set: Distributed): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < COLLECTIONS; index++) {
    const body = { wallet_address: WALLET, name: `Bench ${index}`, blockchain: 'polygon' }
    ids.push((await set.post('/api/v1/createcollection', body)).response.transaction_gdn_id)
  }
  for (;;) {
    const { collections } = await set.post('/api/v1/getcollections', { transaction_gdn_ids: ids })
    if (collections.every(({ status }: { status: string }) => status === 'deployed')) {
      return collections.map(({ contract_address }: { contract_address: string }) => contract_address)
    }
    await sleep(50)
  }
}

async function accept(set: Distributed, collections: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  let turn = 0
  const client = async () => {
    while (turn < COUNT / PER_REQUEST) {
      const at = turn++
      const metadata = Array.from({ length: PER_REQUEST }, (_, index) => ({
        title: `Number ${at * PER_REQUEST + index}`,
        description: 'One of many, made to see how long it takes.',
        file_fields: [],
      }))
      const contract_address = collections[at % collections.length] ?? ''
      const body = { contract_address, blockchain: 'polygon', receiver_wallet_address: WALLET, metadata }
      for (const nft of (await set.post('/api/v1/createnft', body)).nfts) ids.push(nft.nft_gdn_ids)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return ids
}

/** By the database's own count, which costs less than asking the API for each. */
async function untilDeployed(set: Distributed, ids: readonly string[]): Promise<void> {
  for (;;) {
    const [{ left }] = await set.query(
      "select count(*)::int as left from nfts where step in ('files', 'mint', 'chain')",
    )
    if (left === 0) break
    await sleep(50)
  }
  const [{ deployed }] = await set.query("select count(*)::int as deployed from nfts where status = 'deployed'")
  if (deployed !== ids.length) throw new Error(`${deployed} of ${ids.length} NFTs were deployed`)
}

/** What the database spent its time with. */
async function topStatements(set: Distributed): Promise<string[]> {
  const rows = await set.query(
    `select calls, round(total_exec_time::numeric, 1) as ms, rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 150) as text
     from pg_stat_statements order by total_exec_time desc limit 25`,
  )
  return rows.map(({ calls, ms, rows: count, text }) => `${ms} ms  ${calls} calls  ${count} rows  ${text}`)
}
