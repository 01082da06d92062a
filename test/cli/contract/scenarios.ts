import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeAbiParameters, serializeTransaction, slice, toFunctionSelector } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { onTestFinished } from 'vitest'
import { TOPICS } from '../../../src/holders/transfers.ts'
import { addWebhook, testWebhook } from '../../../src/server/admin/webhooks.ts'
import { writeRunning } from '../../../src/server/data-dir/running.ts'
import { recordChain } from '../../../src/server/store/chains.ts'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
import { addUnknownMints, updateUnknownMint } from '../../../src/server/store/unknown-mints.ts'
import { listDueDeliveries, recordAttempt } from '../../../src/server/store/webhook-deliveries.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { rehearsedPlace } from '../../helpers/rehearsed-place.ts'
import { insertCollection, insertTransaction } from '../../helpers/rows.ts'
import { rpcStandIn } from '../../helpers/rpc-stand-in.ts'
import { walletService } from '../../helpers/wallet-service.ts'
import { CSV, folder, service, TARGET } from '../batch/drop.ts'
import { CONTRACT, DATE, fakeApi, type Handler, knows, nft, OWNER, type Reply } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'

/** A command line that succeeds, with its own home directory. */
export interface Prepared {
  argv: string[]
  options: CliOptions
}

/** How a command prints its records. */
export interface Scenario {
  shape: 'object' | 'array'
  /** The fields of its JSON. */
  fields: readonly string[]
  /** Whether its last field is printed only once, so that each output must include it. */
  isShownOnce?: boolean
  /** Starts a new server each time, so that earlier requests have no effect. */
  prepare(): Promise<Prepared>
}

/** Returns the path of a file in the home. */
type Path = (name: string) => string
type Fields = readonly string[]
type Prepare = Scenario['prepare']

/** A command that prints one record. */
const one = (fields: Fields, prepare: Prepare): Scenario => ({ shape: 'object', fields, prepare })

/** A command that prints a list of records. */
const list = (fields: Fields, prepare: Prepare): Scenario => ({ shape: 'array', fields, prepare })

export type Handlers = Readonly<Record<string, Handler>>

/** A fake API whose handlers don't all have to be used. */
export async function api(handlers: Handlers) {
  return await fakeApi({
    '*': (body, call) =>
      handlers[call.path.replace('/api/v1/', '')]?.(body, call) ?? {
        status: 404,
        body: { error: { title: 'Not Found', message: 'not here' } },
      },
  })
}

/** Two rows without a warning. */
const ROWS = [
  'id,title,description,receiver,image',
  ...['Dawn', 'Dusk'].map((name) => `${name},${name},x,${OWNER},https://example.com/${name}.png`),
  '',
].join('\n')

/** A folder with the manifest `drop.csv`, and a server. */
async function served(handlers: Handlers, rows = CSV) {
  const { path, options } = await folder({ 'drop.csv': rows })
  const { url } = await api(handlers)
  return { path, options: { ...options, env: { ...options.env, GDN_BASE_URL: url } } }
}

export async function withServer(handlers: Handlers, ...argv: string[]): Promise<Prepared> {
  const { options } = await served(handlers)
  return { argv, options }
}

/** A command on a manifest of two rows. */
export async function withManifest(
  handlers: Handlers,
  command: readonly string[],
  ...flags: string[]
): Promise<Prepared> {
  const { path, options } = await served(handlers)
  return { argv: [...command, path('drop.csv'), ...TARGET, ...flags], options }
}

/** The same with rows that have no warning. */
async function withWholeManifest(
  handlers: Handlers,
  command: readonly string[],
  ...flags: string[]
): Promise<Prepared> {
  const { path, options } = await served(handlers, ROWS)
  return { argv: [...command, path('drop.csv'), ...TARGET, ...flags], options }
}

/** A contract with one token, behind a node without old states. */
async function withHolders(): Promise<Prepared> {
  const word = (hex: string) => hex.padStart(64, '0')
  const block = { number: '0x10', hash: `0x${word('16')}`, timestamp: '0x65000000' }
  const topics = [TOPICS.transfer, `0x${word('')}`, `0x${word(OWNER.slice(2).toLowerCase())}`, `0x${word('7')}`]
  const url = await rpcStandIn({
    eth_chainId: '0x89',
    web3_clientVersion: 'geth',
    eth_getBlockByNumber: block,
    eth_getCode: '0x60',
    eth_call: ([{ data }]: [{ data: string }]) =>
      data.startsWith('0x6352211e') ? `0x${word(OWNER.slice(2).toLowerCase())}` : `0x${word('1')}`,
    eth_getLogs: [{ address: CONTRACT, topics, data: '0x', blockNumber: '0x0', logIndex: '0x0' }],
  })
  const { options } = await folder({})
  return { argv: ['collection', 'holders', CONTRACT, '-b', 'polygon', '--rpc-url', url], options }
}

