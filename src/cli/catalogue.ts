import type { CommandEffect, CommandModule, GdnCommand } from './command.ts'
import type { Deps } from './deps.ts'

/**
 * A command as declared in this table. Routing, suggestions and most of the help need only this data. A command's file
 * is therefore loaded only when the command runs.
 */
export interface Verb {
  readonly name: string
  /** The full name, including the noun, such as `nft mint`. */
  readonly command: string
  readonly effect: CommandEffect
  readonly summary: string
  readonly load: () => Promise<CommandModule>
}

export interface Noun {
  readonly name: string
  readonly summary: string
  readonly verbs: readonly Verb[]
}

export interface CommandGroup {
  readonly title: string
  readonly entries: readonly (Noun | Verb)[]
}

const verb =
  (effect: CommandEffect) =>
  (name: string, summary: string, load: Verb['load']): Verb => ({ name, command: name, effect, summary, load })

const read = verb('read')
const write = verb('write')
const spend = verb('spend')

const noun = (name: string, summary: string, verbs: readonly Verb[]): Noun => ({
  name,
  summary,
  verbs: verbs.map((verb) => ({ ...verb, command: `${name} ${verb.name}` })),
})

const collection = noun('collection', 'Create, show, change and list collections', [
  spend('create', 'Create a collection and wait until it is deployed', () => import('./commands/collection/create.ts')),
  read('show', 'Show collections by ID or contract address', () => import('./commands/collection/show.ts')),
  spend('set', 'Change royalties, metadata, permissions or owner', () => import('./commands/collection/set.ts')),
  read('list', 'List the collections created on this machine', () => import('./commands/collection/list.ts')),
  read('holders', 'List the holders of any token contract', () => import('./commands/collection/holders.ts')),
  write(
    'archive',
    'Archive the metadata and files of any NFT contract',
    () => import('./commands/collection/archive.ts'),
  ),
  read('check', 'Check that the files of an NFT contract can be read', () => import('./commands/collection/check.ts')),
  write('restore', 'Restore an archive into a backend', () => import('./commands/collection/restore.ts')),
])

const nft = noun('nft', 'Mint, transfer, update, burn, list and verify NFTs', [
  spend('mint', 'Mint NFTs and wait until they are deployed', () => import('./commands/nft/mint.ts')),
  spend('grant', 'Mint NFTs to a first owner and transfer them in one step', () => import('./commands/nft/grant.ts')),
  spend('transfer', 'Transfer an NFT and wait until its owner changes', () => import('./commands/nft/transfer.ts')),
  read('list', 'List the NFTs of a collection', () => import('./commands/nft/list.ts')),
  read('show', 'Show NFTs by ID', () => import('./commands/nft/show.ts')),
  read('wait', 'Wait until NFTs are deployed', () => import('./commands/nft/wait.ts')),
  spend('update', 'Change the metadata of a dynamic NFT', () => import('./commands/nft/update.ts')),
  spend('freeze', 'Freeze the metadata of NFTs permanently', () => import('./commands/nft/freeze.ts')),
  spend('burn', 'Burn NFTs', () => import('./commands/nft/burn.ts')),
  write('refresh', 'Refresh the metadata of NFTs on OpenSea', () => import('./commands/nft/refresh.ts')),
  read('history', 'Show the history of an NFT', () => import('./commands/nft/history.ts')),
  read('verify', 'Verify that the server created an NFT, and check its data', () => import('./commands/nft/verify.ts')),
])

const batch = noun('batch', 'Mint drops from CSV, JSON or JSONL manifests', [
  read('template', 'Print a sample manifest', () => import('./commands/batch/template.ts')),
  read('validate', 'Validate a manifest without sending anything', () => import('./commands/batch/validate.ts')),
  read('rarity', 'Rank NFTs by the rarity of their traits', () => import('./commands/batch/rarity.ts')),
  write('preview', 'Write an HTML preview of a manifest', () => import('./commands/batch/preview.ts')),
  write('rehearse', 'Rehearse a drop on a copy of its network', () => import('./commands/batch/rehearse.ts')),
  spend('mint', 'Mint every row of a manifest, or resume its run', () => import('./commands/batch/mint.ts')),
  read('list', 'List the runs on this machine', () => import('./commands/batch/list.ts')),
  read('status', 'Show the rows of a run by state', () => import('./commands/batch/status.ts')),
  spend('resume', 'Resume an interrupted run', () => import('./commands/batch/resume.ts')),
  spend('retry', 'Retry the failed rows of a run', () => import('./commands/batch/retry.ts')),
  write('reconcile', 'Resolve the rows with an unknown outcome', () => import('./commands/batch/reconcile.ts')),
  read('results', 'Show the outcome of every row in a run', () => import('./commands/batch/results.ts')),
  write('report', 'Write an HTML report of the NFTs that a run minted', () => import('./commands/batch/report.ts')),
  write('rm', 'Delete a run and its rows from this machine', () => import('./commands/batch/rm.ts')),
])

