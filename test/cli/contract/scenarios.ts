import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { slice, toFunctionSelector } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { onTestFinished } from 'vitest'
import { addWebhook, testWebhook } from '../../../src/server/admin/webhooks.ts'
import { writeRunning } from '../../../src/server/data-dir/running.ts'
import { rememberChain } from '../../../src/server/store/chains.ts'
import { openStore, type Store } from '../../../src/server/store/open-store.ts'
import { insertRequest } from '../../../src/server/store/requests.ts'
import { addUnknownMints, updateUnknownMint } from '../../../src/server/store/unknown-mints.ts'
import { listDue, recordAttempt } from '../../../src/server/store/webhook-deliveries.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { rehearsedPlace } from '../../helpers/rehearsed-place.ts'
import { insertCollection, insertTransaction } from '../../helpers/rows.ts'
import { rpcStandIn } from '../../helpers/rpc-stand-in.ts'
import { walletService } from '../../helpers/wallet-service.ts'
import { CSV, folder, service, TARGET } from '../drop.ts'
import { CONTRACT, DATE, fakeApi, nft, OWNER, type Reply } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'

/** A command line that succeeds, with a home of its own. */
interface Prepared {
  argv: string[]
  options: CliOptions
}

/** How a command prints its records. */
export interface Scenario {
  shape: 'object' | 'array'
  /** The fields of its JSON, in their order. */
  json: string
  /** Fields that --fields accepts and that have no value here. */
  more?: string
  /** Starts a new server each time, so that earlier requests have no effect. */
  prepare(): Promise<Prepared>
}

const SENDER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const METADATA = { title: 'Dawn', description: '', file_fields: [] }
const TOLD = 'nft_gdn_id token_id contract_address receiver_wallet_address status request_metadata metadata_url'
const NFT =
  'nft_gdn_id token_id status contract_address receiver_wallet_address metadata_url request_metadata blockchain accepted_date'
const COLLECTION = 'transaction_gdn_id contract_address name blockchain wallet_address status'
const SUMMARY =
  'run run_id blockchain contract_address total pending accepted deployed failed unknown requests attempts reconciled'
const RUN =
  'run run_id state running total pending accepted deployed failed unknown blockchain contract_address server backend_id manifest drop started_at'
const MOVED = 'file database tables rows nfts seconds'
const DATABASE = 'database kind applied pending accounts collections nfts processes'
const KEY = 'id name email prefix permissions api_version status created_at expires_at revoked_at'
const TX =
  'id blockchain kind state signer nonce hash nfts collection_id block_number gas_used requested_action created_at explorer_url'
const WEBHOOK = 'id url events email status waiting delivered failed failing_since created_at'
const DELIVERY = 'event_id type state attempts response_status error response attempted_at next_attempt_at created_at'
const MINTED = {
  ...{ kind: 'mint', status: 'deployed', transaction_gdn_id: null, accepted_date: DATE, block_date: DATE },
  ...{ block_number: 7, transaction_hash: '0xab', from: null, to: OWNER, revision: null, changes: null },
  ...{ changes_left_out: 0, error: null },
}
const TRANSACTION = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'
const BACKEND = 'running url data_dir pid'

/** A fake API whose handlers don't all have to be used. */
export async function api(handlers: Record<string, (body: never) => Reply>) {
  const missing = (): Reply => ({ status: 404, body: { error: { title: 'Not Found', message: 'not here' } } })
  return await fakeApi({
    '*': (_body, { path }) => {
      const handler = handlers[path.replace('/api/v1/', '')]
      return handler === undefined ? missing() : handler(_body)
    },
  })
}

const accepted = (requests: object): Reply => ({
  body: {
    requests,
    request: requests,
    response: { transaction_gdn_id: 'tx', accepted_date: DATE },
  },
})

const CHANGED =
  'nft_gdn_id token_id title contract_address blockchain receiver_wallet_address status transaction_gdn_id accepted_date transaction_hash error'

