import { platform } from 'node:process'
import * as z from 'zod'
import type { Settings } from '../../config/settings.ts'
import { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import { addRunContractFlag } from '../batch/runs/resolve-run.ts'
import { findRun, hasRunChoices, type RunFlags, resolveRunSettings } from '../batch/runs/resolve-server.ts'
import { GdnCommand } from '../command.ts'
import { connectExplorer, explorerBase, type WebExplorer } from '../connect/explorer.ts'
import type { Deps } from '../deps.ts'
import { addJsonFlag, addServerFlags, type CommonFlags } from '../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../flags/ens.ts'
import { safe } from '../io/io.ts'
import { resolveEnsFields } from '../request/ens-names.ts'

export interface OpenFlags extends CommonFlags, RunFlags, EnsFlags {
  print?: boolean
}

export function command(deps: Deps, run = open): GdnCommand {
  return new GdnCommand({
    about:
      'The command opens the page of an NFT, a collection, a contract, an owner or a run. Specify an NFT by its ID or by <contract>/<token ID>. Specify an owner by an address, a name such as @alice, or an ENS name that ends in .eth. Any other text is a search query. Without an argument, the command opens the front page. If stdout is not a terminal, or if there is no browser, it prints the URL. To use another browser, set BROWSER.',
    examples: [
      ['Open the front page of the local backend', 'gdn open --local'],
      ['Open the page of an NFT', 'gdn open 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Open the page of a token', 'gdn open 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811/12'],
      ['Follow a run', 'gdn open drop.csv'],
      ['Open the page of an owner', 'gdn open alice.eth'],
      ['Search for a title', 'gdn open "night market"'],
      ['Print only the URL', 'gdn open drop.csv --print'],
    ],
  })
    .argument('[id|address|run]')
    .switchFlag('--print', 'Print the URL without opening it')
    .with(addRunContractFlag, addEnsFlags, addServerFlags, (own) =>
      addJsonFlag(own, 'Print the URL as JSON without opening it'),
    )
    .action(async (target: string | undefined, flags: OpenFlags) => await run(deps, target, flags))
}

export async function open(deps: Deps, target: string | undefined, flags: OpenFlags): Promise<void> {
  const { io } = deps
  if (target === '')
    throw new GdnError('usage', 'the argument is empty', { hint: 'Omit the argument to open the front page.' })
  if (target === undefined && flags.contract !== undefined) {
    throw new GdnError('usage', 'no run is specified', {
      place: { flag: '--contract' },
      hint: `Specify the run, such as drop.csv. To open a collection, run \`gdn open ${shellWord(flags.contract)}\`.`,
    })
  }
  const url = await findUrl(deps, target, flags)
  if (io.settings.machine) return await io.data(`${JSON.stringify({ url })}\n`)
  if (flags.print || !io.stdoutTty) return await io.data(`${url}\n`)
  const { openInBrowser } = await import('../io/browser.ts')
  if (await openInBrowser(url, deps.env, platform)) return io.note(`Opened ${safe(url)}`)
  io.note("Couldn't open a browser. Open this URL manually:")
  await io.data(`${url}\n`)
}

async function findUrl(deps: Deps, target: string | undefined, flags: OpenFlags): Promise<string> {
  const resolvedTarget = target?.startsWith('@') ? (await deps.addresses()).resolve(target, {}) : target
  const run = target === undefined ? null : await findRunByName(deps, target, flags)
  const settings = run?.settings ?? (await deps.settings(flags))
  const address =
    run === null && target !== undefined ? await resolveEnsAddress(deps, target, settings, flags) : undefined
  const server = await settings.server()
  const explorer = await connectExplorer(deps, server)
  try {
    const base = explorerBase(server)
    if (target === undefined) return `${base}/`
    if (run !== null) return `${base}/runs/${run.id}`
    return `${base}${await findPage(explorer, address ?? resolvedTarget ?? target)}`
  } finally {
    await explorer.close()
  }
}

/**
 * Returns the address of a name such as `alice.eth`, on Ethereum or on the configured network. Returns undefined for
 * any other text, because it may be a title that contains a dot.
 */
async function resolveEnsAddress(
  deps: Deps,
  target: string,
  settings: Settings,
  flags: EnsFlags,
): Promise<string | undefined> {
  if (!/^[^\s@/]+\.eth$/i.test(target)) return undefined
  const blockchain = settings.blockchain?.value ?? 'ethereum'
  const { owner } = await resolveEnsFields(deps, { settings, flags, blockchain }, { owner: target }, () => ({}))
  return owner
}

/** Returns a run on this machine and the settings of its server; null if no run has this name. */
async function findRunByName(
  deps: Deps,
  target: string,
  flags: OpenFlags,
): Promise<{ id: string; settings: Settings } | null> {
  try {
    const run = await findRun(deps, target, flags)
    return { id: run.id, settings: await resolveRunSettings(deps, run, flags) }
  } catch (error) {
    // If no run has this name, the name may be an NFT ID, unless --contract is set. If several runs match, this is an
    // error.
    const isNoRun = error instanceof GdnError && error.code === 'not_found_locally' && !hasRunChoices(error)
    if (isNoRun && flags.contract === undefined) return null
    throw error
  }
}

const idSchema = z.string().regex(/^[\w-]{1,100}$/)
const searchResultSchema = z.object({
  exact: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('collection'), collection: z.object({ transaction_gdn_id: idSchema }) }),
    z.object({ kind: z.literal('nft'), nft: z.object({ nft_gdn_id: idSchema }) }),
    z.object({ kind: z.literal('owner'), address: idSchema }),
    z.object({ kind: z.literal('run'), run: z.object({ run: idSchema }) }),
  ]),
})

/**
 * Returns the page of the object with this ID or address, or else the search page. Either page may ask for a key first.
 */
async function findPage(explorer: WebExplorer, target: string): Promise<string> {
  const query = `q=${encodeURIComponent(target.toWellFormed())}`
  const response = explorer.open ? await explorer.get(`/explorer/search?${query}`).catch(() => null) : null
  const parsed = searchResultSchema.safeParse(response)
  if (!parsed.success) return `/go?${query}`
  const hit = parsed.data.exact
  switch (hit.kind) {
    case 'collection':
      return `/collections/${hit.collection.transaction_gdn_id}`
    case 'nft':
      return `/nfts/${hit.nft.nft_gdn_id}`
    case 'owner':
      return `/owners/${hit.address}`
    case 'run':
      return `/runs/${hit.run.run}`
  }
}
