import { stateDirectory } from '../../../src/config/paths.ts'
import { openState } from '../../../src/state/open-state.ts'
import { service, TARGET } from '../batch/drop.ts'
import { CONTRACT, knows, nft, type Reply } from '../fake-api.ts'
import { cli } from '../harness.ts'
import {
  accepted,
  CREATE_COLLECTION,
  getcollections,
  gettransactions,
  type Handlers,
  MINT as MINT_NFT,
  type Prepared,
  SCENARIOS,
  type Scenario,
  SENDER,
  SPENT_FIELDS,
  withManifest,
  withServer,
  withStoppedBackend,
} from './scenarios.ts'

/** A command in one state of what it works on. It prints the records of its scenario, unless this says otherwise. */
export interface State extends Partial<Pick<Scenario, 'shape' | 'fields'>> {
  state: string
  command: string
  code: number
  /** Fields in addition to those of the scenario. */
  more?: readonly string[]
  prepare(): Promise<Prepared>
}

type Answer = 'mint' | 'refuse' | 'unauthorized' | 'lose'

const REPLIES: Readonly<Record<Exclude<Answer, 'mint'>, Reply>> = {
  refuse: { status: 400, body: { error: { title: 'Bad Request', message: 'this one is not liked' } } },
  unauthorized: { status: 401, body: { error: { title: 'Unauthorized', message: 'the key is unknown' } } },
  lose: { status: 500, body: {} },
}

/** A server whose answer to each row follows from the title of the row. */
function rowServer(answers: Readonly<Record<'Dawn' | 'Dusk', Answer>>) {
  const { createnft, getnfts } = service()
  const ids: string[] = []
  const gdn = (body: Parameters<typeof createnft>[0]): Reply => {
    const answer = answers[body.metadata[0]?.title as 'Dawn' | 'Dusk']
    if (answer !== 'mint') return REPLIES[answer]
    const reply = createnft(body)
    const { nfts } = reply.body as { nfts: { nft_gdn_ids: string }[] }
    ids.push(...nfts.map(({ nft_gdn_ids }) => nft_gdn_ids))
    return reply
  }
  const requests = { contract_address: CONTRACT, blockchain: 'polygon' }
  return { createnft: gdn, getnfts, getnftgdnids: (): Reply => ({ body: { requests, nft_gdn_ids: ids } }) }
}

const MINT = ['batch', 'mint']
const PACE = ['--rate', '1000', '--timeout', '60s']

/** The states of a run: how the server answered its rows, and the exit codes of commands on it. */
const RUNS = [
  { state: 'not started', dawn: 'unauthorized', dusk: 'unauthorized', code: 4 },
  { state: 'partly sent', dawn: 'mint', dusk: 'unauthorized', code: 4 },
  { state: 'finished', dawn: 'mint', dusk: 'mint', code: 0 },
  { state: 'failed rows', dawn: 'mint', dusk: 'refuse', code: 7 },
  { state: 'unknown outcome', dawn: 'mint', dusk: 'lose', code: 9 },
] as const

type RunState = (typeof RUNS)[number]

/** The first `batch mint` of a manifest. */
async function firstMint({ dawn, dusk }: RunState): Promise<Prepared> {
  return await withManifest(rowServer({ Dawn: dawn, Dusk: dusk }), MINT, '--chunk-size', '1', ...PACE)
}

/** A command on a run in this state. */
async function onRun(run: RunState, argvOf: (mint: readonly string[]) => string[]): Promise<Prepared> {
  const mint = await firstMint(run)
  await cli([...mint.argv, '-q', '-o', 'ids'], mint.options)
  return { argv: argvOf(mint.argv), options: mint.options }
}

const DRY_RUN = [
  ...['run', 'blockchain', 'contract_address', 'rows', 'to_send', 'requests', 'receivers', 'bytes', 'files'],
  ...[
    'reordered',
    'order',
    'seconds',
    'requests_per_second',
    'changes',
    'mapped_columns',
    'warnings',
    'notes',
    'first_request',
  ],
  ...[
    'transactions',
    'transactions_high',
    'gas_estimate',
    'gas_price_wei',
    'cost_low_wei',
    'cost_estimate_wei',
    'cost_high_wei',
  ],
  ...['data_fee_wei', 'currency', 'coin_price', 'cost_estimate', 'simulated'],
]

const statesOfRun = (run: RunState): State[] => {
  const { state, code } = run
  const named = (command: string, more: readonly string[], ended = 0): State => ({
    ...{ state, command, code: ended },
    prepare: () => onRun(run, () => [...command.split(' '), 'drop', ...more]),
  })
  // The second request of a row may be refused as the first one was.
  const sent = run.dusk === 'mint' ? 0 : code
  const dryRun = { fields: DRY_RUN, code: run.dusk === 'refuse' ? 7 : 0 }
  return [
    { state: `new, ends ${state}`, command: 'batch mint', code, prepare: () => firstMint(run) },
    { state, command: 'batch mint', code: sent, prepare: () => onRun(run, (mint) => [...mint]) },
    {
      ...{ state: `${state}, --dry-run`, command: 'batch mint', ...dryRun },
      prepare: () => onRun(run, (mint) => [...mint, '--dry-run']),
    },
    named('batch resume', PACE, sent),
    named('batch retry', PACE, sent),
    named('batch reconcile', PACE, run.dusk === 'unauthorized' ? 8 : sent),
    named('batch status', []),
    { ...named('batch status', ['--costs']), state: `${state}, --costs`, more: SPENT_FIELDS },
    { state, command: 'batch list', code: 0, prepare: () => onRun(run, () => ['batch', 'list']) },
    named('batch results', []),
    named('batch report', ['--force']),
    { state, command: 'plan', code: 0, prepare: () => onRun(run, ([, , file = '']) => ['plan', file, ...TARGET]) },
    {
      ...{ state, command: 'apply', code: sent },
      prepare: () => onRun(run, ([, , file = '']) => ['apply', file, ...TARGET, '--yes', '--timeout', '60s']),
    },
  ]
}

