import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BUILDS, WALLET, withFolder } from './backend.ts'
import { watchCpu } from './cpu.ts'
import { type Distributed, distribute } from './distributed.ts'
import { againstBefore, type Figure, reportRound } from './figures.ts'

const WORKERS = [1, 2, 4]
const MOST = 4
const ROUNDS = Number(process.env.GDN_BENCH_ROUNDS ?? 3)
const COUNT = Number(process.env.GDN_BENCH_NFTS ?? 19_200)
const PER_REQUEST = 50
/** Number of requests for one NFT each, which are more expensive. */
const ALONE = Math.round(COUNT / 10)
const COLLECTIONS = 48
const CPUS = availableParallelism()
const CLIENTS = 8
/** Response time of a remote provider. */
const LATENCY_MS = 25

interface Run {
  /** NFTs a second. */
  accepted: number
  acceptedAlone: number
  deployed: number
  /** Milliseconds of CPU for 1,000 NFTs by process group, and the number of busy CPUs in total. */
  accepting: Record<string, number>
  acceptingAlone: Record<string, number>
  deploying: Record<string, number>
  busyAccepting: number
  busyDeploying: number
  statementsAccepting: number
  statementsAlone: number
  statementsDeploying: number
  commits: number
  bytes: number
  rpc: number
  rpcCalls: number
  top: string[]
}

/** NFTs accepted and deployed per second by processes that share a PostgreSQL, with a network mocked at its RPC. */
export async function measure(): Promise<Figure[]> {
  const runs = new Map(WORKERS.map((workers): [number, Run[]] => [workers, []]))
  const before: Run[] = []
  for (let round = 0; round < ROUNDS; round++) {
    reportRound(round, ROUNDS)
    for (const workers of WORKERS) {
      runs.get(workers)?.push(await withFolder((folder) => run(join(folder, 'setup'), workers)))
    }
    for (const build of BUILDS.slice(1)) {
      before.push(await withFolder((folder) => run(join(folder, 'setup'), MOST, build)))
    }
  }
  const of = (workers: number, what: (run: Run) => number) => (runs.get(workers) ?? []).map(what)
  const [one = 1] = WORKERS
  const figures: Figure[] = [
    {
      what: 'accepted by one API process, 50 per request',
      unit: '/s',
      samples: WORKERS.flatMap((workers) => of(workers, (run) => run.accepted)),
    },
    {
      what: 'accepted by one API process, 1 per request',
      unit: '/s',
      samples: WORKERS.flatMap((workers) => of(workers, (run) => run.acceptedAlone)),
    },
  ]
  const costOf = (run: Run) => Object.values(run.deploying).reduce((sum, ms) => sum + ms, 0)
  const costOfOne = of(one, costOf)
  for (const workers of WORKERS) {
    const what = `deployed by ${workers} worker${workers === 1 ? '' : 's'}`
    const samples = of(workers, (run) => run.deployed)
    if (workers === one) figures.push({ what, unit: '/s', samples })
    else {
      const alone = of(one, (run) => run.deployed)
      // The rate that the CPUs they got would allow at the cost of one worker; it is lower if workers impede each
      // other.
      const permitted = of(workers, (run) => run.busyDeploying).map(
        (busy, round) => (busy * 1e6) / (costOfOne[round] ?? 1),
      )
      figures.push({
        ...{ what, unit: '/s', samples, against: { what: `deployed by ${one} worker`, samples: alone } },
        ...(workers === MOST ? { budget: { atLeast: 2.5 } } : {}),
      })
      figures.push({
        ...{ what: '  compared with linear scaling', unit: '/s', samples },
        against: { what: 'linear in CPU time', samples: permitted },
      })
    }
    if (workers === MOST && before.length > 0) {
      const then = before.map((run) => run.deployed)
      figures.push(againstBefore({ what: '  the same', unit: '/s', samples }, then, { atLeast: 2.5 }))
    }
    const busy = of(workers, (run) => run.busyDeploying)
    figures.push({ what: `  CPUs in use out of ${CPUS}`, unit: 'CPU', samples: busy })
    for (const who of ['workers', 'postgres', 'network']) {
      const ms = of(workers, (run) => run.deploying[who] ?? 0)
      figures.push({ what: `  CPU time of ${who} for 1,000 NFTs`, unit: 'ms', samples: ms })
    }
  }
  const all = [...runs.values()].flat()
  for (const who of ['api', 'postgres', 'clients']) {
    const cpu = (used: (run: Run) => Record<string, number>) => all.map((run) => used(run)[who] ?? 0)
    figures.push(
      {
        what: `CPU time of ${who} to accept 1,000 NFTs, 50 per request`,
        unit: 'ms',
        samples: cpu((run) => run.accepting),
      },
      {
        what: `CPU time of ${who} to accept 1,000 NFTs, 1 per request`,
        unit: 'ms',
        samples: cpu((run) => run.acceptingAlone),
      },
    )
  }
  figures.push(
    {
      what: 'statements to accept 1,000 NFTs, 1 per request',
      unit: 'statements',
      samples: all.map((run) => run.statementsAlone),
    },
    { what: 'CPUs in use while accepting', unit: 'CPU', samples: all.map((run) => run.busyAccepting) },
    {
      what: 'statements to accept 1,000 NFTs, 50 per request',
      unit: 'statements',
      samples: all.map((run) => run.statementsAccepting),
    },
    { what: 'statements to deploy 1,000 NFTs', unit: 'statements', samples: all.map((run) => run.statementsDeploying) },
    { what: 'database transactions for 1,000 NFTs', unit: 'commits', samples: all.map((run) => run.commits) },
    { what: 'database size per NFT', unit: 'bytes', samples: all.map((run) => run.bytes) },
    { what: 'RPC requests for 1,000 NFTs (HTTP)', unit: 'requests', samples: all.map((run) => run.rpc) },
    { what: 'RPC calls for 1,000 NFTs', unit: 'requests', samples: all.map((run) => run.rpcCalls) },
  )
  if (process.env.GDN_BENCH_PROFILE !== undefined) {
    for (const line of all.at(-1)?.top ?? []) process.stderr.write(`${line}\n`)
  }
  return figures
}

