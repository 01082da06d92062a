import type { CommandModule, GdnCommand } from './command.ts'
import type { Deps } from './deps.ts'

/**
 * A command as this table declares it. Routing, suggestions and most help need no more, so the file of a command is
 * loaded only when it runs.
 */
export interface Verb {
  readonly name: string
  /** The name as it is typed, with the noun: `nft mint`. */
  readonly command: string
  readonly summary: string
  readonly load: () => Promise<CommandModule>
}

export interface Noun {
  readonly name: string
  readonly summary: string
  readonly verbs: readonly Verb[]
}

export interface Group {
  readonly title: string
  readonly entries: readonly (Noun | Verb)[]
}

const verb = (name: string, summary: string, load: Verb['load']): Verb => ({ name, command: name, summary, load })

const noun = (name: string, summary: string, verbs: readonly Verb[]): Noun => ({
  name,
  summary,
  verbs: verbs.map((of) => ({ ...of, command: `${name} ${of.name}` })),
})

const collection = noun('collection', 'Create collections and look them up', [
  verb('create', 'Create a collection and wait until it is deployed', () => import('./commands/collection/create.ts')),
  verb(
    'show',
    'Show collections by the id of their creation, or by address',
    () => import('./commands/collection/show.ts'),
  ),
  verb('list', 'List the collections made from this machine', () => import('./commands/collection/list.ts')),
])

const nft = noun('nft', 'Mint NFTs, transfer them, list them, show them', [
  verb('mint', 'Mint NFTs and wait until they are deployed', () => import('./commands/nft/mint.ts')),
  verb('grant', 'Mint NFTs to a first owner and transfer them in one step', () => import('./commands/nft/grant.ts')),
  verb('transfer', 'Transfer an NFT and wait until its owner changed', () => import('./commands/nft/transfer.ts')),
  verb('list', 'List the NFTs of a collection', () => import('./commands/nft/list.ts')),
  verb('show', 'Show NFTs by their ids', () => import('./commands/nft/show.ts')),
  verb('wait', 'Wait until NFTs are deployed', () => import('./commands/nft/wait.ts')),
  verb(
    'verify',
    'Check that the service made an NFT, and what chain and storage say of it',
    () => import('./commands/nft/verify.ts'),
  ),
])

const batch = noun('batch', 'Drops from a manifest: CSV, JSON or JSONL', [
  verb('template', 'Print a manifest to begin with', () => import('./commands/batch/template.ts')),
  verb('validate', 'Check a manifest; nothing is sent', () => import('./commands/batch/validate.ts')),
  verb(
    'preview',
    'Write a page with every picture of a manifest, to look at before it is sent',
    () => import('./commands/batch/preview.ts'),
  ),
  verb(
    'mint',
    'Mint every row of a manifest; the same command again resumes',
    () => import('./commands/batch/mint.ts'),
  ),
  verb('list', 'List the runs of this machine', () => import('./commands/batch/list.ts')),
  verb('status', 'Rows of a run by state', () => import('./commands/batch/status.ts')),
  verb('resume', 'Go on with a run that was stopped', () => import('./commands/batch/resume.ts')),
  verb('retry', 'Send rows of a run again that failed', () => import('./commands/batch/retry.ts')),
  verb('reconcile', 'Find out what became of rows of unknown outcome', () => import('./commands/batch/reconcile.ts')),
  verb('results', 'Every row of a run with what became of it', () => import('./commands/batch/results.ts')),
  verb(
    'report',
    'Write a page of what a run minted, to hand to whoever ordered it',
    () => import('./commands/batch/report.ts'),
  ),
  verb('rm', 'Forget a run: its journal and its rows', () => import('./commands/batch/rm.ts')),
])

const wallet = noun('wallet', 'Wallets: generate them, name them, take their keys along', [
  verb(
    'generate',
    'Generate a wallet and keep its key in an encrypted file',
    () => import('./commands/wallet/generate.ts'),
  ),
  verb('url', 'Print a signed URL by which somebody else generates a wallet', () => import('./commands/wallet/url.ts')),
  verb('list', 'List the wallets and addresses that have a name here', () => import('./commands/wallet/list.ts')),
  verb('add', 'Give an address a name', () => import('./commands/wallet/add.ts')),
  verb('rm', 'Forget the name of an address', () => import('./commands/wallet/rm.ts')),
  verb(
    'export',
    'Copy a keystore, or its private key, to a file or the screen',
    () => import('./commands/wallet/export.ts'),
  ),
])

const local = noun('local', 'A backend of your own on this machine, in the background', [
  verb('start', 'Start the local backend', () => import('./commands/local/start.ts')),
  verb('stop', 'Stop the local backend', () => import('./commands/local/stop.ts')),
  verb('status', 'Say whether the local backend runs, and where', () => import('./commands/local/status.ts')),
  verb('logs', 'Show the log of the local backend', () => import('./commands/local/logs.ts')),
  verb(
    'listen',
    'Show events of the local backend as they come, and forward them',
    () => import('./commands/local/listen.ts'),
  ),
  verb('reset', 'Delete everything the local backend holds', () => import('./commands/local/reset.ts')),
  verb('exec', 'Run a command against a fresh backend, then take it down', () => import('./commands/local/exec.ts')),
])