/** A server with a dynamic NFT that is changed at once. */
async function onDynamicNft(endpoint: string, ...argv: string[]): Promise<Prepared> {
  const final = { transaction_gdn_id: 'tx', status: 'deployed', transaction_hash: null, error: null }
  return await asking(
    {
      getnfts: () => ({
        body: { requests: { nft_gdn_ids: ['a'] }, nfts: [nft('a', { revision: 0, is_dynamic: true })] },
      }),
      gettransactions: () => ({ body: { requests: { transaction_gdn_ids: ['tx'] }, transactions: [final] } }),
      [endpoint]: accepted,
    },
    ...['nft', ...argv, '-b', 'polygon'],
  )
}

/** The royalty of a collection on a node, set by the keystore of its owner. */
async function onOwnCollection(): Promise<Prepared> {
  const { path, options } = await folder()
  const key = generatePrivateKey()
  await writeKeystore(path('owner.json'), key)
  await writePassword(path('password'))
  const url = await rpcStandIn(collectionNode(privateKeyToAccount(key).address))
  const wallet = ['--wallet', path('owner.json'), '--password-file', path('password'), '--yes']
  const argv = ['collection', 'set', CONTRACT, '-b', 'polygon', '--rpc-url', url, '--royalty', '5%', ...wallet]
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
    eth_getTransactionCount: '0x0',
    eth_sendRawTransaction: word('1'),
    eth_getTransactionReceipt: { ...block, gasUsed: '0xc350', effectiveGasPrice: '0x1', status: '0x1' },
    eth_call: ([{ data }]: [{ data: `0x${string}` }]) => results.get(slice(data, 0, 4)) ?? word(''),
  }
}

const collections = (): Reply => ({
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
      },
    ],
  },
})

const known = ({ nft_gdn_ids }: { nft_gdn_ids: string[] }): Reply => ({
  body: { requests: { nft_gdn_ids }, nfts: nft_gdn_ids.map((id) => nft(id)) },
})

/** A command that sends requests to a server. */
export async function asking(handlers: Record<string, unknown>, ...argv: string[]): Promise<Prepared> {
  const { options } = await folder({})
  const { url } = await api(handlers as Record<string, (body: never) => Reply>)
  return { argv: [...argv, '--base-url', url], options }
}

/** A command about a run that was started by minting. */
async function onRun(handlers: Record<string, unknown>, mintFlags: string[], ...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({ 'drop.csv': CSV })
  const { url } = await api(handlers as Record<string, (body: never) => Reply>)
  const at = ['--base-url', url]
  const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '--rate', '1000', '-q', '-o', 'ids', ...mintFlags]
  await cli(mint, options)
  return { argv: [...argv, ...at], options }
}

/** A service that rejects the first request. */
function refusing() {
  const { createnft, getnfts } = service()
  let isFirst = true
  const refused = { status: 400, body: { error: { title: 'Bad Request', message: 'not yet' } } }
  return {
    createnft(body: never) {
      const was = isFirst
      isFirst = false
      return was ? refused : createnft(body)
    },
    getnfts,
  }
}

async function withHome(...argv: string[]): Promise<Prepared> {
  const { options } = await folder({})
  return { argv, options }
}

/** A command about the API keys of a data directory with one key. */
async function onKeys(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  await mkdir(path('data'))
  await (await openStore(join(path('data'), 'gdn.db'))).close()
  const at = ['--data-dir', path('data')]
  const made = await cli(
    ['key', 'create', '--name', 'a', '--email', 'a@example.com', '--permission', 'all', '-o', 'ids', ...at],
    options,
  )
  return { argv: [...argv.map((word) => (word === 'ID' ? made.stdout.trim() : word)), ...at], options }
}

