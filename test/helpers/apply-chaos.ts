import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, getAddress, http, parseAbi, zeroAddress } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { expect, onTestFinished } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { until, WALLETS } from './backend.ts'
import { gdnAt } from './gdn-at.ts'
import { FAULTS, startHttpFaultProxy } from './http-fault-proxy.ts'
import { sendByWallet, setUpNetwork } from './network-backend.ts'
import { ownPort } from './own-port.ts'
import { startPublicNetwork } from './public-network.ts'
import type { OwnersCall } from './rpc-wallets.ts'
import { type ServedBackend, serve } from './served-backend.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'event MetadataUpdate(uint256 _tokenId)',
  'event BatchMetadataUpdate(uint256 _fromTokenId, uint256 _toTokenId)',
])

const SHARE_OF_FAULTS = 0.05
const BLOCK_MS = 60
/** Share of blocks that a reorg follows. */
const REORG_SHARE = 0.05
/** Less than the depth of finality. */
const DEEPEST_REORG = 5
const MAX_CONCURRENT_READS = 50
/** Number of times a command that chaos made fail is tried. */
const MAX_ATTEMPTS = 40

export interface ApplyChaosOptions {
  rows: number
  rounds: number
  /** Kills of gdn in each round. */
  kills: number
  /** gdn is killed within this time. */
  mostMs: number
  /** Time between kills of the backend. */
  lifeMs: number
  /** Whether the path of the manifest is the label, instead of `--run`. */
  isNamedByPath: boolean
  random: () => number
}

interface Row {
  id: string
  /** Whether the manifest has its ID. The others get theirs in the next round. */
  isNamed: boolean
  title: string
  receiver: string
  /** The owner on chain. It is the receiver, unless an owner has transferred the NFT. */
  owner: string
  token: bigint | null
  updates: number
  transfers: number
  pruned: boolean
}

const manifestOf = (rows: readonly Row[]): string => {
  const lines = rows.map(({ id, isNamed, title, receiver }) => `${isNamed ? id : ''},${title},${id},${receiver}`)
  return `${['id,title,description,receiver', ...lines].join('\n')}\n`
}

interface ShownNft {
  token_id: string | null
  burned: boolean
  request_metadata: { title: string; description: string }
}

/**
 * Applies a manifest, edits it and applies it again. Some rows get their IDs after they were minted. If its path is the
 * label, the manifest is moved and adopted, and another drop of its file name is applied. Meanwhile gdn and the backend
 * are killed, responses are lost, blocks are removed, and holders transfer their tokens. After each round the chain
 * equals the manifest, and in the end the events on chain are exactly those of the edits.
 */