const config = noun('config', 'Profiles and their settings', [
  verb('get', 'Print one setting', () => import('./commands/config/get.ts')),
  verb('set', 'Save a setting in a profile', () => import('./commands/config/set.ts')),
  verb('unset', 'Remove a setting from a profile', () => import('./commands/config/unset.ts')),
  verb('list', 'Settings in force, and where each comes from', () => import('./commands/config/list.ts')),
  verb('path', 'Print where configuration and state are kept', () => import('./commands/config/path.ts')),
])

const auth = noun('auth', 'API keys that you use: save, look at, forget', [
  verb('login', 'Save the API key of a server', () => import('./commands/auth/login.ts')),
  verb('status', 'Say which API keys there are, and where each is kept', () => import('./commands/auth/status.ts')),
  verb('logout', 'Forget the saved API key of a server', () => import('./commands/auth/logout.ts')),
])

const key = noun('key', 'API keys of a backend, and what each may do', [
  verb('create', 'Make an API key of a backend', () => import('./commands/key/create.ts')),
  verb('list', 'List the API keys of a backend', () => import('./commands/key/list.ts')),
  verb('revoke', 'Revoke an API key of a backend', () => import('./commands/key/revoke.ts')),
])

const chain = noun('chain', 'Networks that a backend reaches by RPC URL', [
  verb('list', 'List the networks of a backend', () => import('./commands/chain/list.ts')),
  verb('setup', 'Make a network ready: factory and signers, what it costs', () => import('./commands/chain/setup.ts')),
  verb(
    'status',
    'Ask a network: nodes, fees, factory, signers and their funds',
    () => import('./commands/chain/status.ts'),
  ),
])

const tx = noun('tx', 'Transactions that a backend has signed', [
  verb('list', 'List the transactions that a backend has signed', () => import('./commands/tx/list.ts')),
  verb('show', 'Show a transaction with all its signings', () => import('./commands/tx/show.ts')),
  verb('bump', 'Have the fees of a transaction raised now', () => import('./commands/tx/bump.ts')),
  verb('cancel', 'Give a transaction up that is not in a block yet', () => import('./commands/tx/cancel.ts')),
  verb('unknown', 'List mints on chain that a backend does not know', () => import('./commands/tx/unknown.ts')),
  verb('release', 'Let a collection mint again after unknown tokens', () => import('./commands/tx/release.ts')),
])

const db = noun('db', 'The database of a backend: SQLite or PostgreSQL', [
  verb('export', "Write all that a backend's database holds into a file", () => import('./commands/db/export.ts')),
  verb('import', 'Write what an export holds into an empty database', () => import('./commands/db/import.ts')),
  verb('migrate', "Bring a backend's database to the schema of this version", () => import('./commands/db/migrate.ts')),
  verb(
    'status',
    "Say which database a backend has, and whether it is this version's",
    () => import('./commands/db/status.ts'),
  ),
])

const worker = verb(
  'worker',
  'Do the work of a backend on PostgreSQL: files, signing, sending',
  () => import('./commands/worker.ts'),
)

const webhook = noun('webhook', 'Who a backend tells when something is deployed or has failed', [
  verb(
    'add',
    'Have a backend tell a URL when something is deployed or has failed',
    () => import('./commands/webhook/add.ts'),
  ),
  verb('list', 'List the webhooks of a backend, and how they do', () => import('./commands/webhook/list.ts')),
  verb('show', 'Show a webhook, and how it does', () => import('./commands/webhook/show.ts')),
  verb('rm', 'Remove a webhook: it is told nothing any more', () => import('./commands/webhook/rm.ts')),
  verb('test', 'Have the running backend send a test event', () => import('./commands/webhook/test.ts')),
  verb(
    'deliveries',
    'List what a webhook was told, and what it answered',
    () => import('./commands/webhook/deliveries.ts'),
  ),
  verb('replay', 'Have a webhook told events again', () => import('./commands/webhook/replay.ts')),
])

const serve = verb('serve', 'Run the backend in the foreground', () => import('./commands/serve.ts'))

const init = verb('init', 'Set up a server, its key and your defaults', () => import('./commands/init.ts'))

const doctor = verb(
  'doctor',
  'Say what is wrong with the set-up, and how to mend it',
  () => import('./commands/doctor.ts'),
)

const api = verb(
  'api',
  'Ask any endpoint of the API, and print its answer as it came',
  () => import('./commands/api.ts'),
)

const open = verb(
  'open',
  "See collections, NFTs and runs in the browser: the backend's explorer",
  () => import('./commands/open.ts'),
)

const completion = verb(
  'completion',
  'Print what completes gdn at the press of Tab: for bash, zsh, fish, PowerShell',
  () => import('./commands/completion.ts'),
)

export const CATALOGUE: readonly Group[] = [
  { title: 'Minting', entries: [collection, nft, batch, wallet] },
  { title: 'Backend', entries: [local, serve, worker, open, chain, tx, key, webhook, db] },
  { title: 'Set-up', entries: [init, auth, config, doctor, completion] },
  { title: 'For programs', entries: [api] },
]

export const ENTRIES: readonly (Noun | Verb)[] = CATALOGUE.flatMap((group) => group.entries)

export function isNoun(entry: Noun | Verb): entry is Noun {
  return 'verbs' in entry
}

/** Every command, in the order of the help. */
export const COMMANDS: readonly Verb[] = ENTRIES.flatMap((entry) => (isNoun(entry) ? entry.verbs : [entry]))

/** Builds a command under its name and summary of this table; nothing of it runs. */
export async function makeCommand({ command: name, summary, load }: Verb, deps: Deps): Promise<GdnCommand> {
  const { command } = await load()
  return command(deps).name(name).summary(summary)
}
