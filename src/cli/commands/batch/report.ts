import { basename } from 'node:path'
import * as z from 'zod'
import { runTimes } from '../../../batch/runs/run-times.ts'
import { type Run, runStatus } from '../../../batch/runs/runs.ts'
import type { RowStatus, RunStatus } from '../../../batch/types.ts'
import type { ApiClient } from '../../../client/api-client.ts'
import { isLoopbackOrigin, type Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { HashTable } from '../../../manifest/hash-table.ts'
import { isShuffled, readDropState } from '../../../reveal/drop-state.ts'
import { readStoredDraw } from '../../../reveal/shuffle/drawn-rows.ts'
import { findManifestEdits, warnOfEdits } from '../../batch/edits-since.ts'
import { addRunArgument, resolveRun } from '../../batch/runs/resolve-run.ts'
import { findRun, type RunFlags, resolveRunSettingsIfFound } from '../../batch/runs/resolve-server.ts'
import { GdnCommand } from '../../command.ts'
import { connectExplorer, explorerBase } from '../../connect/explorer.ts'
import { readSpending, SPENT_FIELDS, spentText } from '../../cost/spent.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, httpAddress, type OutputFlags } from '../../flags/common.ts'
import type { ImageReader } from '../../image/nft-image.ts'
import { safe } from '../../io/io.ts'
import { formatRowsByState } from '../../render/count.ts'
import { createOutput, type View } from '../../render/output.ts'
import type { ReportRow } from '../../sheet/present-nfts.ts'
import { addSheetFlags, openSheet, resolveOutputFile, type SheetFlags } from '../../sheet/resolve-output-file.ts'
import type { ReportState } from '../../sheet/result-card.ts'
import { SheetFile } from '../../sheet/sheet-file.ts'

export interface ReportFlags extends OutputFlags, RunFlags, SheetFlags {
  gateway?: string
}

const FIELDS = [
  'file',
  'run',
  'run_id',
  'rows',
  'errors',
  'deployed',
  'accepted',
  'pending',
  'failed',
  'unknown',
  'burned',
  'abandoned',
  'changed',
  'images',
  ...SPENT_FIELDS,
]
const VIEW: View = {
  fields: FIELDS,
  columns: ['file', 'run', 'rows', 'errors'],
  id: 'file',
  card: (record) => [
    ['file', record.file],
    ['run', record.run],
    ['state', formatRowsByState({ ...record, total: record.rows })],
    ['changed', record.changed],
    ['images', record.images],
    ['paid', typeof record.fee_paid_wei === 'string' ? spentText(record) : null],
  ],
}

export function command(deps: Deps, run = report): GdnCommand {
  return new GdnCommand({
    about:
      "The command writes one self-contained HTML file, which you can open, search and print offline. The report contains images, titles, owners, token IDs, the number of rows in each state, the reasons for failures, and the start and end times. For deployed NFTs, the report shows the current metadata, image and owner. If the server is a gdn backend, the report also contains the gas used, and shows whether an NFT was revealed, updated, frozen or burned. The report also contains the history of up to 1,000 NFTs that have changed. If the server does not return an NFT, the report shows the record on this machine and the date of that record.\nImages come from the server's storage or from this machine. The file contains each image only once. gdn scales PNG and JPEG images to their size on the page. If the embedded images reach 32 MB in total, the report only names or links to the other images. The report contains no links to a server on this machine. If the server's web explorer requires a login, gdn logs in with the API key.",
    examples: [
      ['Write a report of a drop', 'gdn batch report drop.csv'],
      ['Write a report and open it', 'gdn batch report drop.csv --open'],
      [
        'Write a report to share, with links to a public gateway',
        'gdn batch report drop.csv --gateway https://ipfs.io --to drop.html',
      ],
    ],
  })
    .with(addRunArgument, (own) => addSheetFlags(own, '<run>-report.html'))
    .valueFlag('--gateway <url>', "IPFS gateway for images and links (the server's own)", httpAddress)
    .with(addServerFlags, addOutputFlags)
    .action(async (name: string | undefined, flags: ReportFlags) => await run(deps, name, flags))
}

export async function report(deps: Deps, typed: string | undefined, flags: ReportFlags): Promise<void> {
  const { io } = deps
  const name = await resolveRun(deps, typed, flags)
  const storedRun = await findRun(deps, name, flags)
  const output = createOutput(io, flags, VIEW, { manifest: storedRun.manifestPath })
  const status = await runStatus(storedRun)
  const target = await resolveOutputFile(deps, `${storedRun.name}-report.html`, { ...flags, kind: 'report' })
  // The local backend may not be running.
  const settingsOrError = await resolveRunSettingsIfFound(deps, storedRun, flags)
  const settings = settingsOrError instanceof GdnError ? null : settingsOrError
  const server = (await settings?.server().catch(() => null)) ?? null
  const facts = await readServerFacts(deps, status, server, settings)
  const spent = await readSpending(deps, settingsOrError, storedRun, status.counts)
  const sources = await openSources(deps, { server, settings, facts, typedGateway: flags.gateway })
  const run = await withShuffleState(deps, storedRun, sources.client === null ? null : settings)
  const { tally, embedded } = await writeReport(deps, { run, status, facts, spent, sources, target })
  await output.one({
    file: target.path,
    run: run.name,
    run_id: run.id,
    rows: tally.rows,
    errors: tally.counts.failed + tally.counts.unknown,
    ...tally.counts,
    burned: tally.burned,
    abandoned: tally.abandoned,
    changed: tally.changed,
    images: embedded,
    ...spent.costs,
  })
  io.note(`Wrote ${safe(target.path)}`)
  if (settingsOrError instanceof GdnError)
    io.warn(safe(`The report contains only records of this machine: ${settingsOrError.message}.`))
  warnOfEdits(io, await findManifestEdits(deps, run, flags))
  if (flags.open) await openSheet(deps, target.path)
}

/** The sources of images, and of the current state of NFTs. */
interface ReportSources {
  reader: ImageReader | null
  /** Gateway that readers of the report can reach; null if there is none. */
  publicGateway: string | null
  /** Null if the server is unreachable. */
  client: ApiClient | null
}

interface ReportServer {
  server: Server | null
  settings: Settings | null
  facts: ServerFacts
  typedGateway: string | undefined
}

async function openSources(
  deps: Deps,
  { server, settings, facts, typedGateway }: ReportServer,
): Promise<ReportSources> {
  const { createImageReader } = await import('../../image/nft-image.ts')
  const ownGateway = server !== null && facts.isGdnBackend ? explorerBase(server) : null
  const gateway = typedGateway ?? ownGateway
  const reader =
    gateway === null ? null : await createImageReader(deps, gateway, typedGateway === undefined ? server : null)
  const publicGateway = typedGateway ?? (server?.isLoopback ? null : ownGateway)
  return { reader, publicGateway, client: await connectIfReachable(deps, server, settings) }
}

/**
 * Returns the run with the state of its shuffled drop, as read from the server.
 *
 * @param settings null if the server is unreachable
 */
async function withShuffleState(deps: Deps, run: Run, settings: Settings | null): Promise<Run> {
  if (settings === null || !isShuffled(run)) return run
  const { learnDropOf } = await import('../../batch/reveal/learn-drop.ts')
  return await learnDropOf(deps, settings, run.id)
}

interface ReportInput {
  run: Run
  status: RunStatus
  facts: ServerFacts
  spent: Awaited<ReturnType<typeof readSpending>>
  sources: ReportSources
  target: { path: string; replace: boolean }
}

/** Writes the report and closes its sources. Returns the counts of its rows and of its embedded images. */
async function writeReport(
  deps: Deps,
  { run, status, facts, spent, sources, target }: ReportInput,
): Promise<{ tally: Tally; embedded: number }> {
  const { reader, publicGateway, client } = sources
  const { PAGE_END } = await import('../../sheet/page.ts')
  const { reportTop } = await import('../../sheet/report-top.ts')
  const { resultCard, toReportState } = await import('../../sheet/result-card.ts')
  const { ReportImages } = await import('../../sheet/report-images.ts')
  const { PresentNfts } = await import('../../sheet/present-nfts.ts')
  const images = new ReportImages({ reader, publicGateway })
  const links = { blockExplorer: facts.blockExplorer, publicGateway }
  const drop = readDropState(run)
  const present = new PresentNfts(client, deps.signals.signal)
  const tally = new Tally()
  const sheet = await SheetFile.open(target.path)
  const progress = await deps.io.progress('Writing the report')
  try {
    for await (const row of present.readRows(run, readStoredDraw(run.reading)?.rows)) {
      deps.signals.signal.throwIfAborted()
      tally.add(row, toReportState(row, drop))
      const image = await images.renderRowImage(row)
      await sheet.writeCard(resultCard(row, image.html, links, drop), image.definition)
      progress.update(`Writing the report: ${count(tally.rows, 'row')}`)
    }
    const { counts, failures, burned, abandoned, owners, changed } = tally
    const manifest = run.manifestPath === null ? null : basename(run.manifestPath)
    const top = {
      ...links,
      ...facts,
      status,
      failures,
      owners,
      changed,
      present,
      drop,
      counts: { ...counts, deployed: counts.deployed - burned, burned, abandoned },
      name: run.runName ?? manifest ?? run.name,
      spent: spent.problem === null ? spent.costs : null,
      times: await runTimes(run),
      notEmbedded: images.notEmbedded,
      now: deps.now(),
    }
    await sheet.finish(reportTop(top), PAGE_END, target.replace)
  } finally {
    progress.stop()
    await Promise.all([sheet.close(), reader?.close(), client?.close()])
  }
  return { tally, embedded: images.embedded }
}

const MAX_STORED_REASONS = 1000
const MAX_LINES_PER_REASON = 12

class Tally {
  readonly counts: Record<RowStatus, number> = { deployed: 0, accepted: 0, pending: 0, failed: 0, unknown: 0 }
  readonly failures = new Map<string, { count: number; lines: number[] }>()
  readonly #owners = new HashTable({ foldHex: true })
  rows = 0
  burned = 0
  /** Number of rows of a sealed drop that were not minted. They count as neither pending nor failed. */
  abandoned = 0
  /** Number of NFTs that changed after their mint. */
  changed = 0

  get owners(): number {
    return this.#owners.size
  }

  add({ result, nft }: ReportRow, state: ReportState): void {
    const isBurned = state === 'burned'
    const { status, error, line, receiver_wallet_address } = result
    this.rows++
    if (nft?.isChanged) this.changed++
    if (isBurned) this.burned++
    if (state === 'abandoned') {
      this.abandoned++
      return
    }
    this.counts[status]++
    if (status === 'deployed' && !isBurned) {
      this.#owners.getOrAdd(nft?.owner ?? receiver_wallet_address, 0)
    }
    if (error === null) return
    const failure = this.failures.get(error)
    if (failure !== undefined) {
      failure.count++
      if (failure.lines.length < MAX_LINES_PER_REASON) failure.lines.push(line)
    } else if (this.failures.size < MAX_STORED_REASONS) this.failures.set(error, { count: 1, lines: [line] })
  }
}

/** Returns a client of the server; null if the server is unreachable. */
async function connectIfReachable(
  deps: Deps,
  server: Server | null,
  settings: Settings | null,
): Promise<ApiClient | null> {
  if (server === null || settings === null) return null
  try {
    const { silence } = await deps.identify(server, 'once')
    return silence === null ? (await deps.connect(settings)).client : null
  } catch (error) {
    if (error instanceof GdnError && !deps.signals.signal.aborted) return null
    throw error
  }
}

interface ServerFacts {
  /** Whether the server is a gdn backend. */
  isGdnBackend: boolean
  collection: string | null
  blockExplorer: string | null
}

const collectionResponseSchema = z.object({
  name: z.string(),
  transaction: z.object({ explorer_url: z.string().nullable() }).nullable(),
})

/**
 * Reads data that only a gdn backend returns, and only to keys with the permission. A report can be written without
 * this data.
 */
async function readServerFacts(
  deps: Deps,
  run: RunStatus,
  server: Server | null,
  settings: Settings | null,
): Promise<ServerFacts> {
  const nothing: ServerFacts = {
    isGdnBackend: server?.isLoopback === true,
    collection: null,
    blockExplorer: null,
  }
  if (server === null || settings === null) return nothing
  try {
    const explorer = await connectExplorer(deps, server, () => settings.apiKey(server).catch(() => null))
    try {
      if (!explorer.open) return { ...nothing, isGdnBackend: true }
      const path =
        `/explorer/collections/${encodeURIComponent(run.contractAddress)}?blockchain=${run.blockchain}` as const
      const collection = collectionResponseSchema.safeParse(await explorer.get(path))
      return {
        isGdnBackend: true,
        collection: collection.success ? collection.data.name : null,
        blockExplorer: collection.success ? findBlockExplorer(collection.data.transaction?.explorer_url ?? '') : null,
      }
    } finally {
      await explorer.close()
    }
  } catch (error) {
    if (error instanceof GdnError && !deps.signals.signal.aborted) return nothing
    throw error
  }
}

/**
 * Returns the base URL of a block explorer, such as `https://polygonscan.com`, from the URL of a transaction page.
 * Returns null for an explorer on this machine, because other readers of the report can't open it.
 */
function findBlockExplorer(transaction: string): string | null {
  const base = /^(https?:\/\/.+)\/tx\/[^/]+$/.exec(transaction)?.[1]
  const url = base === undefined ? null : parseUrl(base)
  return base === undefined || url === null || isLoopbackOrigin(url.origin) ? null : base
}