/** An import of an exported database into a new data directory. */
async function onExport(): Promise<Prepared> {
  const { argv, options } = await onKeys('db', 'export', 'all.jsonl')
  await cli(argv, options)
  return { argv: ['db', 'import', 'all.jsonl', '--data-dir', `${argv.at(-1)}-new`], options }
}

/** A command about a network with an RPC URL. */
async function onNetwork(setUp: boolean, ...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  const dataDir = path('data')
  await mkdir(dataDir, { mode: 0o700 })
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
  if (setUp) {
    const store = await openStore(join(dataDir, 'gdn.db'))
    const chain = { blockchain: 'polygon', network: 'remote', chain_id: 137, genesis_timestamp: 0 } as const
    await rememberChain(store.db, { ...chain, factory_address: CONTRACT, created_at: 0 })
    await store.close()
  }
  const words = argv.map((word) => (word === 'ADMIN' ? path('admin.json') : word))
  const named = words.map((word) => (word === 'PASSWORD' ? join(dataDir, 'password') : word))
  return { argv: [...named, '--data-dir', dataDir], options }
}

/** A command about a pending transaction. */
async function onTransaction(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  await mkdir(path('data'))
  const store = await openStore(join(path('data'), 'gdn.db'))
  const chain = { blockchain: 'polygon', network: 'remote', chain_id: 137, genesis_timestamp: 0 } as const
  await rememberChain(store.db, { ...chain, factory_address: CONTRACT, created_at: 0 })
  await insertTransaction(store.db, {
    ...{ id: TRANSACTION, blockchain: 'polygon', signer: OWNER, nonce: 7, kind: 'transfer', collection_id: null },
    ...{ start_id: null, token_count: 0, directory: null, raw: '0x', hash: `0x${'1'.repeat(64)}`, state: 'signed' },
    ...{ block_number: null, block_hash: null, gas_used: null, created_at: 0, next_attempt_at: 0 },
  })
  await store.close()
  return { argv: [...argv, '--data-dir', path('data')], options }
}

/** A database with a collection whose tokens on chain come from none of its transactions. */
async function onUnknownMint(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  await mkdir(path('data'))
  const store = await openStore(join(path('data'), 'gdn.db'))
  await store.db.insertInto('accounts').values({ id: 'a', email: null, created_at: 0 }).execute()
  await insertRequest(store.db, {
    ...{ id: 'r', account_id: 'a', endpoint: 'createcollection', idempotency_key: null, body_hash: '' },
    ...{ response: '', accepted_at: 0 },
  })
  await insertCollection(store.db, {
    ...{ id: 'c', account_id: 'a', request_id: 'r', blockchain: 'polygon', name: 'Tide', symbol: 'T' },
    ...{ wallet_address: OWNER, contract_address: CONTRACT, factory_address: CONTRACT, description: null, image: null },
    ...{ enable_api: 1, enable_transfer: 0, is_locked: 0, status: 'deployed', next_token_id: '4', next_attempt_at: 0 },
  })
  const [hash, blockchain, reason] = [`0x${'1'.repeat(64)}`, 'polygon', 'no pending NFTs match']
  await addUnknownMints(store.db, [
    { collection_id: 'c', hash, blockchain, block_number: 7, start_id: '1', token_count: 3 },
  ])
  await updateUnknownMint(store.db, { collection_id: 'c', hash }, { state: 'unexplained', signer: OWNER, reason })
  await store.close()
  return { argv: [...argv, '--data-dir', path('data')], options }
}

/** A database with a webhook and one event. The words ID and EVENT become their IDs. */
async function onWebhook(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  await mkdir(path('data'))
  const store = await openStore(join(path('data'), 'gdn.db'))
  onTestFinished(() => store.close())
  const request = { url: 'https://example.com/hook', events: ['*'], email: 'a@example.com', now: Date.now() }
  const { id } = (await addWebhook(store, request)).webhook
  const event = await testWebhook(store, id)
  // Stands in for a backend, which would send the deliveries.
  const sending = setInterval(() => void deliverAll(store, id).catch(() => {}), 50)
  onTestFinished(() => clearInterval(sending))
  const words = argv.map((word) => ({ ID: id, EVENT: event })[word] ?? word)
  return { argv: [...words, '--data-dir', path('data')], options }
}