/** A contract whose tokens have their metadata in data URLs. `tokens` changes how many it has. */
async function withNftContract() {
  const word = (hex: string) => hex.padStart(64, '0')
  const contract = { tokens: 1 }
  const topics = [TOPICS.transfer, `0x${word('')}`, `0x${word(OWNER.slice(2).toLowerCase())}`]
  const url = await rpcStandIn({
    eth_chainId: '0x89',
    web3_clientVersion: 'geth',
    eth_getBlockByNumber: { number: '0x10', hash: `0x${word('16')}`, timestamp: '0x65000000' },
    eth_getCode: '0x60',
    eth_call: ([{ data }]: [{ data: string }]) => {
      if (data.startsWith('0x6352211e')) return `0x${word(OWNER.slice(2).toLowerCase())}`
      if (data.startsWith('0xc87b56dd')) return encodeAbiParameters([{ type: 'string' }], ['data:,{"name":"Tide"}'])
      return `0x${word(data.startsWith('0x01ffc9a7') ? '1' : String(contract.tokens))}`
    },
    eth_getLogs: () =>
      Array.from({ length: contract.tokens }, (_, at) => ({
        ...{ address: CONTRACT, data: '0x', blockNumber: '0x0', logIndex: `0x${at}` },
        topics: [...topics, `0x${word(String(at + 1))}`],
      })),
  })
  const { options } = await folder({})
  const place = [CONTRACT, '-b', 'polygon', '--rpc-url', url, '--gateway', 'http://127.0.0.1:9']
  return { contract, options, argv: ['collection', 'archive', ...place, '--to', 'tides.car'] }
}

/** An archive of that contract with one more token, which was burned since. */
async function withArchive() {
  const { contract, options, argv } = await withNftContract()
  contract.tokens = 2
  await cli(argv, options)
  contract.tokens = 1
  return { options, place: argv.slice(2, -2) }
}

export const accepted = (requests: object): Reply => ({
  body: { requests, request: requests, response: { transaction_gdn_id: 'tx', accepted_date: DATE } },
})

export const getcollections = (more: object = {}): Reply => ({
  body: {
    requests: { transaction_gdn_ids: ['tx'] },
    collections: [
      {
        transaction_gdn_ids: 'tx',
        contract_address: CONTRACT,
        name: 'Tide',
        blockchain: 'polygon',
        wallet_address: OWNER,
        status: 'deployed',
        ...more,
      },
    ],
  },
})

export const gettransactions = (more: object = {}): Reply => ({
  body: {
    requests: { transaction_gdn_ids: ['tx'] },
    transactions: [{ transaction_gdn_id: 'tx', status: 'deployed', transaction_hash: null, error: null, ...more }],
  },
})

/** A server with the deployed NFTs `a` and `b`. */
const WITH_NFTS = { getnfts: knows(nft('a'), nft('b')) }

/** A server that changes the NFT `a` at once. */
const WITH_DYNAMIC_NFT = {
  getnfts: knows(nft('a', { revision: 0, is_dynamic: true })),
  gettransactions: () => gettransactions(),
  updatednft: accepted,
  freezenft: accepted,
  burnnft: accepted,
}

export const CREATE_COLLECTION = ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', OWNER]
const WITH_COLLECTION = { createcollection: accepted, getcollections: () => getcollections() }

async function withCreatedCollection(...argv: string[]): Promise<Prepared> {
  const { options } = await withServer(WITH_COLLECTION)
  await cli([...CREATE_COLLECTION, '-q', '-o', 'ids'], options)
  return { argv, options }
}

/** The JSON-RPC results of a node with a collection of an owner. */
export function collectionNode(owner: string) {
  const word = (hex: string) => `0x${hex.padStart(64, '0')}`
  const results = new Map([
    [toFunctionSelector('owner()'), word(owner.slice(2).toLowerCase())],
    [toFunctionSelector('royaltyInfo(uint256,uint256)'), `${word('')}${word('').slice(2)}`],
    [toFunctionSelector('contractURI()'), `${word('20')}${word('').slice(2)}`],
  ])
  const block = { transactionHash: word('1'), blockHash: word('2'), blockNumber: '0x1' }
  return {
    eth_chainId: '0x89',
    eth_blockNumber: '0x1',
    eth_gasPrice: '0x1',
    eth_getBlockByNumber: {},
    eth_estimateGas: '0xc350',
    eth_getBalance: '0x8ac7230489e80000',
    eth_getTransactionCount: '0x0',
    eth_sendRawTransaction: word('1'),
    eth_getTransactionReceipt: { ...block, gasUsed: '0xc350', effectiveGasPrice: '0x1', status: '0x1' },
    eth_call: ([{ data }]: [{ data: `0x${string}` }]) => results.get(slice(data, 0, 4)) ?? word(''),
  }
}

/** A route of a server that responds to JSON-RPC from a table of results, or of functions of the parameters. */
export function rpcRoute(results: Readonly<Record<string, unknown>>): Handler {
  const answer = ({ id, method, params }: { id: number; method: string; params: unknown }) => {
    const result = results[method]
    return { jsonrpc: '2.0', id, result: typeof result === 'function' ? result(params) : result }
  }
  return (body) => ({ body: Array.isArray(body) ? (body as never[]).map(answer) : answer(body) })
}

/** A change of a collection on a node, with the keystore of its owner. */
async function withOwnCollection(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder()
  const key = generatePrivateKey()
  await writeKeystore(path('owner.json'), key)
  await writePassword(path('password'))
  const url = await rpcStandIn(collectionNode(privateKeyToAccount(key).address))
  const wallet = ['--wallet', path('owner.json'), '--password-file', path('password')]
  return { argv: [...argv, '--rpc-url', url, ...wallet], options }
}

/** A PNG image with one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** Another one, in red. */
const RED_PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=='

/** Layers with two images. */
async function withArt(command: string, ...flags: string[]) {
  const traits = '{ Blue: { file: blue.png }, Red: { file: red.png } }'
  const { path, options } = await folder({
    'art.yaml': `title: "T #{number}"\ndescription: D\nlayers: [{ name: Sky, traits: ${traits} }]\n`,
    'blue.png': Buffer.from(PIXEL, 'base64'),
    'red.png': Buffer.from(RED_PIXEL, 'base64'),
  })
  return { argv: ['art', command, path('art.yaml'), ...flags], options }
}