const FAILED = nft('b', { status: 'failed', token_id: null, error: 'reverted' })
const NFTS = { getnfts: knows(nft('a'), FAILED) }
const shown = (state: string, code: number, ids: readonly string[], more: Partial<State> = {}): State => ({
  ...{ state, code, ...more, command: 'nft show' },
  prepare: () => withServer(NFTS, 'nft', 'show', ...ids),
})

const PENDING = { status: 'initiated', token_id: null, contract_address: null }
const ENDED = { status: 'failed', error: 'reverted' }

/** The states of one request: what the server says of it, and the exit codes of the commands that wait for it. */
const waited = (command: string, argv: readonly string[], answers: Handlers, more: Partial<State> = {}): State => ({
  ...{ state: 'pending', command, code: 8, ...more },
  prepare: () => withServer(answers, ...argv, '--timeout', '3s'),
})

const mintSeen = (more: object): Handlers => {
  const { createnft, getnfts } = service()
  const changed = ({ body: { requests, nfts } }: { body: { requests: object; nfts: object[] } }) => ({
    body: { requests, nfts: nfts.map((one) => ({ ...one, ...more })) },
  })
  return { createnft, getnfts: (body) => changed(getnfts(body) as never) }
}
const transferSeen = (more: object): Handlers => ({
  ...{ transfernft: accepted, getnfts: knows(nft('a')), gettransactions: () => gettransactions(more) },
})
const TRANSFER = ['nft', 'transfer', 'a', '-b', 'polygon', '--receiver', SENDER]

/** Fields of a transaction, from a server that returns transactions. */
const SEEN = ['transaction_hash', 'error']

const REQUESTS: readonly State[] = [
  waited('collection create', CREATE_COLLECTION, {
    ...{
      createcollection: accepted,
      getcollections: () => getcollections({ status: 'initiated', contract_address: null }),
    },
  }),
  waited(
    ...(['collection create', CREATE_COLLECTION] as const),
    { createcollection: accepted, getcollections: () => getcollections({ ...ENDED, contract_address: null }) },
    { state: 'failed', code: 5, more: ['error'] },
  ),
  waited('collection create', CREATE_COLLECTION, { createcollection: accepted }, { state: 'not reported' }),
  waited('nft mint', MINT_NFT, mintSeen(PENDING)),
  waited('nft mint', MINT_NFT, mintSeen(ENDED), { state: 'failed', code: 5, more: ['error'] }),
  waited('nft transfer', TRANSFER, transferSeen({ status: 'initiated' }), { more: SEEN }),
  waited('nft transfer', TRANSFER, transferSeen(ENDED), { state: 'failed', code: 5, more: SEEN }),
]

/** A command on a run whose server can't be reached any more. */
async function withoutServer(command: string, ...more: string[]): Promise<Prepared> {
  const [run] = RUNS.filter(({ state }) => state === 'finished')
  const { argv, options } = await onRun(run as RunState, () => [...command.split(' '), 'drop', ...more])
  const state = await openState(stateDirectory(options.env ?? {}, undefined))
  await state.write((sql) => sql.run("UPDATE drops SET url = 'http://127.0.0.1:9'"))
  state.close()
  return { argv, options: { ...options, env: { ...options.env, GDN_BASE_URL: undefined } } }
}

/** A reveal whose NFTs were revealed before. */
async function revealed(): Promise<Prepared> {
  const first = await (SCENARIOS.reveal as Scenario).prepare()
  await cli([...first.argv, '-q', '-o', 'ids'], first.options)
  return first
}

export const STATES: readonly State[] = [
  ...RUNS.flatMap(statesOfRun),
  shown('one', 0, ['a']),
  shown('one, failed', 0, ['b'], { more: ['error'] }),
  shown('many', 0, ['a', 'a'], { shape: 'array' }),
  shown('many, some unknown', 5, ['a', 'x'], { shape: 'array' }),
  ...REQUESTS,
  {
    ...{ state: 'server gone, --costs', command: 'batch status', code: 0, more: SPENT_FIELDS },
    prepare: () => withoutServer('batch status', '--costs'),
  },
  { state: 'server gone', command: 'batch results', code: 0, prepare: () => withoutServer('batch results', '--costs') },
  { state: 'server gone', command: 'batch report', code: 0, prepare: () => withoutServer('batch report', '--force') },
  { state: 'nothing left', command: 'reveal', code: 0, prepare: revealed },
  { state: 'stopped', command: 'local status', code: 0, prepare: () => withStoppedBackend('local', 'status') },
]
