import { platform } from 'node:process'
import * as z from 'zod'
import type { Settings } from '../../config/settings.ts'
import { GdnError } from '../../core/errors.ts'
import { GdnCommand, switchFlag } from '../command.ts'
import { connectExplorer, type Explorer, explorerBase } from '../connect/explorer.ts'
import type { Deps } from '../deps.ts'
import { addJsonFlag, addServerFlags, type CommonFlags, type ServerFlags } from '../flags/common.ts'
import { safe } from '../io/io.ts'
import { settingsOfRun, whichServer } from './batch/which-server.ts'

export interface OpenFlags extends CommonFlags, ServerFlags {
  print?: boolean
}

export function command(deps: Deps, run = open): GdnCommand {
  const openCommand = new GdnCommand({
    about:
      'What to open is the id of an NFT or a collection, the address of a contract or an owner (or the name of one: @alice), or a run; anything else is searched for. Without it the front page opens. Off a terminal, and where there is no browser, the URL is printed. BROWSER names another browser than the usual one.',
    examples: [
      ['The front page of the local backend', 'gdn open --local'],
      ['An NFT', 'gdn open 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['A run, as it goes', 'gdn open drop.csv'],
      ['What has this word in its title', 'gdn open "night market"'],
      ['The URL alone', 'gdn open drop.csv --print'],
    ],
  })
  openCommand.argument('[id|address|run]')
  switchFlag(openCommand, '--print', 'Print the URL, and open nothing')
  addServerFlags(openCommand)
  addJsonFlag(openCommand, 'Print JSON: the URL; open nothing')
  return openCommand.action(async (what: string | undefined, flags: OpenFlags) => {
    await run(deps, what, flags)
  }) as GdnCommand
}

export async function open(deps: Deps, what: string | undefined, flags: OpenFlags): Promise<void> {
  const { io } = deps
  if (what === '') throw new GdnError('usage', 'what to open is empty', { hint: 'leave it out for the front page' })
  const url = await urlOf(deps, what, flags)
  if (io.settings.machine) return await io.data(`${JSON.stringify({ url })}\n`)
  if (flags.print || !io.stdoutTty) return await io.data(`${url}\n`)
  const { openInBrowser } = await import('../io/browser.ts')
  if (await openInBrowser(url, deps.env, platform)) return io.note(`Opened ${safe(url)}`)
  io.note('There is no browser to open here; open this where there is one:')
  await io.data(`${url}\n`)
}

async function urlOf(deps: Deps, what: string | undefined, flags: OpenFlags): Promise<string> {
  const named = what?.startsWith('@') ? (await deps.addresses()).resolve(what, {}) : what
  const run = what === undefined ? null : await runCalled(deps, what, flags)
  const settings = run?.settings ?? (await deps.settings(flags))
  const server = await settings.server()
  const explorer = await connectExplorer(deps, server)
  try {
    const base = explorerBase(server)
    if (what === undefined) return `${base}/`
    if (run !== null) return `${base}/runs/${run.id}`
    return `${base}${await pageOf(explorer, named ?? what)}`
  } finally {
    await explorer.close()
  }
}

/** A run of this machine, and the settings by which its server is reached; null where nothing is called so. */
async function runCalled(
  deps: Deps,
  what: string,
  flags: OpenFlags,
): Promise<{ id: string; settings: Settings } | null> {
  const { openRun } = await import('../../batch/runs.ts')
  const { stateDir } = await deps.settings(flags)
  try {
    const run = await openRun(stateDir, what, await whichServer(deps, flags))
    return { id: run.id, settings: await settingsOfRun(deps, run, flags) }
  } catch (error) {
    // Several that are called so, and not one that is called otherwise: that must be told.
    const isSeveral = error instanceof GdnError && error.details !== undefined
    if (error instanceof GdnError && error.code === 'not_found_locally' && !isSeveral) return null
    throw error
  }
}

const id = z.string().regex(/^[\w-]{1,100}$/)
const exact = z.object({
  exact: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('collection'), collection: z.object({ transaction_gdn_id: id }) }),
    z.object({ kind: z.literal('nft'), nft: z.object({ nft_gdn_id: id }) }),
    z.object({ kind: z.literal('owner'), address: id }),
    z.object({ kind: z.literal('run'), run: z.object({ run: id }) }),
  ]),
})

/** The page of the one thing that has this id or address; else the page that looks for it, and may ask for a key first. */
async function pageOf(explorer: Explorer, what: string): Promise<string> {
  const query = `q=${encodeURIComponent(what.toWellFormed())}`
  const answer = explorer.open ? await explorer.get(`/explorer/search?${query}`).catch(() => null) : null
  const found = exact.safeParse(answer)
  if (!found.success) return `/go?${query}`
  const hit = found.data.exact
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