const art = noun('art', 'Generate art from layers', [
  read('init', 'Print an art.yaml for a folder of layers', () => import('./commands/art/init.ts')),
  read('check', 'Check whether an art edition is possible', () => import('./commands/art/check.ts')),
  write('preview', 'Show a sample of an art edition', () => import('./commands/art/preview.ts')),
  write('generate', 'Generate the images and manifest of an edition', () => import('./commands/art/generate.ts')),
  write('import', 'Turn the output of HashLips or sugar into a manifest', () => import('./commands/art/import.ts')),
])

const cost = read('cost', 'Estimate the cost of a drop on a network', () => import('./commands/cost.ts'))

const plan = read('plan', 'Compare a manifest with the existing NFTs', () => import('./commands/plan.ts'))

const reveal = spend('reveal', 'Reveal NFTs that were minted unrevealed', () => import('./commands/reveal.ts'))

const apply = spend('apply', 'Make the changes in a plan or manifest', () => import('./commands/apply.ts'))

const wallet = noun('wallet', 'Generate, import, name and export wallets', [
  write(
    'generate',
    'Generate a wallet and store its key in an encrypted file',
    () => import('./commands/wallet/generate.ts'),
  ),
  write('import', 'Import a key into an encrypted file', () => import('./commands/wallet/import.ts')),
  write('url', 'Print a signed URL that generates a wallet', () => import('./commands/wallet/url.ts')),
  read('list', 'List named wallets and addresses', () => import('./commands/wallet/list.ts')),
  write('add', 'Save an address under a name', () => import('./commands/wallet/add.ts')),
  write('group', 'Create or show a group of saved names', () => import('./commands/wallet/group.ts')),
  write('rename', 'Rename a saved address', () => import('./commands/wallet/rename.ts')),
  write('rm', 'Delete a saved address or a group', () => import('./commands/wallet/rm.ts')),
  write('export', 'Export a keystore or its private key', () => import('./commands/wallet/export.ts')),
  write('proofs', 'Compute Merkle proofs for a list of receivers', () => import('./commands/wallet/proofs.ts')),
])

const local = noun('local', 'Run a local backend in the background', [
  write('start', 'Start the local backend', () => import('./commands/local/start.ts')),
  write('stop', 'Stop the local backend', () => import('./commands/local/stop.ts')),
  read('status', 'Show whether the local backend is running, and its URL', () => import('./commands/local/status.ts')),
  read('logs', 'Show the log of the local backend', () => import('./commands/local/logs.ts')),
  read('listen', 'Show and forward the events of the local backend', () => import('./commands/local/listen.ts')),
  write('reset', 'Delete all data of the local backend', () => import('./commands/local/reset.ts')),
  write('exec', 'Run a command against a temporary backend', () => import('./commands/local/exec.ts')),
])

const config = noun('config', 'Manage profiles and their settings', [
  read('get', 'Print one setting', () => import('./commands/config/get.ts')),
  write('set', 'Save a setting in a profile', () => import('./commands/config/set.ts')),
  write('unset', 'Remove a setting from a profile', () => import('./commands/config/unset.ts')),
  read('list', 'List the configuration in effect and its sources', () => import('./commands/config/list.ts')),
  read('path', 'Print the paths of configuration and state', () => import('./commands/config/path.ts')),
])

const auth = noun('auth', 'Save, show and delete the API keys that you use', [
  write('login', 'Save the API key of a server', () => import('./commands/auth/login.ts')),
  read('status', 'Show saved API keys and where they are stored', () => import('./commands/auth/status.ts')),
  write('logout', 'Delete the saved API key of a server', () => import('./commands/auth/logout.ts')),
])

const key = noun('key', 'Manage the API keys of a backend', [
  write('create', 'Create an API key for a backend', () => import('./commands/key/create.ts')),
  read('list', 'List the API keys of a backend', () => import('./commands/key/list.ts')),
  write('revoke', 'Revoke an API key of a backend', () => import('./commands/key/revoke.ts')),
])