export async function applyChaos(options: ApplyChaosOptions) {
  const { rows: most, rounds, kills: killsPerRound, mostMs, lifeMs, isNamedByPath, random } = options
  const since = performance.now()
  const anyOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const network = await startPublicNetwork()
  const place = await setUpNetwork(network)
  await place.write({ urls: [network.url], more: { stuck_seconds: 2 } })
  const homes = await Promise.all([0, 1].map(() => mkdtemp(join(tmpdir(), 'gdn-apply-'))))
  const port = String(await ownPort())
  const start = () => serve(place.dataDir, ['--rate-limits', 'off', '--port', port]).ready
  let backend: ServedBackend | null = await start()
  let isDisturbed = false
  const proxy = await startHttpFaultProxy(backend.url, {
    faultOf: () => (isDisturbed && random() < SHARE_OF_FAULTS ? anyOf(FAULTS) : null),
    random,
  })
  const machines = homes.map((home) => gdnAt({ url: proxy.url, apiKey: backend?.apiKey ?? '' }, home))
  const [first = machines[0]] = machines
  if (first === undefined) throw new Error('no machine')
  const holders: PrivateKeyAccount[] = Array.from({ length: 5 }, () => privateKeyToAccount(generatePrivateKey()))
  const holderOf = (address: string) => holders.find((one) => one.address === address) as PrivateKeyAccount
  const chain = createPublicClient({ transport: http(network.url), batch: { multicall: false } })
  const figures = {
    rows: 0,
    mints: 0,
    pairs: 0,
    adopted: 0,
    others: 0,
    updates: 0,
    transfers: 0,
    ownerTransfers: 0,
    burns: 0,
    applies: 0,
  }
  const chaos = { killed: 0, backends: 0, reorgs: 0 }

  let isOver = false
  const every = async (ms: number, act: () => Promise<void>) => {
    while (!isOver) {
      await sleep(ms * (0.5 + random()))
      if (isDisturbed && !isOver) await act()
    }
  }
  const disturbing = [
    every(lifeMs, async () => {
      const victim = backend
      backend = null
      await victim?.end('SIGKILL')
      chaos.backends++
      backend = await start()
    }),
    // In one loop: a block that anvil mines during a reorg leaves a gap in its chain.
    (async () => {
      while (!isOver) {
        await network.mine().catch(() => {})
        await sleep(BLOCK_MS)
        if (!isDisturbed || random() > REORG_SHARE) continue
        await network.reorg(1 + Math.floor(random() * DEEPEST_REORG))
        chaos.reorgs++
      }
    })(),
  ]

  onTestFinished(async () => {
    isOver = true
    await Promise.all(disturbing)
    await backend?.end('SIGTERM')
    await proxy.close()
    await network.close()
    await place.remove()
    for (const home of homes) await rm(home, { recursive: true, force: true })
  })

  const created = await until(
    () =>
      first.run(
        'collection',
        'create',
        '--name',
        'Chaos',
        '--wallet',
        WALLETS[0],
        '--enable-transfer',
        '--dynamic',
        '--enable-burn',
        '--yes',
        '--json',
      ),
    ({ exitCode }) => exitCode === 0,
  )
  const { contract_address: contract } = JSON.parse(created.stdout) as { contract_address: string }
  const address = getAddress(contract)
  // The label of the reference IDs: the name of the run, or the path of the manifest in its repository.
  const target = ['-c', contract, ...(isNamedByPath ? [] : ['--run', 'chaos'])]
  for (const home of homes) {
    for (const name of ['.git', 'jan', 'feb', 'moved']) await mkdir(join(home, name))
  }
  let folder = 'jan'
  const write = (gdn: typeof first, text: string) => gdn.file(`${folder}/drop.csv`, text)
  const rows: Row[] = []
  const live = () => rows.filter(({ pruned }) => !pruned)

  /** Changes the manifest at random. */
  const edit = (round: number) => {
    for (const row of live()) {
      if (random() < 0.3) {
        row.title = `${row.id} of round ${round}`
        row.updates++
        figures.updates++
      }
      // Not where a holder has moved it: the plan leaves that alone.
      if (row.owner !== row.receiver || random() >= 0.1) continue
      row.receiver = anyOf(holders.filter((one) => one.address !== row.receiver)).address
      row.owner = row.receiver
      row.transfers++
      figures.transfers++
    }
    const share = round === 0 ? 0.6 : 0.4 / (rounds - 1)
    for (let added = 0; added < Math.round(most * share); added++) {
      const id = `r${rows.length}`
      const receiver = anyOf(holders).address
      rows.push({
        isNamed: random() < 0.5,
        ...{ id, title: `${id} is new`, receiver, owner: receiver },
        ...{ token: null, updates: 0, transfers: 0, pruned: false },
      })
      figures.mints++
    }
  }

  /** Resolves once no reorg can remove what is in a block. */
  const final = async () => {
    const head = await chain.getBlockNumber({ cacheTime: 0 })
    await until(
      () => chain.getBlockNumber({ cacheTime: 0 }),
      (now) => now > head + BigInt(2 * DEEPEST_REORG),
    )
  }

  /** Holders transfer tokens for which the manifest names no new owner. */
  const moveByHolders = async () => {
    const moved = live().filter(({ token, owner, receiver }) => token !== null && owner === receiver && random() < 0.03)
    for (const row of moved) {
      const from = holderOf(row.owner)
      const to = anyOf(holders.filter((one) => one !== from)).address
      const call = { functionName: 'transferFrom', args: [from.address, to, row.token ?? 0n] } satisfies OwnersCall
      const has = async () => (await ownerOf(row)) === to
      // A reorg may drop it.
      for (let tries = 0; !(await has()); tries++) {
        if (tries % 40 === 0) await sendByWallet(network, from, address, call)
        await sleep(BLOCK_MS)
      }
      row.owner = to
      row.transfers++
      figures.ownerTransfers++
    }
    await final()
  }

  const ownerOf = ({ token }: Row) =>
    chain.readContract({ address, abi: ABI, functionName: 'ownerOf', args: [token ?? 0n] })
  const atOnce = async <Item>(items: readonly Item[], work: (item: Item) => Promise<void>) => {
    const left = [...items]
    await Promise.all(
      Array.from({ length: MAX_CONCURRENT_READS }, async () => {
        for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
      }),
    )
  }

  /** Runs a command until it succeeds. */
  const repeat = async (gdn: typeof first, argv: readonly string[]) => {
    for (let tries = 1; ; tries++) {
      figures.applies++
      const { exitCode, stderr } = await gdn.run(...argv)
      if (exitCode === 0) return
      if (process.env.GDN_CHAOS_LOG) process.stderr.write(`${argv[0]} ended with ${exitCode}: ${stderr.slice(-1500)}\n`)
      expect(exitCode, stderr).not.toBe(2)
      expect(tries, stderr).toBeLessThan(MAX_ATTEMPTS)
    }
  }

  /** Removes rows from the manifest. Their NFTs are burned where this machine minted them for their present owner. */
  const prune = async () => {
    const gone = new Set(
      live().filter(({ isNamed, owner, receiver }) => isNamed && owner === receiver && random() < 0.05),
    )
    const rest = live().filter((row) => !gone.has(row))
    const saved = join(homes[0] ?? '', 'plan.json')
    const manifest = await write(first, manifestOf(rest))
    await repeat(first, ['plan', manifest, ...target, '--prune', '--allow-exchanged', '--out', saved])
    const burns = (await readFile(saved, 'utf8')).split('\n').filter((line) => line.includes('"action":"burn"'))
    const argv = ['apply', saved, '--yes', '--max-burns', String(burns.length)]
    if ((await first.runAndKill(argv, Math.floor(random() * mostMs))).signal === 'SIGKILL') chaos.killed++
    await repeat(first, argv)
    for (const row of gone) {
      // The key of the row, in JSON.
      if (!burns.some((line) => line.includes(`"${row.id}"`))) continue
      row.pruned = true
      figures.burns++
    }
    expect([...gone].filter(({ pruned }) => pruned)).toHaveLength(burns.length)
    for (const gdn of machines) await write(gdn, manifestOf(live()))
  }

  /** Gives IDs to the rows that have none. No flag permits to mint one of them again. */
  const nameRows = () => {
    for (const row of live().filter(({ isNamed }) => !isNamed)) {
      row.isNamed = true
      figures.pairs++
    }
  }

  /** Applies the manifest on all machines, and kills gdn meanwhile. */
  const applyEverywhere = async (flags: readonly string[]) => {
    const runs = await Promise.all(
      machines.map(async (gdn) => {
        // Random new receivers of many rows look like a column that was sorted.
        const permitted = ['--yes', '--allow-exchanged', ...flags]
        const argv = ['apply', await write(gdn, manifestOf(live())), ...target, ...permitted]
        return { gdn, argv }
      }),
    )
    for (let kill = 0; kill < killsPerRound; kill++) {
      const { gdn, argv } = anyOf(runs)
      figures.applies++
      if ((await gdn.runAndKill(argv, Math.floor(random() * mostMs))).signal === 'SIGKILL') chaos.killed++
    }
    for (const { gdn, argv } of runs) await repeat(gdn, argv)
    return runs
  }

  /** Moves the manifest to another folder on all machines, which adopt it there. */
  const moveManifest = async () => {
    for (const home of homes) await rm(join(home, folder, 'drop.csv'))
    folder = 'moved'
    figures.adopted++
    await applyEverywhere(['--adopt'])
  }

  /** Applies another drop of this file name, which has the same IDs. It must change nothing. */
  const applyOther = async () => {
    const gdn = anyOf(machines)
    const others = live().map((row) => ({ ...row, isNamed: true, title: `${row.id} of another drop` }))
    const manifest = await gdn.file('feb/drop.csv', manifestOf(others))
    const { exitCode, stderr } = await gdn.run('apply', manifest, ...target, '--yes', '--json')
    expect(exitCode, stderr).not.toBe(0)
    expect(['seems_minted', 'already_accepted']).toContain(JSON.parse(stderr).error.code)
    figures.others++
  }

  /** Compares the chain with the manifest. */
  const compare = async () => {
    const url = backend?.url ?? ''
    const listedNfts = await first.json<ShownNft[]>('nft', 'list', '-c', contract)
    const byRow = new Map(listedNfts.map((nft) => [nft.request_metadata.description, nft]))
    expect(listedNfts).toHaveLength(rows.length)
    expect(byRow.size).toBe(rows.length)
    for (const row of rows) row.token = BigInt(byRow.get(row.id)?.token_id ?? 0)
    expect(rows.filter(({ id, pruned }) => byRow.get(id)?.burned !== pruned)).toEqual([])
    const wrong: object[] = []
    await atOnce(live(), async (row) => {
      const uri = await chain.readContract({ address, abi: ABI, functionName: 'tokenURI', args: [row.token ?? 0n] })
      const file = await fetch(`${url}/ipfs/${uri.slice('ipfs://'.length)}`)
      const { name } = (await file.json()) as { name: string }
      const is = { name, owner: await ownerOf(row), api: byRow.get(row.id)?.request_metadata.title }
      const expected = { name: row.title, owner: row.owner, api: row.title }
      if (JSON.stringify(is) !== JSON.stringify(expected)) wrong.push({ id: row.id, is, wanted: expected })
    })
    expect(wrong).toEqual([])
  }

  for (let round = 0; round < rounds; round++) {
    if (round > 0) await moveByHolders()
    isDisturbed = true
    nameRows()
    if (round > 0) await applyEverywhere([])
    if (round === 1 && isNamedByPath) await moveManifest()
    edit(round)
    // Rows that were pruned are missing while others are new.
    const runs = await applyEverywhere(['--new-rows'])
    if (round > 0) await prune()
    isDisturbed = false
    await until(
      async () => backend,
      (found) => found !== null,
    )
    await final()
    for (const { gdn, argv } of runs) {
      const last = await gdn.run(...argv)
      expect(last.exitCode, last.stderr).toBe(0)
    }
    if (isNamedByPath) await applyOther()
    await compare()
    figures.rows = live().length
    if (process.env.GDN_CHAOS_LOG)
      process.stderr.write(
        `round ${round}: ${JSON.stringify({ ...figures, ...chaos, seconds: Math.round((performance.now() - since) / 1000) })}\n`,
      )
  }

  isOver = true
  await Promise.all(disturbing)
  const found = await countEvents()
  const expectedRows = rows.map((row) => ({
    id: row.id,
    mints: 1,
    transfers: row.transfers,
    updates: row.updates,
    burns: row.pruned ? 1 : 0,
  }))
  expect(
    rows
      .map((row) => ({ id: row.id, ...found(row.token ?? 0n) }))
      .filter((one, index) => JSON.stringify(one) !== JSON.stringify(expectedRows[index])),
  ).toEqual([])
  const faults = Object.entries(proxy.counts).reduce((sum, [name, count]) => sum + (name === 'none' ? 0 : count), 0)
  return { ...figures, ...chaos, faults, seconds: Math.round((performance.now() - since) / 1000) }

  /** Counts the events of each token on the final chain. */
  async function countEvents() {
    const counts = new Map<bigint, { mints: number; transfers: number; updates: number; burns: number }>()
    const of = (token: bigint) => {
      const known = counts.get(token) ?? { mints: 0, transfers: 0, updates: 0, burns: 0 }
      counts.set(token, known)
      return known
    }
    const head = await chain.getBlockNumber()
    for (let from = 0n; from <= head; from += 1000n) {
      const logs = await chain.getLogs({
        address,
        events: ABI.filter((one) => one.type === 'event'),
        fromBlock: from,
        toBlock: from + 999n,
      })
      for (const { eventName, args } of logs) {
        if (eventName === 'Transfer') {
          const { from, to, tokenId = 0n } = args
          of(tokenId)[from === zeroAddress ? 'mints' : to === zeroAddress ? 'burns' : 'transfers']++
        } else if (eventName === 'MetadataUpdate') of(args._tokenId ?? 0n).updates++
        else {
          for (let token = args._fromTokenId ?? 0n; token <= (args._toTokenId ?? 0n); token++) of(token).updates++
        }
      }
    }
    expect(counts.size).toBe(rows.length)
    return of
  }
}