/** A run that `mintFlags` started. */
async function withRun(handlers: Handlers, mintFlags: readonly string[], ...argv: string[]): Promise<Prepared> {
  const mint = await withManifest(handlers, ['batch', 'mint'], '--rate', '1000', '-q', '-o', 'ids', ...mintFlags)
  await cli(mint.argv, mint.options)
  return { argv, options: mint.options }
}

const withMintedRun = (...argv: string[]) => withRun(service(), [], ...argv)
const withPendingRun = (...argv: string[]) => withRun(service(), ['--no-wait'], ...argv)

async function withFailedRun(...argv: string[]): Promise<Prepared> {
  let isRefused = true
  const prepared = await withRun(
    service(() => isRefused),
    [],
    ...argv,
  )
  isRefused = false
  return prepared
}

async function withNode(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder()
  const url = await rpcStandIn({ eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x1' })
  return { argv: [...argv, path('drop.csv'), ...TARGET, '--rpc-url', url], options }
}

/** A backend on a public network, with a collection to mint into. */
async function withRehearsedPlace(...argv: string[]): Promise<Prepared> {
  const { dataDir, contract } = await rehearsedPlace()
  const { path, options } = await folder()
  return { argv: [...argv, path('drop.csv'), '-c', contract, '-b', 'polygon', '--data-dir', dataDir], options }
}

async function withHome(...argv: string[]): Promise<Prepared> {
  const { options } = await folder()
  return { argv, options }
}

/** A home with a data directory, whose database is open until the test ends. */
async function dataDirectory() {
  const { path, options } = await folder()
  const dataDir = path('data')
  await mkdir(dataDir, { mode: 0o700 })
  const store = await openStore(join(dataDir, 'gdn.db'))
  onTestFinished(() => store.close())
  return { path, options, dataDir, store, at: ['--data-dir', dataDir] }
}

/** A data directory with an API key. */
async function withApiKey(argvOf: (keyId: string) => string[]): Promise<Prepared> {
  const { options, at } = await dataDirectory()
  const { stdout } = await cli([...CREATE_KEY, '--json', ...at], options)
  return { argv: [...argvOf((JSON.parse(stdout) as { id: string }).id), ...at], options }
}

const CREATE_KEY = ['key', 'create', '--name', 'a', '--email', 'a@example.com', '--permission', 'all']
const ADD_WEBHOOK = ['webhook', 'add', 'https://example.com/b', '--event', '*', '--email', 'a@example.com']
const EXPORT = ['db', 'export', 'all.jsonl']

async function withExport(...argv: string[]): Promise<Prepared> {
  const { argv: exporting, options } = await withApiKey(() => EXPORT)
  await cli(exporting, options)
  return { argv: [...argv, '--data-dir', join(options.cwd ?? '', 'new')], options }
}

/** polygon as the database remembers it after its setup. */
const POLYGON = {
  blockchain: 'polygon',
  network: 'remote',
  chain_id: 137,
  genesis_timestamp: 0,
  factory_address: CONTRACT,
  created_at: 0,
} as const

/** A data directory with polygon as a public network, and the keystores of an operator and of an administrator. */
async function network() {
  const { path, options, dataDir, store, at } = await dataDirectory()
  const url = await rpcStandIn({
    eth_chainId: '0x89',
    eth_blockNumber: '0x10',
    eth_getBlockByNumber: { baseFeePerGas: '0x3b9aca00' },
    eth_maxPriorityFeePerGas: '0x3b9aca00',
    eth_getBalance: '0xde0b6b3a7640000',
    eth_getTransactionCount: '0x0',
    eth_call: `0x${'1'.padStart(64, '0')}`,
  })
  await writeKeystore(join(dataDir, 'operator.json'), generatePrivateKey())
  await writeKeystore(path('admin.json'), generatePrivateKey())
  await writePassword(join(dataDir, 'password'))
  const operators = [{ keystore: 'operator.json', password_file: 'password' }]
  const settings = { chains: { polygon: { rpc_urls: [url], operators } } }
  await writeFile(join(dataDir, 'backend.yaml'), JSON.stringify(settings), { mode: 0o600 })
  return { path, options, store, at }
}

export async function withNewNetwork(argvOf: (path: Path) => string[]): Promise<Prepared> {
  const { path, options, at } = await network()
  return { argv: [...argvOf(path), ...at], options }
}

async function withSetUpNetwork(...argv: string[]): Promise<Prepared> {
  const { options, store, at } = await network()
  await recordChain(store.db, POLYGON)
  return { argv: [...argv, ...at], options }
}

const TRANSACTION = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'

/** A database with a pending transaction. */
/** A call with 100,000 gas at 30 gwei: at most 0.003 coins. */
const RAW = serializeTransaction(
  {
    type: 'eip1559',
    ...{ chainId: 137, nonce: 7, to: OWNER, data: '0x', gas: 100_000n },
    ...{ maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
  },
  { r: `0x${'1'.repeat(64)}`, s: `0x${'1'.repeat(64)}`, yParity: 0 },
)

async function withTransaction(...argv: string[]): Promise<Prepared> {
  const { options, store, at } = await dataDirectory()
  await recordChain(store.db, POLYGON)
  await insertTransaction(store.db, {
    id: TRANSACTION,
    blockchain: 'polygon',
    signer: OWNER,
    nonce: 7,
    kind: 'transfer',
    token_count: 0,
    raw: RAW,
    // Other tests of the same process have a key of equal digits, which gdn redacts.
    hash: `0x${'7e57'.repeat(16)}`,
    state: 'signed',
    created_at: 0,
    next_attempt_at: 0,
  })
  return { argv: [...argv, ...at], options }
}

/** A database with a collection whose tokens on chain come from none of its transactions. */
async function withUnknownMint(...argv: string[]): Promise<Prepared> {
  const { options, store, at } = await dataDirectory()
  const { db } = store
  await db.insertInto('accounts').values({ id: 'account', created_at: 0 }).execute()
  await insertRequest(db, {
    id: 'request',
    account_id: 'account',
    endpoint: 'createcollection',
    body_hash: '',
    response: '',
    accepted_at: 0,
  })
  await insertCollection(db, {
    id: 'collection',
    account_id: 'account',
    request_id: 'request',
    blockchain: 'polygon',
    name: 'Tide',
    symbol: 'T',
    wallet_address: OWNER,
    contract_address: CONTRACT,
    factory_address: CONTRACT,
    enable_api: 1,
    enable_transfer: 0,
    is_locked: 0,
    status: 'deployed',
    next_token_id: '4',
    next_attempt_at: 0,
  })
  const mint = { collection_id: 'collection', hash: `0x${'7e57'.repeat(16)}` }
  await addUnknownMints(db, [{ ...mint, blockchain: 'polygon', block_number: 7, start_id: '1', token_count: 3 }])
  await updateUnknownMint(db, mint, { state: 'unexplained', signer: OWNER, reason: 'no pending NFTs match' })
  return { argv: [...argv, ...at], options }
}

/** A database with a webhook and one event. */
async function withWebhook(argvOf: (webhook: { id: string; event: string }) => string[]): Promise<Prepared> {
  const { options, store, at } = await dataDirectory()
  const request = { url: 'https://example.com/hook', events: ['*'], email: 'a@example.com', now: Date.now() }
  const { id } = (await addWebhook(store, request)).webhook
  const event = await testWebhook(store, id)
  // Stands in for a backend, which would send the deliveries.
  const sending = setInterval(() => void deliverAll(store, id).catch(() => {}), 50)
  onTestFinished(() => clearInterval(sending))
  return { argv: [...argvOf({ id, event }), ...at], options }
}

async function deliverAll({ db }: Store, webhookId: string): Promise<void> {
  for (const delivery of await listDueDeliveries(db, webhookId, Date.now(), 10)) {
    const attempt = { attempts: 1, response_status: 200, attempted_at: Date.now() }
    await recordAttempt(db, delivery, { ...attempt, state: 'delivered' })
  }
}

/** A home with the data directory of a local backend. */
async function localBackend() {
  const { path, options } = await folder()
  const dataDir = path('.local/share/gdn/local')
  await mkdir(dataDir, { recursive: true })
  return { dataDir, options }
}

/** A home where this process is recorded as the local backend. */
async function withBackend(...argv: string[]): Promise<Prepared> {
  const { dataDir, options } = await localBackend()
  await writeRunning(dataDir, 'http://127.0.0.1:4680')
  return { argv, options }
}

export async function withStoppedBackend(...argv: string[]): Promise<Prepared> {
  const { dataDir, options } = await localBackend()
  await writeFile(join(dataDir, 'api-key'), 'x', { mode: 0o600 })
  return { argv, options }
}

const login = (path: Path) => ['auth', 'login', '--key-file', path('key.txt'), '--no-check']

/** A home with a saved API key of a server, and the file that it came from. */
async function withSavedKey(argvOf: (path: Path) => string[]): Promise<Prepared> {
  const { path, options } = await folder()
  await writeFile(path('key.txt'), 'sesame-open\n', { mode: 0o600 })
  const at = ['--base-url', 'http://127.0.0.1:9']
  await cli([...login(path), '-q', ...at], options)
  const { GDN_API_KEY: _key, ...env } = options.env
  return { argv: [...argvOf(path), ...at], options: { ...options, env } }
}

/** A service that generates wallets, and a home with a saved address, a keystore and its password file. */
async function withWallets(argvOf: (path: Path) => string[]): Promise<Prepared> {
  const { path, options } = await folder()
  const { url } = await walletService()
  await cli(['wallet', 'add', 'bob', OWNER, '-q'], options)
  await writeKeystore(path('key'), generatePrivateKey())
  await writePassword(path('password'))
  return { argv: argvOf(path), options: { ...options, env: { ...options.env, GDN_BASE_URL: url } } }
}

const RECEIVER = ['--receiver', OWNER]
export const SENDER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
export const MINT = ['nft', 'mint', '--title', 'Dawn', ...TARGET, ...RECEIVER]

const COLLECTION = ['transaction_gdn_id', 'contract_address', 'name', 'blockchain', 'wallet_address', 'status']
const TOKEN = ['nft_gdn_id', 'token_id', 'contract_address', 'receiver_wallet_address']
const ACCEPTED = ['transaction_gdn_id', 'accepted_date', 'status']
const NFT = [...TOKEN, 'status', 'request_metadata', 'metadata_url']
const MINTED_NFT = [...NFT, 'blockchain', 'accepted_date']
const CHANGED_NFT = [...TOKEN, ...ACCEPTED, 'title', 'blockchain', 'transaction_hash', 'error']
const CHANGED_SETTING = [
  ...['setting', 'before', 'after', 'irreversible', 'status'],
  ...['transaction_hash', 'safe_address', 'gas_used', 'fee_paid_wei', 'max_fee_wei', 'currency', 'simulated'],
]
/** An event as a server returns it, with every field that `nft history` prints. */
const MINT_EVENT = {
  kind: 'mint',
  status: 'deployed',
  transaction_gdn_id: null,
  accepted_date: DATE,
  block_date: DATE,
  block_number: 7,
  transaction_hash: '0xab',
  from: null,
  to: OWNER,
  revision: null,
  changes: null,
  changes_left_out: 0,
  error: null,
}
const TARGETED = ['run', 'blockchain', 'contract_address']
const COUNTS = ['total', 'pending', 'accepted', 'deployed', 'failed', 'unknown']
const RUN_PAID = ['gas_used', 'fee_paid_wei', 'currency', 'simulated', 'pending_transactions', 'paid_before']
export const SPENT_FIELDS = [...RUN_PAID.slice(0, -1), 'max_cost_wei', 'max_fee_wei', 'waiting']
const COMPARED = ['verified', 'differing', 'unread', 'changed']
const SENT = ['burned', 'abandoned', 'requests', 'attempts', 'reconciled', 'kept_accepted']
const RUN_SUMMARY = [...TARGETED, 'run_id', ...COUNTS, ...SENT, ...COMPARED, ...RUN_PAID, 'warnings', 'notes']
const RUN_STATUS = ['running', 'state', 'server', 'backend_id', 'manifest', 'drop', 'round', 'round_at', 'started_at']
const RUN = [...TARGETED, 'run_id', ...COUNTS, 'burned', 'abandoned', ...RUN_STATUS]
const MANIFEST = ['rows', 'receivers', 'blockchain', 'contract_address', 'mapped_columns']
const BACKEND = ['running', 'url', 'data_dir', 'pid']
const KEY_DATES = ['created_at', 'expires_at', 'revoked_at']
const KEY = ['id', 'name', 'email', 'prefix', 'permissions', 'api_version', 'status', ...KEY_DATES]
const DATABASE = ['database', 'kind', 'applied', 'pending', 'accounts', 'collections', 'nfts', 'processes']
const MOVED_DATABASE = ['file', 'database', 'tables', 'rows', 'nfts', 'seconds']
const CHAIN = ['blockchain', 'chain_id']
const SIGNED = ['id', 'blockchain', 'kind', 'state', 'signer', 'nonce', 'hash', 'nfts', 'collection_id']
const MINED = ['block_number', 'gas_used', 'explorer_url']
const TX = [...SIGNED, ...MINED, 'requested_action', 'created_at']
const REPLACED = ['max_cost_before_wei', 'max_cost_after_wei', 'currency', 'pending_reason']
const COLLECTION_ON_CHAIN = ['collection_id', 'contract_address', 'blockchain', 'tokens']
const DELIVERIES = ['waiting', 'delivered', 'failed', 'failing_since']
const WEBHOOK = ['id', 'url', 'events', 'email', 'status', 'created_at', ...DELIVERIES]
const ATTEMPT = ['attempted_at', 'response_status', 'response', 'error']
const DELIVERY = ['event_id', 'type', 'state', 'created_at', 'attempts', 'next_attempt_at', ...ATTEMPT]
const GAS = [
  'transactions',
  'transactions_high',
  'gas_estimate',
  'gas_price_wei',
  'data_fee_wei',
  'simulated',
  'funding_wei',
]
const COST = ['cost_low_wei', 'cost_estimate_wei', 'cost_high_wei', 'currency', 'coin_price', 'cost_estimate']
const REHEARSAL = ['block', 'rows', 'minted', 'failed', 'waiting', 'seconds', 'signers', 'failures']
const REHEARSED_COST = ['transactions', 'gas', 'gas_price_wei', 'cost_wei', 'currency']
const RESULT_OF_ROW = ['key', 'line', 'title', 'status', 'error']
const UNSETTLED = ['pending', 'failed', 'unknown']
/** The fields of a shuffled drop. */
const DRAW = ['seal', 'round', 'round_at']
const LEFT = ['not_minted', 'left', 'unrevealed_rows', 'unrevealed_rows_left_out']
const CHAIN_FACTS = ['currency', 'testnet', 'network', 'retired_since', 'successor']
const CHAIN_RULES = ['fee_model', 'confirmations', 'finality', 'commitment', 'genesis_hash']
const VERIFIED = ['contract', 'address', 'service', 'status', 'match', 'url', 'message']
const COMPILED = ['identifier', 'compiler', 'constructor_arguments']
const UNKNOWN_MINT = ['state', 'first_token_id', 'last_token_id', 'hash', 'signer', 'metadata_url', 'reason']
const FOUND = ['block_number', 'found_at', 'explorer_url']

/** Every command that prints records, by its name. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'collection create': one([...COLLECTION, 'accepted_date'], () => withServer(WITH_COLLECTION, ...CREATE_COLLECTION)),
  'collection show': one(COLLECTION, () =>
    withServer({ getcollections: () => getcollections() }, 'collection', 'show', 'tx'),
  ),
  'collection set': list(CHANGED_SETTING, () =>
    withOwnCollection('collection', 'set', CONTRACT, '-b', 'polygon', '--royalty', '5%', '--yes'),
  ),
  'collection list': list(COLLECTION, () => withCreatedCollection('collection', 'list')),
  'collection holders': list(
    ['receiver', 'count', 'token_ids', 'block_number', 'block_hash', 'is_checked'],
    withHolders,
  ),
  'collection archive': one(
    [
      ...['file', 'root', 'contract_address', 'blockchain', 'standard', 'block_number', 'block_hash'],
      ...['tokens', 'files', 'blocks', 'bytes', 'unreadable', 'kept', 'reused', 'problems', 'kept_files'],
    ],
    withNftContract,
  ),
  'collection check': list(['token_id', 'kind', 'field', 'url', 'error'], async () => {
    const { options, place } = await withArchive()
    return { argv: ['collection', 'check', ...place, '--archive', 'tides.car'], options }
  }),
  'collection restore': one(
    [
      ...['file', 'contract_address', 'blockchain', 'tokens', 'answering', 'blocks', 'bytes'],
      ...['unreadable', 'problems', 'publishes'],
    ],
    async () => {
      const { options } = await withArchive()
      return { argv: ['collection', 'restore', 'tides.car', '--data-dir', 'data'], options }
    },
  ),
  'nft mint': one(MINTED_NFT, () => withServer(service(), ...MINT)),
  'nft grant': one([...MINTED_NFT, 'sender_wallet_address'], () => {
    const { createnft: createnfttrans, getnfts } = service()
    const argv = ['nft', 'grant', '--title', 'Dawn', ...TARGET, ...RECEIVER, '--sender', SENDER]
    return withServer({ createnfttrans, getnfts }, ...argv)
  }),
  'nft update': one(CHANGED_NFT, () =>
    withServer(WITH_DYNAMIC_NFT, 'nft', 'update', 'a', '--title', 'Dusk', '-b', 'polygon'),
  ),
  'nft freeze': list([...CHANGED_NFT, 'is_frozen'], () =>
    withServer(WITH_DYNAMIC_NFT, 'nft', 'freeze', 'a', '--yes', '-b', 'polygon'),
  ),
  'nft burn': list(CHANGED_NFT, () => withServer(WITH_DYNAMIC_NFT, 'nft', 'burn', 'a', '--yes', '-b', 'polygon')),
  'nft history': list(Object.keys(MINT_EVENT), () => {
    const getnfts: Handler = (body) => ({ ...WITH_NFTS.getnfts(body), headers: { 'nft-history-supported': 'yes' } })
    const getnfthistory = (requests: object) => ({ body: { requests, events: [MINT_EVENT], next_offset: null } })
    return withServer({ getnfts, getnfthistory }, 'nft', 'history', 'a')
  }),
  'nft transfer': one([...TOKEN, ...ACCEPTED, 'blockchain', 'sender_wallet_address'], () => {
    let owner = OWNER
    const transfernft = (requests: { receiver_wallet_address: string }) => {
      owner = requests.receiver_wallet_address
      return accepted(requests)
    }
    const getnfts: Handler = (body) => knows(nft('a', { receiver_wallet_address: owner }))(body)
    return withServer({ transfernft, getnfts }, 'nft', 'transfer', 'a', '-b', 'polygon', '--receiver', SENDER)
  }),
  'nft list': list([...NFT, 'blockchain'], () => {
    const requests = { contract_address: CONTRACT, blockchain: 'polygon' }
    const getnftgdnids = () => ({ body: { requests, nft_gdn_ids: ['a', 'b'] } })
    return withServer({ ...WITH_NFTS, getnftgdnids }, 'nft', 'list', ...TARGET)
  }),
  'nft show': one(NFT, () => withServer(WITH_NFTS, 'nft', 'show', 'a')),
  'nft wait': list(NFT, () => withServer(WITH_NFTS, 'nft', 'wait', 'a', 'b')),
  'nft refresh': list(['token_id', 'status', 'contract_address', 'blockchain', 'marketplace', 'error'], async () => {
    const { options } = await folder({})
    const sea = await startHttpServer([{ json: 'queued' }])
    onTestFinished(() => sea.close())
    const argv = ['nft', 'refresh', '1', '2', ...TARGET, '--opensea-url', sea.url, '--rate', '1000']
    return { argv, options: { ...options, env: { ...options.env, GDN_OPENSEA_KEY: 'opensea-key' } } }
  }),
  'nft verify': one([...TOKEN, 'isgdnnft', 'status', 'blockchain'], () => {
    const response = { isgdnnft: true, nft: nft('a') }
    const getisgdnnft = (request: object) => ({ body: { requests: { ...request, nft_gdn_id: 'a' }, response } })
    return withServer({ ...WITH_NFTS, getisgdnnft }, 'nft', 'verify', 'a', '-b', 'polygon')
  }),
  cost: one(['blockchain', 'rows', 'receivers', 'deploys_collection', ...GAS, ...COST], () => withNode('cost')),
  'batch validate': one([...MANIFEST, 'valid', 'issue_count', 'files', 'warnings'], () =>
    withWholeManifest({}, ['batch', 'validate']),
  ),
  'batch rarity': list(['rank', 'score', 'line', 'id', 'token_id', 'nft_gdn_id', 'title', 'rarest', 'method'], () =>
    withWholeManifest({}, ['batch', 'rarity']),
  ),
  'art check': one(
    [
      ...['verdict', 'count', 'seed', 'combinations', 'combinations_exact', 'omitted_rules'],
      ...['largest_edition', 'upper_bound', 'reasons', 'deviations', 'images', 'warnings'],
    ],
    () => withArt('check', '--count', '2'),
  ),
  'art generate': one(
    [
      ...['folder', 'manifest', 'images', 'made', 'copied', 'kept', 'seed', 'deviations', 'former_folder'],
      ...['changed_rows', 'edited_files', 'unfinished_folders', 'warnings'],
    ],
    () => withArt('generate', '--count', '2', '--threads', '1', '--out', 'drop'),
  ),
  'art preview': list(
    ['number', 'title', 'group', 'rank', 'score', 'rarest', 'attributes', 'one_of_one', 'warning'],
    () => withArt('preview', '--count', '2'),
  ),
  'art import': one(['file', 'format', 'rows', 'images', 'columns', 'omitted_fields', 'warnings'], async () => {
    const { path, options } = await folder({
      'build/1.json': JSON.stringify({ name: 'One', description: 'D', image: 'https://example.com/1.png' }),
    })
    return { argv: ['art', 'import', path('build'), '--out', path('manifest.csv'), '--force'], options }
  }),
  'batch preview': one([...MANIFEST, 'file', 'errors', 'run', 'minted'], () =>
    withManifest({}, ['batch', 'preview'], '--force'),
  ),
  'batch mint': one(RUN_SUMMARY, () => withWholeManifest(service(), ['batch', 'mint'], '--rate', '1000')),
  'batch rehearse': one(['blockchain', 'contract_address', ...REHEARSAL, ...REHEARSED_COST], () =>
    withRehearsedPlace('batch', 'rehearse'),
  ),
  'batch list': list(RUN, () => withMintedRun('batch', 'list')),
  'batch status': one(RUN, () => withMintedRun('batch', 'status', 'drop')),
  'batch resume': one(RUN_SUMMARY, () => withPendingRun('batch', 'resume', 'drop', '--rate', '1000')),
  'batch retry': one(RUN_SUMMARY, () => withFailedRun('batch', 'retry', 'drop', '--rate', '1000')),
  'batch reconcile': one(RUN_SUMMARY, () => withPendingRun('batch', 'reconcile', 'drop', '--rate', '1000')),
  'batch results': list([...RESULT_OF_ROW, ...TOKEN, 'metadata_url', 'burned'], () =>
    withMintedRun('batch', 'results', 'drop'),
  ),
  'batch report': one(
    [
      'file',
      'run',
      'run_id',
      'rows',
      'errors',
      'deployed',
      'accepted',
      ...UNSETTLED,
      'burned',
      'abandoned',
      'changed',
      'images',
      ...SPENT_FIELDS,
    ],
    () => withMintedRun('batch', 'report', 'drop', '--force'),
  ),
  'batch rm': list(['run', 'run_id', 'removed'], () => withMintedRun('batch', 'rm', 'drop', '--yes')),
  apply: one(
    [...TARGETED, 'rows', 'minted', 'updated', 'transferred', 'burned', ...UNSETTLED, ...RUN_PAID, 'warnings', 'notes'],
    () => withManifest(service(), ['apply'], '--yes'),
  ),
  reveal: one(
    [...TARGETED, 'provenance', 'rows', 'revealed', 'to_reveal', ...UNSETTLED, ...LEFT, ...DRAW, ...RUN_PAID],
    async () => {
      const node = rpcRoute({ eth_chainId: '0x89', eth_call: `0x${'1'.padStart(64, '0')}` })
      const mint = await withManifest({ ...service(), '/rpc/polygon': node }, ['batch', 'mint'], '--yes')
      await cli([...mint.argv, '-q', '-o', 'ids'], mint.options)
      return { ...mint, argv: ['reveal', ...mint.argv.slice(2)] }
    },
  ),
  plan: list(
    [
      'action',
      'want',
      'line',
      'key',
      'title',
      'nft_gdn_id',
      'token_id',
      'revision',
      'changes',
      'reason',
      'reference_id',
    ],
    () => withManifest(service(), ['plan']),
  ),
  'wallet generate': one(['address', 'name', 'file'], () =>
    withWallets((path) => ['wallet', 'generate', '--password-file', path('password'), '--email', 'me@example.com']),
  ),
  'wallet import': one(['address', 'name', 'file', 'status'], () =>
    withWallets((path) => ['wallet', 'import', path('key'), '--password-file', path('password')]),
  ),
  'wallet url': one(['url', 'expires_at'], () => withWallets(() => ['wallet', 'url', '--email', 'me@example.com'])),
  'wallet list': list(['name', 'address', 'kind', 'created_at', 'file'], () => withWallets(() => ['wallet', 'list'])),
  'wallet add': one(['name', 'address'], () => withWallets(() => ['wallet', 'add', 'carol', SENDER])),
  'wallet group': list(['name', 'address'], () => withWallets(() => ['wallet', 'group', 'team', '@bob'])),
  'wallet rename': one(['name', 'address'], () => withWallets(() => ['wallet', 'rename', 'bob', 'carol'])),
  'wallet rm': one(['name', 'address'], () => withWallets(() => ['wallet', 'rm', 'bob'])),
  'wallet proofs': one(['root', 'receivers', 'proofs', 'warnings', 'format', 'leaf_encoding'], async () => {
    const { path, options } = await folder({ 'list.txt': `${OWNER}\n${SENDER}\n` })
    return { argv: ['wallet', 'proofs', path('list.txt'), '--format', 'oz'], options }
  }),
  'local start': one(BACKEND, () => withBackend('local', 'start')),
  'local stop': one(BACKEND, () => withHome('local', 'stop')),
  'local status': one(BACKEND, () => withBackend('local', 'status')),
  'local reset': one(['data_dir', 'deleted'], () => withStoppedBackend('local', 'reset', '--yes')),
  'key create': { ...one([...KEY, 'api_key'], () => withApiKey(() => CREATE_KEY)), isShownOnce: true },
  'key list': list(KEY, () => withApiKey(() => ['key', 'list'])),
  'key revoke': one(KEY, () => withApiKey((id) => ['key', 'revoke', id])),
  'db export': one(MOVED_DATABASE, () => withApiKey(() => EXPORT)),
  'db import': one(MOVED_DATABASE, () => withExport('db', 'import', 'all.jsonl')),
  'db migrate': one(DATABASE, () => withApiKey(() => ['db', 'migrate'])),
  'db status': one(DATABASE, () => withApiKey(() => ['db', 'status'])),
  'chain list': list([...CHAIN, ...CHAIN_FACTS, ...CHAIN_RULES, 'nodes', 'operators', 'block_explorer_url'], () =>
    withNewNetwork(() => ['chain', 'list']),
  ),
  'chain setup': one(
    [
      ...CHAIN,
      'status',
      'factory',
      'admin',
      'operators',
      'to_appoint',
      'gas',
      'cost',
      'deployment_gas',
      'deployment_cost',
      'balance',
      'currency',
      'needed_per_operator',
    ],
    () => {
      const admin = (path: Path) => ['--admin-keystore', path('admin.json'), '--password-file', path('data/password')]
      return withNewNetwork((path) => ['chain', 'setup', 'polygon', '--dry-run', ...admin(path)])
    },
  ),
  'chain status': list(
    [
      ...CHAIN,
      'currency',
      'block',
      'max_fee_gwei',
      'factory',
      'signer',
      'balance',
      'needed',
      'appointed',
      'waiting',
      'waiting_nfts',
      'problem',
    ],
    () => withSetUpNetwork('chain', 'status', 'polygon'),
  ),
  'chain verify': list([...CHAIN, ...VERIFIED, ...COMPILED], () =>
    withSetUpNetwork('chain', 'verify', 'polygon', '--to', 'input.json'),
  ),
  'tx list': list(TX, () => withTransaction('tx', 'list')),
  'tx show': one([...TX, 'attempts', 'pending_reason'], () => withTransaction('tx', 'show', TRANSACTION)),
  'tx bump': one([...TX, ...REPLACED], () => withTransaction('tx', 'bump', TRANSACTION, '--yes')),
  'tx cancel': one([...TX, ...REPLACED], () => withTransaction('tx', 'cancel', TRANSACTION, '--yes')),
  'tx unknown': list([...COLLECTION_ON_CHAIN, ...UNKNOWN_MINT, ...FOUND], () => withUnknownMint('tx', 'unknown')),
  'tx release': one([...COLLECTION_ON_CHAIN, 'pending', 'failed'], () =>
    withUnknownMint('tx', 'release', CONTRACT, '--yes'),
  ),
  'webhook add': { ...one([...WEBHOOK, 'signing_secret'], () => withWebhook(() => ADD_WEBHOOK)), isShownOnce: true },
  'webhook list': list(WEBHOOK, () => withWebhook(() => ['webhook', 'list'])),
  'webhook show': one(WEBHOOK, () => withWebhook(({ id }) => ['webhook', 'show', id])),
  'webhook update': one(WEBHOOK, () => withWebhook(({ id }) => ['webhook', 'update', id, '--event', 'nft.failed'])),
  'webhook rm': one(WEBHOOK, () => withWebhook(({ id }) => ['webhook', 'rm', id, '--yes'])),
  'webhook test': one(DELIVERY, () => withWebhook(({ id }) => ['webhook', 'test', id])),
  'webhook trigger': one(DELIVERY, () => withWebhook(({ id }) => ['webhook', 'trigger', id, 'nft.failed'])),
  'webhook deliveries': list(DELIVERY, () => withWebhook(({ id }) => ['webhook', 'deliveries', id])),
  'webhook replay': one([...WEBHOOK, 'replayed'], () =>
    withWebhook(({ id, event }) => ['webhook', 'replay', id, '--id', event]),
  ),
  'auth login': one(['server', 'kept_in', 'key', 'works'], () => withSavedKey(login)),
  'auth status': list(['server', 'in_use', 'profiles', 'kept_in', 'place', 'key', 'works', 'problem'], () =>
    withSavedKey(() => ['auth', 'status']),
  ),
  'auth logout': list(['server', 'kept_in'], () => withSavedKey(() => ['auth', 'logout'])),
  init: one(['profile', 'base_url', 'key', 'blockchain', 'wallet', 'checked'], () =>
    withSavedKey((path) => ['init', '--hosted', '--key-file', path('key.txt'), '--no-check', '--yes', '-b', 'polygon']),
  ),
  doctor: list(['check', 'status', 'message', 'fix'], () => withHome('doctor')),
  'config get': one(['name', 'value', 'from'], () =>
    withHome('config', 'get', 'base_url', '--base-url', 'http://127.0.0.1:9'),
  ),
  'config set': one(['name', 'value', 'profile'], () => withHome('config', 'set', 'contract', CONTRACT)),
  'config unset': one(['name', 'profile'], () => withHome('config', 'unset', 'contract')),
  'config list': list(['name', 'value', 'from'], () => withHome('config', 'list')),
  'config path': one(['config', 'credentials', 'project', 'state', 'local_data', 'wallets'], () =>
    withHome('config', 'path'),
  ),
  schema: list(['name', 'summary'], () => withHome('schema')),
}

/** Fields that --fields accepts and that have no value in the scenario of a command. */
export const EMPTY_FIELDS: Readonly<Record<string, readonly string[]>> = {
  'collection create': ['error'],
  'collection show': ['enable_api'],
  'nft mint': ['error'],
  'nft update': ['gas_used'],
  'nft freeze': ['gas_used'],
  'nft burn': ['gas_used'],
  'nft history': ['explorer_url'],
  'nft transfer': ['gas_used'],
  'nft show': ['blockchain', 'error'],
  'batch validate': ['checked_files', 'rows_on_server', 'findings', 'hints'],
  'wallet list': ['error'],
}

/** Commands that print no records, each with what it prints instead. */
export const NO_RECORDS: Readonly<Record<string, string>> = {
  'art init': 'an art.yaml',
  'batch template': 'a manifest, in the format that --format names',
  'wallet export': 'a keystore or a private key, as it is',
  'local logs': 'the log as it was written',
  'local listen': 'events as they come; a line of JSON for each with --json; runs until it is stopped',
  'local exec': 'what the command that it runs prints',
  serve: 'one line with --json when it can serve; runs until it is stopped',
  worker: 'one line with --json when it works; runs until it is stopped',
  api: "the server's answer as it came, which is JSON already",
  completion: 'a script for the shell',
  mcp: 'messages of the protocol; runs until the client disconnects',
  open: 'an address, opened in the browser',
}