async function run(folder: string, workers: number, build?: string): Promise<Run> {
  const set = await distribute(folder, { apis: 1, workers, latencyMs: LATENCY_MS, ...(build && { build }) })
  try {
    const collections = await makeCollections(set)
    // Idle CPU use isn't measured.
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
    const accepting = watch(set, groups, COUNT)
    const ids = await accept(set, collections, COUNT / PER_REQUEST, PER_REQUEST)
    const accepted = await accepting()
    await set.query('select pg_stat_statements_reset()')
    const acceptingAlone = watch(set, groups, ALONE)
    ids.push(...(await accept(set, collections, ALONE, 1)))
    const alone = await acceptingAlone()
    await set.query('select pg_stat_statements_reset()')
    const deploying = watch(set, groups, COUNT + ALONE)
    set.hold(false)
    await untilDeployed(set, ids)
    const deployed = await deploying()
    await set.query('vacuum analyze nfts')
    const bytes = ((await databaseBytes(set)) - bytesBefore) / (COUNT + ALONE)
    return {
      ...{
        accepted: COUNT / accepted.seconds,
        acceptedAlone: ALONE / alone.seconds,
        deployed: (COUNT + ALONE) / deployed.seconds,
        bytes,
      },
      ...{ acceptingAlone: alone.cpu, statementsAlone: alone.statements },
      ...{ accepting: accepted.cpu, deploying: deployed.cpu },
      ...{ busyAccepting: accepted.busy, busyDeploying: deployed.busy },
      ...{ statementsAccepting: accepted.statements, statementsDeploying: deployed.statements },
      commits: accepted.commits + deployed.commits,
      ...{
        rpc: deployed.rpc,
        rpcCalls: deployed.rpcCalls,
        top: [...(await largestTables(set)), ...(await topStatements(set))],
      },
    }
  } finally {
    await set.close()
  }
}

function watch(set: Distributed, groups: Readonly<Record<string, readonly number[]>>, nfts: number) {
  const perThousand = (value: number) => (value * 1000) / nfts
  // The bench's own process group includes all the others.
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

async function accept(
  set: Distributed,
  collections: readonly string[],
  requests: number,
  perRequest: number,
): Promise<string[]> {
  const ids: string[] = []
  let turn = 0
  const client = async () => {
    while (turn < requests) {
      const at = turn++
      const metadata = Array.from({ length: perRequest }, (_, index) => ({
        title: `Number ${at * perRequest + index} of ${perRequest}`,
        description: 'One of many, created for a benchmark.',
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

/** Counted in the database, which is cheaper than polling the API for each. */
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

/** Prints the database's size by table and index. */
async function largestTables(set: Distributed): Promise<string[]> {
  const rows = await set.query(
    `select relname as name, pg_total_relation_size(oid)::text as bytes from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace order by pg_total_relation_size(oid) desc limit 6`,
  )
  return rows.map(({ name, bytes }) => `${Math.round(Number(bytes) / (COUNT + ALONE))} bytes an NFT  ${name}`)
}

/** Prints the statements that took the most time. */
async function topStatements(set: Distributed): Promise<string[]> {
  const rows = await set.query(
    `select calls, round(total_exec_time::numeric, 1) as ms, rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 150) as text
     from pg_stat_statements order by total_exec_time desc limit 25`,
  )
  return rows.map(({ calls, ms, rows: count, text }) => `${ms} ms  ${calls} calls  ${count} rows  ${text}`)
}