const chain = noun('chain', 'Manage the public networks of a backend', [
  read('list', 'List the public networks of a backend', () => import('./commands/chain/list.ts')),
  spend('setup', 'Deploy the factory and authorize signers on a network', () => import('./commands/chain/setup.ts')),
  read('status', 'Show the nodes, fees, factory and signers of a network', () => import('./commands/chain/status.ts')),
  write('verify', 'Publish the sources of the contracts on a network', () => import('./commands/chain/verify.ts')),
])

const tx = noun('tx', 'Manage the transactions that a backend has signed', [
  read('list', 'List the transactions that a backend has signed', () => import('./commands/tx/list.ts')),
  read('show', 'Show a transaction with all its attempts', () => import('./commands/tx/show.ts')),
  spend('bump', 'Raise the fees of a pending transaction', () => import('./commands/tx/bump.ts')),
  spend('cancel', 'Cancel a pending transaction', () => import('./commands/tx/cancel.ts')),
  read('unknown', 'List on-chain mints that are unknown to a backend', () => import('./commands/tx/unknown.ts')),
  write(
    'release',
    'Accept unknown tokens so that a collection can mint again',
    () => import('./commands/tx/release.ts'),
  ),
])

const db = noun('db', 'Manage the database of a backend', [
  write('export', 'Export the database of a backend to a file', () => import('./commands/db/export.ts')),
  write('import', 'Import an export into an empty database', () => import('./commands/db/import.ts')),
  write('migrate', 'Migrate the database to the schema of this version', () => import('./commands/db/migrate.ts')),
  read('status', 'Show the database of a backend and its migrations', () => import('./commands/db/status.ts')),
])

const worker = spend('worker', 'Run a worker for a backend on PostgreSQL', () => import('./commands/worker.ts'))

const webhook = noun('webhook', 'Manage webhooks for deployment events', [
  write('add', 'Add a webhook for deployment events', () => import('./commands/webhook/add.ts')),
  read('list', 'List the webhooks of a backend', () => import('./commands/webhook/list.ts')),
  read('show', 'Show a webhook and its failures', () => import('./commands/webhook/show.ts')),
  write('update', 'Change the URL or events of a webhook', () => import('./commands/webhook/update.ts')),
  write('rm', 'Delete a webhook', () => import('./commands/webhook/rm.ts')),
  write('test', 'Send a test event to a webhook', () => import('./commands/webhook/test.ts')),
  write('trigger', 'Send a test event of any type to a webhook', () => import('./commands/webhook/trigger.ts')),
  read('deliveries', "List a webhook's deliveries and responses", () => import('./commands/webhook/deliveries.ts')),
  write('replay', 'Replay the events of a webhook', () => import('./commands/webhook/replay.ts')),
])

const serve = spend('serve', 'Run the backend in the foreground', () => import('./commands/serve.ts'))

const init = write('init', 'Set up a server, its API key and your defaults', () => import('./commands/init.ts'))

const doctor = read('doctor', 'Diagnose setup problems and suggest fixes', () => import('./commands/doctor.ts'))

const api = spend('api', 'Call an API endpoint and print the raw response', () => import('./commands/api.ts'))

const schema = read('schema', 'Print the JSON Schema of a file', () => import('./commands/schema.ts'))

const mcp = spend('mcp', 'Serve the commands to coding agents as MCP tools', () => import('./commands/mcp.ts'))

const open = read('open', 'Open the web explorer of a backend', () => import('./commands/open.ts'))

const completion = read('completion', 'Print a shell completion script', () => import('./commands/completion.ts'))

export const CATALOGUE: readonly CommandGroup[] = [
  { title: 'Minting', entries: [collection, nft, batch, art, plan, apply, reveal, cost, wallet] },
  { title: 'Backend', entries: [local, serve, worker, open, chain, tx, key, webhook, db] },
  { title: 'Setup', entries: [init, auth, config, doctor, completion] },
  { title: 'For programs', entries: [api, schema, mcp] },
]

export const ENTRIES: readonly (Noun | Verb)[] = CATALOGUE.flatMap((group) => group.entries)

export function isNoun(entry: Noun | Verb): entry is Noun {
  return 'verbs' in entry
}

/** Every command, in the order of the help text. */
export const COMMANDS: readonly Verb[] = ENTRIES.flatMap((entry) => (isNoun(entry) ? entry.verbs : [entry]))

/** Builds a command with its name and summary from this table, without running it. */
export async function makeCommand({ command: name, summary, load }: Verb, deps: Deps): Promise<GdnCommand> {
  const { command } = await load()
  return command(deps).name(name).summary(summary)
}