async function deliverAll({ db }: Store, id: string): Promise<void> {
  for (const delivery of await listDue(db, id, Date.now(), 10)) {
    await recordAttempt(db, delivery, {
      state: 'delivered',
      attempts: 1,
      response_status: 200,
      attempted_at: Date.now(),
    })
  }
}

/** A home where this process is recorded as the local backend. */
async function withBackend(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  const dataDir = path('.local/share/gdn/local')
  await mkdir(dataDir, { recursive: true })
  await writeRunning(dataDir, 'http://127.0.0.1:4680')
  return { argv, options }
}

async function withOldBackend(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  const dataDir = path('.local/share/gdn/local')
  await mkdir(dataDir, { recursive: true })
  await writeFile(join(dataDir, 'api-key'), 'x', { mode: 0o600 })
  return { argv, options }
}

/** A home with a saved API key. */
async function withKey(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  await writeFile(path('key.txt'), 'sesame-open\n', { mode: 0o600 })
  const at = ['--base-url', 'http://127.0.0.1:9']
  await cli(['auth', 'login', '--key-file', path('key.txt'), '--no-check', '-q', ...at], options)
  const { GDN_API_KEY: _key, ...env } = options.env
  return {
    argv: argv.map((word) => (word === 'KEY' ? path('key.txt') : word)).concat(at),
    options: { ...options, env },
  }
}

/** A service that generates wallets, and a home with a password file. */
async function onWallets(...argv: string[]): Promise<Prepared> {
  const { path, options } = await folder({})
  const { url } = await walletService()
  await writeFile(path('pw'), 'correct horse\n', { mode: 0o600 })
  await cli(['wallet', 'add', 'bob', OWNER, '-q'], options)
  await writeKeystore(path('key'), generatePrivateKey())
  const at = argv[1] === 'generate' || argv[1] === 'import' ? ['--password-file', path('pw')] : []
  const from = argv[1] === 'generate' || argv[1] === 'url' ? ['--base-url', url, '--email', 'me@example.com'] : []
  return { argv: [...argv, ...at, ...from], options }
}

const TO = ['--receiver', OWNER]
export const MINT = ['nft', 'mint', '--title', 'Dawn', ...TARGET, ...TO]

/** Every command that prints records, by its name. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'collection create': {
    shape: 'object',
    json: 'name blockchain wallet_address transaction_gdn_id accepted_date status contract_address',
    more: 'error',
    prepare: () =>
      asking(
        { createcollection: accepted, getcollections: collections },
        ...['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', OWNER],
      ),
  },
  'collection show': {
    shape: 'object',
    json: COLLECTION,
    more: 'enable_api',
    prepare: () => asking({ getcollections: collections }, 'collection', 'show', 'tx'),
  },
  'collection set': {
    shape: 'array',
    json: 'setting before after status transaction_hash gas_used fee_wei',
    prepare: onOwnCollection,
  },
  'collection list': {
    shape: 'array',
    json: COLLECTION,
    async prepare() {
      const { argv, options } = await asking({ createcollection: accepted, getcollections: collections })
      const create = ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', OWNER, '-q', '-o', 'ids']
      await cli([...create, ...argv], options)
      return { argv: ['collection', 'list', ...argv], options }
    },
  },
  'nft mint': { shape: 'object', json: NFT, more: 'error', prepare: () => asking(service(), ...MINT) },
  'nft grant': {
    shape: 'object',
    json: `${NFT} sender_wallet_address`,
    prepare: () =>
      asking(
        {
          createnfttrans: ({ metadata, ...requests }: { metadata: object[] }) => ({
            body: {
              message: 'ok',
              requests: { ...requests, metadata },
              nfts: [{ nft_gdn_ids: 'a', accepted_date: DATE }],
            },
          }),
          getnfts: () => ({
            body: { requests: { nft_gdn_ids: ['a'] }, nfts: [nft('a', { request_metadata: METADATA })] },
          }),
        },
        ...['nft', 'grant', '--title', 'Dawn', ...TARGET, ...TO, '--sender', SENDER],
      ),
  },
  'nft update': {
    shape: 'object',
    json: CHANGED,
    more: 'gas_used',
    prepare: () => onDynamicNft('updatednft', 'update', 'a', '--title', 'Dusk'),
  },
  'nft freeze': {
    shape: 'array',
    json: CHANGED,
    more: 'gas_used',
    prepare: () => onDynamicNft('freezenft', 'freeze', 'a', '--yes'),
  },
  'nft history': {
    shape: 'array',
    json: 'kind status transaction_gdn_id accepted_date block_date block_number transaction_hash from to revision changes changes_left_out error',
    more: 'explorer_url',
    prepare: () =>
      asking(
        {
          getnfts: (body: { nft_gdn_ids: string[] }) => ({
            ...known(body),
            headers: { 'nft-history-supported': 'yes' },
          }),
          getnfthistory: ({ nft_gdn_id }: { nft_gdn_id: string }) => ({
            body: { requests: { nft_gdn_id }, events: [MINTED], next_offset: null },
          }),
        },
        ...['nft', 'history', 'a'],
      ),
  },
  'nft burn': {
    shape: 'array',
    json: CHANGED,
    more: 'gas_used',
    prepare: () => onDynamicNft('burnnft', 'burn', 'a', '--yes'),
  },
  'nft transfer': {
    shape: 'object',
    json: 'nft_gdn_id token_id status contract_address blockchain sender_wallet_address receiver_wallet_address transaction_gdn_id accepted_date',
    more: 'gas_used',
    async prepare() {
      let isSent = false
      return await asking(
        {
          transfernft(requests: object) {
            isSent = true
            return accepted(requests)
          },
          getnfts: () => ({
            body: {
              requests: { nft_gdn_ids: ['a'] },
              nfts: [nft('a', { receiver_wallet_address: isSent ? SENDER : OWNER })],
            },
          }),
        },
        ...['nft', 'transfer', 'a', '-b', 'polygon', '--receiver', SENDER],
      )
    },
  },
  'nft list': {
    shape: 'array',
    json: `${TOLD} blockchain`,
    prepare: () =>
      asking(
        {
          getnftgdnids: () => ({
            body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ['a', 'b'] },
          }),
          getnfts: known,
        },
        ...['nft', 'list', ...TARGET],
      ),
  },
  'nft show': {
    shape: 'object',
    json: TOLD,
    more: 'blockchain accepted_date error',
    prepare: () => asking({ getnfts: known }, 'nft', 'show', 'a'),
  },
  'nft wait': {
    shape: 'array',
    json: TOLD,
    prepare: () => asking({ getnfts: known }, 'nft', 'wait', 'a', 'b'),
  },
  'nft verify': {
    shape: 'object',
    json: 'nft_gdn_id isgdnnft token_id status contract_address receiver_wallet_address blockchain',
    prepare: () =>
      asking(
        {
          getnfts: known,
          getisgdnnft: (request: object) => ({
            body: { requests: { ...request, nft_gdn_id: 'a' }, response: { isgdnnft: true, nft: nft('a') } },
          }),
        },
        ...['nft', 'verify', 'a', '-b', 'polygon'],
      ),
  },
  cost: {
    shape: 'object',
    json: 'blockchain rows receivers deploys_collection transactions gas_estimate gas_price_wei cost_low_wei cost_estimate_wei cost_high_wei data_fee_wei currency coin_price cost_estimate simulated funding_wei',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': CSV })
      const node = await rpcStandIn({ eth_chainId: '0x89', eth_getBlockByNumber: {}, eth_gasPrice: '0x1' })
      return { argv: ['cost', path('drop.csv'), ...TARGET, '--rpc-url', node], options }
    },
  },
  'batch validate': {
    shape: 'object',
    json: 'valid rows issue_count receivers files blockchain contract_address mapped_columns',
    more: 'checked_files',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': CSV })
      return { argv: ['batch', 'validate', path('drop.csv'), ...TARGET], options }
    },
  },
  'batch preview': {
    shape: 'object',
    json: 'file rows errors receivers blockchain contract_address mapped_columns run minted',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': CSV })
      return { argv: ['batch', 'preview', path('drop.csv'), ...TARGET, '--force'], options }
    },
  },
  'batch mint': {
    shape: 'object',
    json: SUMMARY,
    more: 'verified',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': CSV })
      const { url } = await api(service() as never)
      return { argv: ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--rate', '1000'], options }
    },
  },
  'batch rehearse': {
    shape: 'object',
    json: 'blockchain contract_address block rows minted failed waiting transactions gas gas_price_wei cost_wei currency seconds signers failures',
    async prepare() {
      const { dataDir, contract } = await rehearsedPlace()
      const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,Water,${OWNER}\n` })
      const target = ['-c', contract, '-b', 'polygon', '--data-dir', dataDir]
      return { argv: ['batch', 'rehearse', path('drop.csv'), ...target], options }
    },
  },
  'batch list': { shape: 'array', json: RUN, prepare: () => onRun(service(), [], 'batch', 'list') },
  'batch status': { shape: 'object', json: RUN, prepare: () => onRun(service(), [], 'batch', 'status', 'drop') },
  'batch resume': {
    shape: 'object',
    json: SUMMARY,
    prepare: () => onRun(service(), ['--no-wait'], 'batch', 'resume', 'drop', '--rate', '1000'),
  },
  'batch retry': {
    shape: 'object',
    json: SUMMARY,
    prepare: () => onRun(refusing(), [], 'batch', 'retry', 'drop', '--rate', '1000'),
  },
  'batch reconcile': {
    shape: 'object',
    json: SUMMARY,
    prepare: () => onRun(service(), ['--no-wait'], 'batch', 'reconcile', 'drop', '--rate', '1000'),
  },
  'batch results': {
    shape: 'array',
    json: 'key line title status nft_gdn_id token_id contract_address receiver_wallet_address metadata_url error',
    prepare: () => onRun(service(), [], 'batch', 'results', 'drop'),
  },
  'batch report': {
    shape: 'object',
    json: 'file run run_id rows errors deployed accepted pending failed unknown changed pictures gas_used',
    prepare: () => onRun(service(), [], 'batch', 'report', 'drop', '--force'),
  },
  'batch rm': {
    shape: 'array',
    json: 'run run_id removed',
    prepare: () => onRun(service(), [], 'batch', 'rm', 'drop', '--yes'),
  },
  'wallet generate': {
    shape: 'object',
    json: 'address name file',
    prepare: () => onWallets('wallet', 'generate'),
  },
  'wallet import': {
    shape: 'object',
    json: 'address name file status',
    prepare: () => onWallets('wallet', 'import', 'key'),
  },
  'wallet url': { shape: 'object', json: 'url expires_at', prepare: () => onWallets('wallet', 'url') },
  'wallet list': {
    shape: 'array',
    json: 'name address kind created_at file',
    more: 'error',
    prepare: () => onWallets('wallet', 'list'),
  },
  'wallet add': {
    shape: 'object',
    json: 'name address',
    prepare: () => onWallets('wallet', 'add', 'carol', SENDER),
  },
  'wallet rm': { shape: 'object', json: 'name address', prepare: () => onWallets('wallet', 'rm', 'bob') },
  'local start': { shape: 'object', json: BACKEND, prepare: () => withBackend('local', 'start') },
  'local stop': { shape: 'object', json: BACKEND, prepare: () => withHome('local', 'stop') },
  'local status': { shape: 'object', json: BACKEND, prepare: () => withBackend('local', 'status') },
  'local reset': {
    shape: 'object',
    json: 'data_dir deleted',
    prepare: () => withOldBackend('local', 'reset', '--yes'),
  },
  'key create': {
    shape: 'object',
    json: `${KEY} api_key`,
    prepare: () => onKeys('key', 'create', '--name', 'b', '--email', 'b@example.com', '--permission', 'all'),
  },
  'key list': { shape: 'array', json: KEY, prepare: () => onKeys('key', 'list') },
  'db export': { shape: 'object', json: MOVED, prepare: () => onKeys('db', 'export', 'all.jsonl') },
  'db import': { shape: 'object', json: MOVED, prepare: onExport },
  'db migrate': {
    shape: 'object',
    json: DATABASE,
    prepare: () => onKeys('db', 'migrate'),
  },
  'db status': { shape: 'object', json: DATABASE, prepare: () => onKeys('db', 'status') },
  'key revoke': { shape: 'object', json: KEY, prepare: () => onKeys('key', 'revoke', 'ID') },
  apply: {
    shape: 'object',
    json: 'run blockchain contract_address rows minted updated transferred burned pending failed unknown',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': CSV })
      const { url } = await api(service() as Record<string, (body: never) => Reply>)
      const argv = ['apply', path('drop.csv'), ...TARGET, '--base-url', url, '--yes']
      return { argv, options }
    },
  },
  reveal: {
    shape: 'object',
    json: 'run blockchain contract_address provenance rows revealed to_reveal pending failed unknown not_minted left left_rows',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,x,${OWNER}` })
      const rpc = (body: never): Reply => {
        const answer = ({ id, method }: { id: number; method: string }) => ({
          ...{ jsonrpc: '2.0', id },
          result: method === 'eth_chainId' ? '0x89' : `0x${'1'.padStart(64, '0')}`,
        })
        return { body: Array.isArray(body) ? (body as never[]).map(answer) : answer(body) }
      }
      const { url } = await api({ ...(service() as Record<string, (body: never) => Reply>), '/rpc/polygon': rpc })
      return { argv: ['reveal', path('drop.csv'), ...TARGET, '--base-url', url, '--yes'], options }
    },
  },
  plan: {
    shape: 'array',
    json: 'action want line key title nft_gdn_id token_id revision changes reason reference_id',
    async prepare() {
      const { path, options } = await folder({ 'drop.csv': CSV })
      const { url } = await api(service() as Record<string, (body: never) => Reply>)
      return { argv: ['plan', path('drop.csv'), ...TARGET, '--base-url', url], options }
    },
  },
  'chain list': {
    shape: 'array',
    json: 'blockchain chain_id currency testnet network retired_since successor fee_model nodes genesis_hash confirmations finality commitment operators block_explorer_url',
    prepare: () => onNetwork(false, 'chain', 'list'),
  },
  'chain setup': {
    shape: 'object',
    json: 'blockchain chain_id status factory admin operators to_appoint gas cost balance needed_per_operator',
    prepare: () =>
      onNetwork(
        false,
        ...['chain', 'setup', 'polygon', '--dry-run'],
        ...['--admin-keystore', 'ADMIN', '--password-file', 'PASSWORD'],
      ),
  },
  'chain status': {
    shape: 'array',
    json: 'blockchain chain_id block max_fee_gwei factory signer balance needed appointed waiting problem',
    prepare: () => onNetwork(true, 'chain', 'status', 'polygon'),
  },
  'chain verify': {
    shape: 'array',
    json: 'blockchain chain_id contract address service status match url message identifier compiler constructor_arguments',
    prepare: () => onNetwork(true, 'chain', 'verify', 'polygon', '--to', 'input.json'),
  },
  'tx list': { shape: 'array', json: TX, prepare: () => onTransaction('tx', 'list') },
  'tx show': { shape: 'object', json: `${TX} attempts`, prepare: () => onTransaction('tx', 'show', TRANSACTION) },
  'tx bump': { shape: 'object', json: TX, prepare: () => onTransaction('tx', 'bump', TRANSACTION) },
  'tx cancel': { shape: 'object', json: TX, prepare: () => onTransaction('tx', 'cancel', TRANSACTION, '--yes') },
  'tx unknown': {
    shape: 'array',
    json: 'collection_id contract_address blockchain state first_token_id last_token_id tokens hash signer metadata_url reason block_number found_at explorer_url',
    prepare: () => onUnknownMint('tx', 'unknown'),
  },
  'tx release': {
    shape: 'object',
    json: 'collection_id contract_address blockchain tokens pending failed',
    prepare: () => onUnknownMint('tx', 'release', CONTRACT, '--yes'),
  },
  'webhook add': {
    shape: 'object',
    json: `${WEBHOOK} signing_secret`,
    prepare: () => onWebhook('webhook', 'add', 'https://example.com/b', '--event', '*', '--email', 'a@example.com'),
  },
  'webhook list': { shape: 'array', json: WEBHOOK, prepare: () => onWebhook('webhook', 'list') },
  'webhook show': { shape: 'object', json: WEBHOOK, prepare: () => onWebhook('webhook', 'show', 'ID') },
  'webhook update': {
    shape: 'object',
    json: WEBHOOK,
    prepare: () => onWebhook('webhook', 'update', 'ID', '--event', 'nft.failed'),
  },
  'webhook rm': { shape: 'object', json: WEBHOOK, prepare: () => onWebhook('webhook', 'rm', 'ID') },
  'webhook test': { shape: 'object', json: DELIVERY, prepare: () => onWebhook('webhook', 'test', 'ID') },
  'webhook deliveries': { shape: 'array', json: DELIVERY, prepare: () => onWebhook('webhook', 'deliveries', 'ID') },
  'webhook replay': {
    shape: 'object',
    json: `${WEBHOOK} replayed`,
    prepare: () => onWebhook('webhook', 'replay', 'ID', '--id', 'EVENT'),
  },
  'auth login': {
    shape: 'object',
    json: 'server kept_in key works',
    prepare: () => withKey('auth', 'login', '--key-file', 'KEY', '--no-check'),
  },
  'auth status': {
    shape: 'array',
    json: 'server in_use profiles kept_in place key works problem',
    prepare: () => withKey('auth', 'status'),
  },
  'auth logout': { shape: 'array', json: 'server kept_in', prepare: () => withKey('auth', 'logout') },
  init: {
    shape: 'object',
    json: 'profile base_url key blockchain wallet checked',
    prepare: () => withKey('init', '--hosted', '--key-file', 'KEY', '--no-check', '--yes', '-b', 'polygon'),
  },
  doctor: {
    shape: 'array',
    json: 'check status message fix',
    prepare: () => withHome('doctor'),
  },
  'config get': {
    shape: 'object',
    json: 'name value from',
    prepare: () => withHome('config', 'get', 'base_url', '--base-url', 'http://127.0.0.1:9'),
  },
  'config set': {
    shape: 'object',
    json: 'name value profile',
    prepare: () => withHome('config', 'set', 'contract', CONTRACT),
  },
  'config unset': { shape: 'object', json: 'name profile', prepare: () => withHome('config', 'unset', 'contract') },
  'config list': { shape: 'array', json: 'name value from', prepare: () => withHome('config', 'list') },
  'config path': {
    shape: 'object',
    json: 'config credentials project state local_data wallets',
    prepare: () => withHome('config', 'path'),
  },
  schema: { shape: 'array', json: 'name summary', prepare: () => withHome('schema') },
}

/** Commands that print no records, each with what it prints instead. */
export const NO_RECORDS: Readonly<Record<string, string>> = {
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
